#pragma once
/// Record batch v2, the unit of the log: decoded header, and the one place that says what is whole.
///
///   offset size field                        offset size field
///        0    8 base offset                      35    8 max timestamp (ms)
///        8    4 bytes behind this field          43    8 producer id, -1 = none
///       12    4 leader epoch                     51    2 producer epoch, -1 = none
///       16    1 magic, 2                         53    4 base sequence, -1 = none
///       17    4 CRC-32C of byte 21 to the end    57    4 record count
///       21    2 attributes                       61      records, or one compressed block of them
///       23    4 last offset delta
///       27    8 base timestamp (ms)
///
/// Attributes: bits 0-2 codec, 3 log-append time, 4 transactional, 5 control, 6 base timestamp is
/// the delete horizon. Base offset and leader epoch are outside the CRC: the appender sets them in
/// place.

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "record/compress.h"
#include "record/record.h"

namespace spool {

inline constexpr std::size_t kBatchHeaderBytes = 61;
inline constexpr std::size_t kBatchLengthOverhead =
    12;  ///< bytes that the length field does not count
inline constexpr std::int32_t kBatchLengthMin = 49;

namespace batch_field {
inline constexpr std::size_t kBaseOffset = 0, kLength = 8, kLeaderEpoch = 12, kMagic = 16,
                             kCrc = 17, kAttributes = 21, kLastOffsetDelta = 23,
                             kBaseTimestamp = 27, kMaxTimestamp = 35, kProducerId = 43,
                             kProducerEpoch = 51, kBaseSequence = 53, kCount = 57;
}  // namespace batch_field

namespace batch_attribute {
inline constexpr std::uint16_t kCodecMask = 0x07, kAppendTime = 0x08, kTransactional = 0x10,
                               kControl = 0x20, kDeleteHorizon = 0x40;
}  // namespace batch_attribute

struct BatchHeader {
  Offset base_offset;
  std::int32_t length = 0;
  Epoch leader_epoch;
  std::int8_t magic = 0;
  std::uint32_t crc = 0;
  std::uint16_t attributes = 0;
  std::int32_t last_offset_delta = 0;
  TimestampMs base_timestamp;
  TimestampMs max_timestamp;
  std::int64_t producer_id = -1;
  std::int16_t producer_epoch = -1;
  std::int32_t base_sequence = -1;
  std::int32_t count = 0;

  /// `at` points at kBatchHeaderBytes readable bytes.
  [[nodiscard]] static BatchHeader decode(const std::byte* at);

  /// Whole size in the file; only meaningful for length >= kBatchLengthMin.
  [[nodiscard]] std::int64_t size() const {
    return std::int64_t{length} + static_cast<std::int64_t>(kBatchLengthOverhead);
  }
  [[nodiscard]] Offset last_offset() const { return base_offset + last_offset_delta; }
  [[nodiscard]] Offset next_offset() const { return last_offset() + 1; }
  [[nodiscard]] Codec codec() const {
    return static_cast<Codec>(attributes & batch_attribute::kCodecMask);
  }
  [[nodiscard]] bool append_time() const {
    return (attributes & batch_attribute::kAppendTime) != 0;
  }
  [[nodiscard]] bool transactional() const {
    return (attributes & batch_attribute::kTransactional) != 0;
  }
  [[nodiscard]] bool control() const { return (attributes & batch_attribute::kControl) != 0; }
  /// Whether the fields make sense by themselves (magic, length, counts, offsets), CRC aside.
  [[nodiscard]] bool plausible() const;
};

/// A whole, CRC-valid batch in memory. Borrowed.
struct BatchView {
  BatchHeader header;
  Bytes bytes;  ///< header and block, header.size() bytes

  [[nodiscard]] Bytes block() const { return bytes.subspan(kBatchHeaderBytes); }
};

enum class BatchState {
  kWhole,    ///< all bytes are there, the CRC is right, the header makes sense
  kPartial,  ///< what is there could be the beginning of a batch
  kBad,      ///< no batch begins here
};

/// Judges the bytes at the beginning of `at` ("at" may hold more than one batch). On kWhole `out`
/// is the decoded header. A length that points past the end of `at` is kPartial.
[[nodiscard]] BatchState check_batch(Bytes at, BatchHeader& out);

/// Opens the records of a whole batch: decompresses into `scratch` when needed, bounded by
/// `bytes_max`. The iterator borrows `batch` or `scratch`. Errc::kCorrupt, Errc::kTooLarge.
[[nodiscard]] Result<RecordIterator> open_records(const BatchView& batch,
                                                  Decompressor& decompressor, std::size_t bytes_max,
                                                  Buffer& scratch);

/// What a control batch says. `type` is Kafka's: 0 abort, 1 commit; others are skipped by readers.
[[nodiscard]] Result<std::int16_t> control_type(const BatchView& batch);
inline constexpr std::int16_t kControlAbort = 0;
inline constexpr std::int16_t kControlCommit = 1;

}  // namespace spool
