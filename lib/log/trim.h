#pragma once
/// Takes records away from the front of a partition.
///
/// Whole segments go first, the oldest first, each .log before its indexes; only then is the log
/// start written down, where it is within a segment. So a trim frees space on a full disk before it
/// needs any, and one that is cut short has trimmed less. Where everything goes, a new segment is
/// begun before, whose name keeps the log end.

#include <cstdint>

#include "base/ids.h"
#include "base/result.h"
#include "log/place.h"

namespace spool {

struct TrimResult {
  Offset old_start;
  Offset new_start;
  Offset log_end;
  std::int64_t segments = 0;  ///< removed, or to be removed
  std::int64_t bytes = 0;     ///< of their .log files
};

enum class TrimBelowStart : std::uint8_t {
  kFails,    ///< a target below the log start is out of range
  kNothing,  ///< there is nothing to do then
};

/// What trim_partition() would do now. Takes no lock, writes nothing. Errc::kOutOfRange, naming the
/// range, for a target outside of the log.
[[nodiscard]] Result<TrimResult> plan_trim(const LogEnv& env, const PartitionPlace& place,
                                           Offset target, TrimBelowStart below);

/// Records below `target` are gone for readers, on return durably so; open readers of a segment
/// keep what they have. Takes the directory, byte `topics` and the append byte. Errc::kOutOfRange
/// as above, Errc::kDeleted when the topic was deleted or made again.
[[nodiscard]] Result<TrimResult> trim_partition(const LogEnv& env, const PartitionPlace& place,
                                                Offset target, TrimBelowStart below);

}  // namespace spool
