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
#include <limits>
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
/// moves on (`headers` is the iterator's own).
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
  /// `append_time`: every record's time is `max_timestamp`, whatever its delta says. Offsets rise,
  /// and none is above `last_offset_delta`.
  RecordIterator(Bytes block, std::int32_t count, Offset base_offset,
                 std::int32_t last_offset_delta, TimestampMs base_timestamp,
                 TimestampMs max_timestamp, bool append_time)
      : at_(block.data()),
        end_(block.data() + block.size()),
        left_(count),
        last_offset_delta_(last_offset_delta),
        base_offset_(base_offset),
        base_timestamp_(base_timestamp),
        max_timestamp_(max_timestamp),
        append_time_(append_time) {}

  /// The next record; nullptr after the last one, or at a malformed one (then `!ok()`).
  [[nodiscard]] const RecordView* next() {
    if (left_ <= 0 || !ok_) [[unlikely]] {
      ok_ = ok_ && left_ == 0 && at_ == end_;
      return nullptr;
    }
    ok_ = parse();
    --left_;
    return ok_ ? &record_ : nullptr;
  }
  /// As next(), for callers that want the value alone; nullopt in `value` is null. False at the end
  /// or at a malformed record. A value is followed by at least one byte of the block.
  [[nodiscard]] bool next_value(std::optional<std::string_view>& value) {
    if (left_ > 0 && ok_) [[likely]] {
      const std::byte* at = at_;
      std::int64_t length = 0;
      if (short_varint(at, length) && length > 0 && length <= end_ - at) [[likely]] {
        const std::byte* const stop = at + length;
        std::int64_t size = 0;
        std::int64_t delta = 0;
        if (skip_varint(++at, stop) && offset_varint(at, stop, delta) && delta > offset_delta_ &&
            delta <= last_offset_delta_ && at < stop && *at == std::byte{1} &&
            short_varint(++at, size) && size >= 0 && at + size + 1 == stop &&
            *(stop - 1) == std::byte{0}) [[likely]] {
          value = as_text({at, static_cast<std::size_t>(size)});
          at_ = stop;
          offset_delta_ = delta;
          --left_;
          return true;
        }
      }
    }
    const RecordView* record = next();  // a key, headers, null, a long one: the careful way
    if (record == nullptr) return false;
    value = record->value;
    return true;
  }

  /// Records that were not given out yet.
  [[nodiscard]] std::int32_t left() const { return left_; }
  /// False when a record was malformed or bytes are left behind the last one.
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  [[nodiscard]] bool parse() {
    VarintReader outer(at_, end_);
    const std::int64_t length = outer.varint();
    const Bytes body = outer.take(length);
    if (!outer.ok() || body.empty()) [[unlikely]]
      return false;
    at_ = outer.at();

    VarintReader in(body.data() + 1, body.data() + body.size());  // one byte of unused attributes
    const std::int64_t timestamp_delta = in.varint();
    const std::int64_t offset_delta = in.varint();
    record_.key = nullable(in);
    record_.value = nullable(in);
    const std::int64_t header_count = in.varint();
    headers_.clear();
    record_.headers = &headers_;
    if (header_count != 0 && !parse_headers(in, header_count)) return false;
    std::int64_t timestamp = 0;
    if (!in.ok() || in.left() != 0 || offset_delta <= offset_delta_ ||
        offset_delta > last_offset_delta_ ||
        __builtin_add_overflow(base_timestamp_.value(), timestamp_delta, &timestamp)) [[unlikely]]
      return false;
    offset_delta_ = offset_delta;
    record_.offset = base_offset_ + offset_delta;
    record_.timestamp = append_time_ ? max_timestamp_ : TimestampMs(timestamp);
    return true;
  }
  /// A varint of one or two bytes; false for a longer one, or at the end of the block.
  [[nodiscard]] bool short_varint(const std::byte*& at, std::int64_t& out) const {
    if (end_ - at < 2) return false;
    const auto low = std::to_integer<std::uint64_t>(at[0]);
    if (low < 0x80) {
      out = unzigzag(low);
      ++at;
      return true;
    }
    const auto high = std::to_integer<std::uint64_t>(at[1]);
    if (high >= 0x80) return false;
    out = unzigzag((low & 0x7f) | (high << 7));
    at += 2;
    return true;
  }
  [[nodiscard]] static bool skip_varint(const std::byte*& at, const std::byte* stop) {
    while (at < stop && std::to_integer<unsigned>(*at) >= 0x80)
      ++at;
    return ++at <= stop;
  }
  /// A varint of up to five bytes.
  [[nodiscard]] static bool offset_varint(const std::byte*& at, const std::byte* stop,
                                          std::int64_t& out) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; at < stop && shift < 35; shift += 7) {
      const auto byte = std::to_integer<std::uint64_t>(*at++);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        out = unzigzag(value);
        return true;
      }
    }
    return false;
  }
  /// A length of -1 is null; below that is malformed and makes the reader fail.
  [[nodiscard]] static std::optional<std::string_view> nullable(VarintReader& in) {
    const std::int64_t length = in.varint();
    if (length == -1) return std::nullopt;
    return as_text(in.take(length));
  }
  [[nodiscard]] bool parse_headers(VarintReader& in, std::int64_t count);

  const std::byte* at_;
  const std::byte* end_;
  std::int32_t left_;
  std::int64_t offset_delta_ = -1;  ///< of the record before
  std::int64_t last_offset_delta_;
  Offset base_offset_;
  TimestampMs base_timestamp_;
  TimestampMs max_timestamp_;
  bool append_time_;
  bool ok_ = true;
  RecordView record_;
  std::vector<HeaderView> headers_;
};

}  // namespace spool
