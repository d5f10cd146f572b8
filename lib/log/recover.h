#pragma once
/// What the next locker does before it appends: look at what others left, tell a torn tail from rot
/// and a crash from a power cut, cut (with a saved copy) or keep.
///
/// Same boot and same folder as `spool.state` says: at worst a process died. A bad end with nothing
/// whole behind it is a torn tail and is cut. A bad batch with whole ones behind it is rot: kept,
/// reported, appended behind.
///
/// Otherwise (power cut, copy, no state): unsynced pages may have reached the disk in any order, so
/// everything from the recovery point is checked and the first bad batch there ends the log.

#include <cstdint>
#include <memory>
#include <optional>

#include "base/ids.h"
#include "base/result.h"
#include "log/place.h"
#include "log/segment.h"
#include "log/segment_indexes.h"

namespace spool {

/// The end of the last segment, as found.
struct Tail {
  Offset base;                 ///< of the last segment
  std::shared_ptr<File> file;  ///< its .log, open for writing
  std::int64_t size = 0;       ///< of the .log: behind the last whole batch
  Offset next_offset;
  Epoch epoch{-1};                        ///< greatest leader epoch met
  std::optional<BatchHeader> last_batch;  ///< unset: the segment has none
  std::int64_t last_batch_position = 0;
  bool rot = false;            ///< damage was met and kept
  bool transactional = false;  ///< a transactional batch was met
  bool cut = false;            ///< bytes were cut
};

/// Scans the last segment from its last index entry. For a partition in the same life. A bad end is
/// cut where it is a torn tail; below `recovery_point` it cannot be one, and is left as it is.
/// Needs the append byte.
[[nodiscard]] Result<Tail> scan_tail(const LogEnv& env, const PartitionPlace& place, Offset base,
                                     Offset recovery_point, SegmentIndexes& indexes,
                                     std::shared_ptr<File> file);

/// Checks everything from `recovery_point` on, cuts at the first bad batch, syncs what it kept.
/// `files` must hold at least one segment. Needs the append byte.
[[nodiscard]] Result<Tail> recover_from(const LogEnv& env, const PartitionPlace& place,
                                        const PartitionFiles& files, Offset recovery_point,
                                        std::optional<SegmentIndexes>& indexes);

/// Copies a segment to a new file, synced, and renames it over the old one: after a failed fsync
/// nothing that the page cache says of the old file can be trusted to be on disk. Needs the append
/// byte.
[[nodiscard]] Result<void> rewrite_suspect(const LogEnv& env, const PartitionPlace& place,
                                           Offset base);

}  // namespace spool
