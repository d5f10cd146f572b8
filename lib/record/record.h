#pragma once
/// One record, and an iterator over the records of a batch.
///
/// Record layout (inside the batch's possibly compressed block); varints are zigzag:
///   varint length of the rest | int8 attributes | varlong timestamp delta | varint offset delta |
///   varint key length, -1 = null | key | varint value length, -1 = null | value |
///   varint header count | per header: varint name length, name, varint value length, -1 = null,
///   value
/// A record takes exactly `length` bytes; anything else makes the batch corrupt.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"

namespace spool {

struct HeaderView {
  std::string_view name;
  std::optional<std::string_view> value;  ///< nullopt = null
};

/// Borrowed from the block that was iterated; valid until that block is changed or the iterator
/// moves on
/// (`headers` is the iterator's own).
struct RecordView {
  Offset offset;
  TimestampMs timestamp;
  std::optional<std::string_view> key;               ///< nullopt = null
  std::optional<std::string_view> value;             ///< nullopt = null, a tombstone
  const std::vector<HeaderView>* headers = nullptr;  ///< never null; in wire order, duplicates kept
};

/// Walks `count` records of an uncompressed block. Not thread-safe.
class RecordIterator {
 public:
  /// `append_time`: every record's time is `max_timestamp`, whatever its delta says.
  RecordIterator(Bytes block, std::int32_t count, Offset base_offset, TimestampMs base_timestamp,
                 TimestampMs max_timestamp, bool append_time)
      : at_(block.data()),
        end_(block.data() + block.size()),
        left_(count),
        base_offset_(base_offset),
        base_timestamp_(base_timestamp),
        max_timestamp_(max_timestamp),
        append_time_(append_time) {}

  /// The next record; nullptr after the last one, or at a malformed one (then `!ok()`).
  [[nodiscard]] const RecordView* next();
  /// False when a record was malformed or bytes are left behind the last one.
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  bool parse();
  bool parse_headers(class VarintReader& in);

  const std::byte* at_;
  const std::byte* end_;
  std::int32_t left_;
  Offset base_offset_;
  TimestampMs base_timestamp_;
  TimestampMs max_timestamp_;
  bool append_time_;
  bool ok_ = true;
  RecordView record_;
  std::vector<HeaderView> headers_;
};

}  // namespace spool
