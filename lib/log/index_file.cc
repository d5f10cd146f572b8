#include "log/index_file.h"

#include <algorithm>
#include <array>

namespace spool {

OffsetEntry OffsetEntry::decode(const std::byte* at, Offset base) {
  return {base + load_be<std::int32_t>(at), load_be<std::int32_t>(at + 4)};
}

void OffsetEntry::encode(std::byte* at, Offset base) const {
  store_be<std::int32_t>(at, static_cast<std::int32_t>(offset - base));
  store_be<std::int32_t>(at + 4, static_cast<std::int32_t>(position));
}

TimeEntry TimeEntry::decode(const std::byte* at, Offset base) {
  return {TimestampMs(load_be<std::int64_t>(at)), base + load_be<std::int32_t>(at + 8)};
}

void TimeEntry::encode(std::byte* at, Offset base) const {
  store_be<std::int64_t>(at, timestamp.value());
  store_be<std::int32_t>(at + 8, static_cast<std::int32_t>(offset - base));
}

template <class Entry>
Result<IndexFile<Entry>> IndexFile<Entry>::open_read(Fs& fs, const std::string& path, Offset base) {
  IndexFile index;
  index.base_ = base;
  auto file = fs.open(path, OpenMode::kRead, 0);
  if (!file) {
    if (file.error().code == Errc::kNotFound) return index;
    return fail(file.error());
  }
  index.file_ = std::move(*file);
  TRY(index.measure());
  return index;
}

template <class Entry>
Result<IndexFile<Entry>> IndexFile<Entry>::open_append(Fs& fs, const std::string& path, Offset base,
                                                       std::uint32_t mode) {
  IndexFile index;
  index.base_ = base;
  TRY_ASSIGN(index.file_, fs.open(path, OpenMode::kCreate, mode));
  TRY(index.measure());
  return index;
}

template <class Entry>
Result<void> IndexFile<Entry>::measure() {
  TRY_ASSIGN(const FileStat st, file_->stat());
  count_ = st.size / Entry::kBytes;
  const auto is_zero = [&](std::int64_t i) -> Result<bool> {
    std::array<std::byte, Entry::kBytes> raw{};
    TRY_ASSIGN(const std::size_t got, file_->read_at(raw, i * Entry::kBytes));
    return got < raw.size() ||
           std::all_of(raw.begin(), raw.end(), [](std::byte b) { return b == std::byte{0}; });
  };
  if (count_ == 0) return {};
  TRY_ASSIGN(const bool zeros, is_zero(count_ - 1));
  if (!zeros) return {};
  std::int64_t low = 0;
  for (std::int64_t high = count_ - 1; low < high;) {
    const std::int64_t middle = low + (high - low) / 2;
    TRY_ASSIGN(const bool zero, is_zero(middle));
    if (zero) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  count_ = low;
  return {};
}

template <class Entry>
Result<Entry> IndexFile<Entry>::at(std::int64_t i) const {
  std::array<std::byte, Entry::kBytes> raw{};
  TRY_ASSIGN(const std::size_t got, file_->read_at(raw, i * Entry::kBytes));
  if (got < raw.size()) return fail(Errc::kCorrupt, "an index file shrank while it was read");
  return Entry::decode(raw.data(), base_);
}

template <class Entry>
Result<void> IndexFile<Entry>::append(const Entry& entry) {
  std::array<std::byte, Entry::kBytes> raw{};
  entry.encode(raw.data(), base_);
  TRY(file_->write_at(raw, count_ * Entry::kBytes));
  ++count_;
  return {};
}

template <class Entry>
Result<void> IndexFile<Entry>::keep(std::int64_t count) {
  TRY_ASSIGN(const FileStat st, file_->stat());
  count_ = std::min(count, count_);
  if (st.size == count_ * Entry::kBytes) return {};
  return file_->truncate(count_ * Entry::kBytes);
}

template class IndexFile<OffsetEntry>;
template class IndexFile<TimeEntry>;

}  // namespace spool
