#include "log/find_batch.h"

#include <array>
#include <cstring>

namespace spool {

namespace {

constexpr std::size_t kWindowBytes = std::size_t{1} << 20;

Result<std::optional<FoundBatch>> whole_at(File& file, std::int64_t at, std::int64_t size,
                                           Buffer& scratch) {
  scratch.resize(static_cast<std::size_t>(size));
  TRY_ASSIGN(const std::size_t got, file.read_at(scratch.mutable_bytes(), at));
  FoundBatch found{at, {}};
  if (check_batch(scratch.bytes().first(got), found.header) != BatchState::kWhole)
    return std::optional<FoundBatch>();
  return std::optional(found);
}

/// The header at `at`, if it is plausible and the file is long enough for what it claims.
Result<std::optional<BatchHeader>> header_at(File& file, std::int64_t at, std::int64_t file_size) {
  std::array<std::byte, kBatchHeaderBytes> raw{};
  TRY_ASSIGN(const std::size_t got, file.read_at(raw, at));
  if (got < raw.size()) return std::optional<BatchHeader>();
  const BatchHeader header = BatchHeader::decode(raw.data());
  if (!header.plausible() || at + header.size() > file_size) return std::optional<BatchHeader>();
  return std::optional(header);
}

/// The batch behind the bad one, where both agree on the offset between them.
Result<std::optional<FoundBatch>> find_by_length(File& file, std::int64_t bad_at,
                                                 std::int64_t file_size, Offset offset_min,
                                                 Buffer& scratch) {
  TRY_ASSIGN(const auto bad, header_at(file, bad_at, file_size));
  if (!bad || bad->base_offset < offset_min) return std::optional<FoundBatch>();
  const std::int64_t at = bad_at + bad->size();
  TRY_ASSIGN(const auto next, header_at(file, at, file_size));
  if (!next || next->base_offset != bad->next_offset()) return std::optional<FoundBatch>();
  return whole_at(file, at, next->size(), scratch);
}

}  // namespace

Result<std::optional<FoundBatch>> find_batch(File& file, std::int64_t bad_at, Offset offset_min,
                                             Offset offset_max) {
  Buffer window(kWindowBytes);
  Buffer scratch;
  TRY_ASSIGN(const FileStat st, file.stat());
  TRY_ASSIGN(const auto by_length, find_by_length(file, bad_at, st.size, offset_min, scratch));
  if (by_length) return by_length;
  for (std::int64_t at = bad_at + 1;
       at + static_cast<std::int64_t>(kBatchHeaderBytes) <= st.size;) {
    window.resize(kWindowBytes);
    TRY_ASSIGN(const std::size_t got, file.read_at(window.mutable_bytes(), at));
    if (got < kBatchHeaderBytes) break;
    const std::byte* begin = window.data();
    const std::size_t last = got - kBatchHeaderBytes;  // last place where a header fits
    for (std::size_t i = 0; i <= last; ++i) {
      const void* magic = std::memchr(begin + i + batch_field::kMagic, 2, last - i + 1);
      if (magic == nullptr) break;
      i = static_cast<std::size_t>(static_cast<const std::byte*>(magic) - begin) -
          batch_field::kMagic;
      const BatchHeader header = BatchHeader::decode(begin + i);
      const std::int64_t place = at + static_cast<std::int64_t>(i);
      if (!header.plausible() || header.base_offset < offset_min ||
          header.base_offset >= offset_max || place + header.size() > st.size)
        continue;
      TRY_ASSIGN(const auto whole, whole_at(file, place, header.size(), scratch));
      if (whole) return whole;
    }
    at += static_cast<std::int64_t>(last) + 1;
  }
  return std::optional<FoundBatch>();
}

}  // namespace spool
