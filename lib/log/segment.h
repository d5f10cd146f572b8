#pragma once
/// The files of a partition folder, by name. A segment is named by the first offset that it may
/// hold, 20 digits, zero padded: `<base>.log` with its `.index`, `.timeindex` and `.txnindex`.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "io/fs.h"

namespace spool {

inline constexpr const char* kLogSuffix = ".log";
inline constexpr const char* kIndexSuffix = ".index";
inline constexpr const char* kTimeIndexSuffix = ".timeindex";
inline constexpr const char* kTxnIndexSuffix = ".txnindex";
inline constexpr const char* kSnapshotSuffix = ".snapshot";

[[nodiscard]] std::string segment_path(const std::string& dir, Offset base, const char* suffix);
/// The offset in a file name with this suffix, or nullopt.
[[nodiscard]] std::optional<Offset> segment_base(std::string_view name, std::string_view suffix);

/// Finished output of a compaction that still has to take its name, and the place of older
/// segments.
inline constexpr const char* kLogSwapSuffix = ".log.swap";

struct PartitionFiles {
  /// Bases, ascending. Also of a `.log.swap` whose `.log` is gone already: it holds what was in the
  /// segments that it replaces. open_segment_log() finds either.
  std::vector<Offset> segments;
  std::vector<Offset> snapshots;  ///< offsets of producer snapshots, ascending
  bool unfinished_swap = false;   ///< a compaction was interrupted; the next appender completes it
};
[[nodiscard]] Result<PartitionFiles> list_partition(Fs& fs, const std::string& dir);

/// Opens the records of a segment for reading: its .log, or its .log.swap where that is all there
/// is.
[[nodiscard]] Result<std::unique_ptr<File>> open_segment_log(Fs& fs, const std::string& dir,
                                                             Offset base);
/// What stands under the names that open_segment_log() opens.
[[nodiscard]] Result<FileStat> stat_segment_log(Fs& fs, const std::string& dir, Offset base);

}  // namespace spool
