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

struct PartitionFiles {
  std::vector<Offset> segments;   ///< bases, ascending
  std::vector<Offset> snapshots;  ///< offsets of producer snapshots, ascending
  bool unfinished_swap = false;   ///< a compaction was interrupted; repair completes it
};
[[nodiscard]] Result<PartitionFiles> list_partition(Fs& fs, const std::string& dir);

}  // namespace spool
