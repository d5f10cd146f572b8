#pragma once
/// The two index files of a segment. Both are hints: any state of them is survived.
///
/// `.index`, 8 bytes an entry: int32 last offset of an appended batch less the segment's base,
/// int32 its position in the .log. `.timeindex`, 12 bytes: int64 greatest timestamp so far, int32
/// last offset of the batch that first reached it, less the base. A broker preallocates both with
/// zeros; entries end where the zeros begin, for no entry is all zeros.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "io/fs.h"

namespace spool {

struct OffsetEntry {
  static constexpr std::int64_t kBytes = 8;
  Offset offset;
  std::int64_t position = 0;

  static OffsetEntry decode(const std::byte* at, Offset base);
  void encode(std::byte* at, Offset base) const;
};

struct TimeEntry {
  static constexpr std::int64_t kBytes = 12;
  TimestampMs timestamp;
  Offset offset;

  static TimeEntry decode(const std::byte* at, Offset base);
  void encode(std::byte* at, Offset base) const;
};

/// Not thread-safe. Appending needs the partition's append byte.
template <class Entry>
class IndexFile {
 public:
  /// Opens for reading; a missing file is an index without entries.
  [[nodiscard]] static Result<IndexFile> open_read(Fs& fs, const std::string& path, Offset base);
  /// Opens for appending; makes it when missing.
  [[nodiscard]] static Result<IndexFile> open_append(Fs& fs, const std::string& path, Offset base,
                                                     std::uint32_t mode);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] Result<Entry> at(std::int64_t i) const;
  /// Number of leading entries for which `before(entry)` holds; it must hold for a prefix.
  template <class Before>
  [[nodiscard]] Result<std::int64_t> partition_point(const Before& before) const {
    std::int64_t low = 0;
    std::int64_t high = count_;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      TRY_ASSIGN(const Entry entry, at(middle));
      if (before(entry)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  [[nodiscard]] Result<void> append(const Entry& entry);
  /// Keeps the first `count` entries and cuts the file there, preallocated zeros included.
  [[nodiscard]] Result<void> keep(std::int64_t count);
  [[nodiscard]] Result<void> sync() { return file_->sync(); }

 private:
  [[nodiscard]] Result<void> measure();

  std::unique_ptr<File> file_;
  Offset base_;
  std::int64_t count_ = 0;
};

using OffsetIndex = IndexFile<OffsetEntry>;
using TimeIndex = IndexFile<TimeEntry>;

}  // namespace spool
