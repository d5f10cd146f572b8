#include "record/builder.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/find_all.h"

namespace spool {

namespace {

/// Length, attributes, deltas, null key and value length in front of a value.
constexpr std::size_t kRecordPrefixMax = 2 + 3 * kVarintBytesMax + kVarlongBytesMax + 1;

/// Values up to here are copied as so many bytes and more, whatever they have: a loop that ends
/// where the value does would be mispredicted at nearly each.
constexpr std::size_t kShortValue = 128;
/// What is written behind the end of a record by that, and by fields of fixed width.
constexpr std::size_t kSlack = kShortValue + 16;
/// Varints below it take one byte or two.
constexpr std::uint32_t kTwoBytes = 0x4000;

/// A varint below kTwoBytes, without a branch; writes two bytes anyway.
inline std::byte* put_two_bytes(std::byte* p, std::uint32_t u) {
  const auto two = static_cast<std::uint32_t>(u >= 0x80);
  p[0] = static_cast<std::byte>((u & 0x7f) | two << 7);
  p[1] = static_cast<std::byte>(u >> 7);
  return p + 1 + two;
}
inline std::byte* put_short_varint(std::byte* p, std::uint64_t u) {
  return u < kTwoBytes ? put_two_bytes(p, static_cast<std::uint32_t>(u)) : put_uvarint(p, u);
}
inline std::size_t short_varint_size(std::uint64_t u) {
  return u < kTwoBytes ? std::size_t{1} + static_cast<std::size_t>(u >= 0x80) : uvarint_size(u);
}

/// Copies `size` bytes; may read up to `readable` and write up to kShortValue.
inline void copy_value(std::byte* to, const char* from, std::size_t size, std::size_t readable) {
  if (size > kShortValue || readable < kShortValue) [[unlikely]] {
    if (size > 0) std::memcpy(to, from, size);
    return;
  }
  for (std::size_t i = 0; i < kShortValue; i += 16)
    std::memcpy(to + i, from + i, 16);
}

std::size_t nullable_size(const std::optional<std::string_view>& field) {
  if (!field) return 1;
  return varint_size(static_cast<std::int64_t>(field->size())) + field->size();
}

std::byte* put_bytes(std::byte* p, std::string_view bytes) {
  p = put_varint(p, static_cast<std::int64_t>(bytes.size()));
  if (!bytes.empty()) std::memcpy(p, bytes.data(), bytes.size());
  return p + bytes.size();
}

std::byte* put_nullable(std::byte* p, const std::optional<std::string_view>& field) {
  return field ? put_bytes(p, *field) : put_varint(p, -1);
}

void renew_crc(MutableBytes batch) {
  const Bytes covered = batch.subspan(batch_field::kAttributes);
  store_be<std::uint32_t>(batch.data() + batch_field::kCrc, crc32c(covered));
}

}  // namespace

void BatchBuilder::reset() {
  buffer_.clear();
  buffer_.resize(kBatchHeaderBytes);
  count_ = 0;
  set_producer(-1, -1, -1);
}

void BatchBuilder::note_time(TimestampMs timestamp) {
  if (count_ == 0) {
    base_timestamp_ = max_timestamp_ = timestamp;
  } else if (timestamp > max_timestamp_) {
    max_timestamp_ = timestamp;
  }
}

void BatchBuilder::add_value(TimestampMs timestamp, std::string_view value) {
  note_time(timestamp);
  const std::int64_t time_delta = timestamp - base_timestamp_;
  const auto value_size = static_cast<std::int64_t>(value.size());
  // attributes, null key and header count take a byte each
  const std::size_t length =
      3 + varint_size(time_delta) + varint_size(count_) + varint_size(value_size) + value.size();
  buffer_.make_room(kVarintBytesMax + length);
  std::byte* p = put_varint(buffer_.end(), static_cast<std::int64_t>(length));
  *p++ = std::byte{0};
  p = put_varint(p, time_delta);
  p = put_varint(p, count_);
  *p++ = std::byte{1};  // -1: no key
  p = put_bytes(p, value);
  *p++ = std::byte{0};
  buffer_.resize(static_cast<std::size_t>(p - buffer_.data()));
  ++count_;
}

BatchBuilder::Taken BatchBuilder::add_delimited(TimestampMs timestamp, std::string_view text,
                                                char delimiter, std::size_t piece_max,
                                                std::size_t bytes_limit) {
  if (buffer_.size() >= bytes_limit || text.empty()) return {};
  const std::int64_t time_delta = count_ == 0 ? 0 : timestamp - base_timestamp_;
  // Attributes and time delta are the same for all.
  std::array<std::byte, 16> fixed{};
  static_assert(1 + kVarlongBytesMax <= fixed.size());
  const auto fixed_size =
      static_cast<std::size_t>(put_varint(fixed.data() + 1, time_delta) - fixed.data());
  const std::size_t piece_and_end = piece_max == SIZE_MAX ? piece_max : piece_max + 1;
  buffer_.make_room(std::min(text.size(), piece_and_end) + bytes_limit + kRecordPrefixMax + kSlack);

  // Everything that a store through a byte pointer might alias is kept in locals: this loop runs
  // once a line.
  const char* at = text.data();
  const char* const end = at + text.size();
  std::byte* out = buffer_.end();
  const std::byte* const limit = buffer_.data() + bytes_limit;
  const auto count_before = static_cast<std::uint32_t>(count_);
  std::uint32_t count = count_before;
  std::array<std::uint16_t, kFindMax + 2> places;  // NOLINT(*-member-init): find_all fills it
  bool stop = false;
  for (const char* looked = at; looked < end && !stop;) {
    const std::size_t look = std::min(static_cast<std::size_t>(end - looked), kFindMax);
    const std::size_t found = find_all(looked, look, delimiter, places.data());
    for (std::size_t i = 0; i < found; ++i) {
      const auto size = static_cast<std::size_t>(looked + places[i] - at);
      stop = size > piece_max || out >= limit;
      if (stop) break;
      // The null key takes a byte, and so does the count of headers behind the value.
      const std::size_t length = fixed_size + short_varint_size(2 * std::uint64_t{count}) + 1 +
                                 short_varint_size(2 * size) + size + 1;
      std::byte* p = put_short_varint(out, 2 * length);
      std::memcpy(p, fixed.data(), fixed.size());
      p = put_short_varint(p + fixed_size, 2 * std::uint64_t{count});
      *p++ = std::byte{1};  // -1: no key
      p = put_short_varint(p, 2 * size);
      copy_value(p, at, size, static_cast<std::size_t>(end - at));
      p[size] = std::byte{0};
      out = p + size + 1;
      ++count;
      at += size + 1;
    }
    looked += look;
    stop = stop || static_cast<std::size_t>(looked - at) > piece_max;
  }
  if (count == count_before) return {};
  note_time(timestamp);
  buffer_.set_end(out);
  count_ = static_cast<std::int32_t>(count);
  return {static_cast<std::size_t>(at - text.data()),
          static_cast<std::int32_t>(count - count_before)};
}

void BatchBuilder::add(TimestampMs timestamp, std::optional<std::string_view> key,
                       std::optional<std::string_view> value, std::span<const HeaderView> headers) {
  note_time(timestamp);
  const std::int64_t time_delta = timestamp - base_timestamp_;
  std::size_t length = 1 + varint_size(time_delta) + varint_size(count_) + nullable_size(key) +
                       nullable_size(value) +
                       varint_size(static_cast<std::int64_t>(headers.size()));
  for (const HeaderView& h : headers)
    length += nullable_size(h.name) + nullable_size(h.value);
  buffer_.make_room(kVarintBytesMax + length);
  std::byte* p = put_varint(buffer_.end(), static_cast<std::int64_t>(length));
  *p++ = std::byte{0};
  p = put_varint(p, time_delta);
  p = put_varint(p, count_);
  p = put_nullable(p, key);
  p = put_nullable(p, value);
  p = put_varint(p, static_cast<std::int64_t>(headers.size()));
  for (const HeaderView& h : headers) {
    p = put_bytes(p, h.name);
    p = put_nullable(p, h.value);
  }
  buffer_.resize(static_cast<std::size_t>(p - buffer_.data()));
  ++count_;
}

void BatchBuilder::write_header(std::byte* at, std::size_t size, Codec codec) const {
  using namespace batch_field;
  store_be<std::int64_t>(at + kBaseOffset, 0);
  store_be<std::int32_t>(at + kLength, static_cast<std::int32_t>(size - kBatchLengthOverhead));
  store_be<std::int32_t>(at + kLeaderEpoch, -1);
  store_be<std::int8_t>(at + kMagic, 2);
  store_be<std::uint16_t>(at + kAttributes, static_cast<std::uint16_t>(codec));
  store_be<std::int32_t>(at + kLastOffsetDelta, count_ - 1);
  store_be<std::int64_t>(at + kBaseTimestamp, base_timestamp_.value());
  store_be<std::int64_t>(at + kMaxTimestamp, max_timestamp_.value());
  store_be<std::int64_t>(at + kProducerId, producer_id_);
  store_be<std::int16_t>(at + kProducerEpoch, producer_epoch_);
  store_be<std::int32_t>(at + kBaseSequence, base_sequence_);
  store_be<std::int32_t>(at + kCount, count_);
}

Result<MutableBytes> BatchBuilder::seal(Codec codec, Compressor* compressor) {
  CHECK(count_ > 0);
  MutableBytes batch = buffer_.mutable_bytes();
  if (codec != Codec::kNone) {
    CHECK(compressor != nullptr);
    compressed_.resize(kBatchHeaderBytes);
    TRY(compressor->compress(Bytes(batch).subspan(kBatchHeaderBytes), compressed_));
    batch = compressed_.mutable_bytes();
  }
  write_header(batch.data(), batch.size(), codec);
  renew_crc(batch);
  return batch;
}

RecordIterator BatchBuilder::records(Offset base_offset) const {
  return {buffer_.bytes().subspan(kBatchHeaderBytes),
          count_,
          base_offset,
          count_ - 1,
          base_timestamp_,
          max_timestamp_,
          false};
}

void BatchBuilder::shrink(std::size_t capacity_max) {
  if (buffer_.capacity() > capacity_max) {
    buffer_.shrink(capacity_max);
    buffer_.reserve(capacity_max);
  }
  compressed_.shrink(capacity_max);
  reset();
}

std::array<std::byte, kBatchHeaderBytes> empty_batch(Offset from, Offset to, Epoch leader_epoch) {
  using namespace batch_field;
  std::array<std::byte, kBatchHeaderBytes> out{};
  std::byte* at = out.data();
  store_be<std::int32_t>(at + kLength, kBatchLengthMin);
  store_be<std::int8_t>(at + kMagic, 2);
  store_be<std::int32_t>(at + kLastOffsetDelta, static_cast<std::int32_t>(to - from - 1));
  store_be<std::int64_t>(at + kBaseTimestamp, kNoTimestamp.value());
  store_be<std::int64_t>(at + kMaxTimestamp, kNoTimestamp.value());
  store_be<std::int64_t>(at + kProducerId, -1);
  store_be<std::int16_t>(at + kProducerEpoch, -1);
  store_be<std::int32_t>(at + kBaseSequence, -1);
  place_batch(out, from, leader_epoch);
  renew_crc(out);
  return out;
}

void place_batch(MutableBytes batch, Offset base_offset, Epoch leader_epoch) {
  store_be<std::int64_t>(batch.data() + batch_field::kBaseOffset, base_offset.value());
  store_be<std::int32_t>(batch.data() + batch_field::kLeaderEpoch, leader_epoch.value());
}

void set_append_time(MutableBytes batch, TimestampMs now) {
  std::byte* at = batch.data();
  const auto attributes = load_be<std::uint16_t>(at + batch_field::kAttributes);
  store_be<std::uint16_t>(at + batch_field::kAttributes,
                          static_cast<std::uint16_t>(attributes | batch_attribute::kAppendTime));
  store_be<std::int64_t>(at + batch_field::kMaxTimestamp, now.value());
  renew_crc(batch);
}

}  // namespace spool
