#include "record/batch.h"

#include <limits>

#include "base/crc32c.h"

namespace spool {

BatchHeader BatchHeader::decode(const std::byte* at) {
  using namespace batch_field;
  BatchHeader h;
  h.base_offset = Offset(load_be<std::int64_t>(at + kBaseOffset));
  h.length = load_be<std::int32_t>(at + kLength);
  h.leader_epoch = Epoch(load_be<std::int32_t>(at + kLeaderEpoch));
  h.magic = load_be<std::int8_t>(at + kMagic);
  h.crc = load_be<std::uint32_t>(at + kCrc);
  h.attributes = load_be<std::uint16_t>(at + kAttributes);
  h.last_offset_delta = load_be<std::int32_t>(at + kLastOffsetDelta);
  h.base_timestamp = TimestampMs(load_be<std::int64_t>(at + kBaseTimestamp));
  h.max_timestamp = TimestampMs(load_be<std::int64_t>(at + kMaxTimestamp));
  h.producer_id = load_be<std::int64_t>(at + kProducerId);
  h.producer_epoch = load_be<std::int16_t>(at + kProducerEpoch);
  h.base_sequence = load_be<std::int32_t>(at + kBaseSequence);
  h.count = load_be<std::int32_t>(at + kCount);
  return h;
}

bool BatchHeader::plausible() const {
  return magic == 2 && length >= kBatchLengthMin && base_offset >= Offset(0) &&
         last_offset_delta >= 0 &&
         base_offset.value() < std::numeric_limits<std::int64_t>::max() - last_offset_delta &&
         count >= 0 && count <= std::int64_t{last_offset_delta} + 1 &&
         (attributes & batch_attribute::kCodecMask) <= static_cast<unsigned>(Codec::kZstd);
}

BatchState check_batch(Bytes at, BatchHeader& out) {
  if (at.size() > batch_field::kMagic && load_be<std::int8_t>(at.data() + batch_field::kMagic) != 2)
    return BatchState::kBad;
  if (at.size() >= batch_field::kLength + 4 &&
      load_be<std::int32_t>(at.data() + batch_field::kLength) < kBatchLengthMin)
    return BatchState::kBad;
  if (at.size() < kBatchHeaderBytes) return BatchState::kPartial;
  out = BatchHeader::decode(at.data());
  if (!out.plausible()) return BatchState::kBad;
  const auto size = static_cast<std::size_t>(out.size());
  if (size > at.size()) return BatchState::kPartial;
  const Bytes covered = at.subspan(batch_field::kAttributes, size - batch_field::kAttributes);
  return crc32c(covered) == out.crc ? BatchState::kWhole : BatchState::kBad;
}

Result<RecordIterator> open_records(const BatchView& batch, Decompressor& decompressor,
                                    std::size_t bytes_max, Buffer& scratch) {
  const BatchHeader& h = batch.header;
  Bytes block = batch.block();
  // An empty compacted batch keeps its codec bits and has no block at all.
  if (h.codec() != Codec::kNone && h.count > 0) {
    auto done = decompressor.decompress(h.codec(), block, bytes_max, scratch);
    // Whatever keeps a stored batch from being opened is damage to who reads it.
    if (!done) return fail(Errc::kCorrupt, done.error().message());
    block = scratch.bytes();
  } else if (h.count == 0) {
    block = {};
  }
  return RecordIterator(block, h.count, h.base_offset, h.last_offset_delta, h.base_timestamp,
                        h.max_timestamp, h.append_time());
}

Result<std::int16_t> control_type(const BatchView& batch) {
  const BatchHeader& h = batch.header;
  RecordIterator records(batch.block(), h.count, h.base_offset, h.last_offset_delta,
                         h.base_timestamp, h.max_timestamp, h.append_time());
  const RecordView* record = h.codec() == Codec::kNone ? records.next() : nullptr;
  if (record == nullptr || !record->key || record->key->size() < 4)
    return fail(Errc::kCorrupt, "control batch without a key");
  return load_be<std::int16_t>(as_bytes(*record->key).data() + 2);
}

}  // namespace spool
