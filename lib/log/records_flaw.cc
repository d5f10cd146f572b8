#include "log/records_flaw.h"

#include <algorithm>

#include <fmt/format.h>

#include "log/lookup.h"

namespace spool {

namespace {

/// A varint of four to nine bytes, or at the end; nullptr when it does not end before `stop`.
const std::byte* get_long(const std::byte* at, const std::byte* stop, std::int64_t& out) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; at < stop && shift < 63; shift += 7) {
    const auto byte = std::to_integer<std::uint64_t>(*at++);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      out = unzigzag(value);
      return at;
    }
  }
  return nullptr;
}

/// A varint of at most nine bytes; false when it does not end before `stop`. Inlined for certain:
/// by reference in memory each step would wait for the one before.
[[gnu::always_inline]] inline bool get(const std::byte*& at, const std::byte* stop,
                                       std::int64_t& out) {
  if (stop - at >= 2) [[likely]] {  // one byte or two: nearly always
    const auto low = std::to_integer<std::uint64_t>(at[0]);
    if (low < 0x80) {
      out = unzigzag(low);
      at += 1;
      return true;
    }
    const auto high = std::to_integer<std::uint64_t>(at[1]);
    if (high < 0x80) {
      out = unzigzag((low & 0x7f) | (high << 7));
      at += 2;
      return true;
    }
  }
  std::int64_t value = 0;
  const std::byte* const behind = get_long(at, stop, value);
  if (behind == nullptr) return false;
  out = value;
  at = behind;
  return true;
}

/// Skips what a length of -1 (null) or more stands in front of.
[[gnu::always_inline]] inline bool skip(const std::byte*& at, const std::byte* stop) {
  std::int64_t length = 0;
  if (!get(at, stop, length) || length < -1 || length > stop - at) return false;
  if (length > 0) at += length;
  return true;
}

/// The end of so many headers; nullptr when they are malformed.
const std::byte* skip_headers(const std::byte* at, const std::byte* stop, std::int64_t count) {
  std::int64_t name = 0;
  for (; count > 0; --count) {
    if (!get(at, stop, name) || name < 0 || name > stop - at) return nullptr;
    at += name;
    if (!skip(at, stop)) return nullptr;
  }
  return count == 0 ? at : nullptr;
}

/// True when all is well; faster than the iterator, and no words for what is not.
bool all_sound(Bytes block, const BatchHeader& h) {
  const std::byte* at = block.data();
  const std::byte* const end = at + block.size();
  // Above a difference that overflows nothing is told here.
  constexpr std::int64_t kTimeMax = std::int64_t{1} << 60;
  const std::int64_t base_time = h.base_timestamp.value();
  if (std::max(base_time, h.max_timestamp.value()) > kTimeMax) return false;
  if (std::min(base_time, h.max_timestamp.value()) < -kTimeMax) return false;
  const std::int64_t delta_max = h.append_time() ? kTimeMax : h.max_timestamp.value() - base_time;
  std::int64_t before = -1;
  for (std::int32_t n = 0; n < h.count; ++n) {
    std::int64_t length = 0;
    if (!get(at, end, length) || length < 1 || length > end - at) return false;
    const std::byte* const stop = at + length;
    std::int64_t time = 0;
    std::int64_t offset = 0;
    std::int64_t headers = 0;
    if (!get(++at, stop, time) || time > delta_max || time < -kTimeMax) return false;
    if (!get(at, stop, offset) || offset <= before || offset > h.last_offset_delta) return false;
    if (!skip(at, stop) || !skip(at, stop) || !get(at, stop, headers)) return false;
    if ((headers != 0 ? skip_headers(at, stop, headers) : at) != stop) return false;
    at = stop;
    before = offset;
  }
  return at == end;
}

}  // namespace

std::string records_flaw(const BatchView& batch, Decompressor& decompressor, Buffer& scratch) {
  const BatchHeader& h = batch.header;
  if (h.count == 0) {
    const bool odd = h.codec() == Codec::kNone && !batch.block().empty();
    return odd ? "a batch without records has bytes behind its header" : "";
  }
  if (h.codec() == Codec::kNone && !h.control() && all_sound(batch.block(), h)) return "";
  auto records = open_records(batch, decompressor, kDecompressedBytesMax, scratch);
  if (!records) return records.error().message();
  Offset offset_min = h.base_offset;
  std::int32_t n = 0;
  while (const RecordView* r = records->next()) {
    if (r->offset < offset_min || r->offset > h.last_offset())
      return fmt::format("record {} of the batch has offset {}", n, r->offset.value());
    if (r->timestamp > h.max_timestamp)
      return fmt::format("the record at offset {} is newer than the batch says", r->offset.value());
    offset_min = r->offset + 1;
    ++n;
  }
  if (!records->ok())
    return n < h.count ? fmt::format("record {} of the batch is malformed", n)
                       : "bytes are left behind the last record of the batch";
  return h.control() && !control_type(batch) ? "a control batch without a key" : "";
}

}  // namespace spool
