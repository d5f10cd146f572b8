#pragma once
/// Checks one segment: each batch of the .log with its records, and in the same pass its indexes.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/helpers.h"
#include "base/ids.h"
#include "base/result.h"
#include "log/finding.h"
#include "log/place.h"
#include "record/batch.h"

namespace spool {

/// A whole batch that began behind the offset that was due: either a gap is in front of it, or its
/// base offset, which no CRC covers, was changed. What follows tells.
struct LateBatch {
  std::int64_t position = 0;
  Offset base;  ///< as it stands
  Offset due;
  Offset last;  ///< as it stands
  [[nodiscard]] Offset due_end() const { return due + (last - base) + 1; }
};

/// Neighbouring batches of one leader epoch.
struct EpochRun {
  Epoch epoch;
  Offset behind;  ///< end of the batch before the run
  Offset first;   ///< base of its first batch
  Offset last;    ///< last offset of its last batch
  std::int64_t position = 0;
  std::int64_t batches = 1;
};

/// What one segment says of itself; what only its neighbours can judge is left to the caller.
struct SegmentReport {
  bool gone = false;  ///< deleted meanwhile
  std::string log_path;
  Offset base;
  Offset next_offset;  ///< behind its last batch, as far as that can be believed
  std::int64_t bytes = 0;
  std::int64_t batches = 0;
  std::int64_t records = 0;
  bool compacted = false;  ///< records or batches are missing, as compaction leaves it
  bool transactional = false;
  std::optional<LateBatch> late;  ///< the last batch, where nothing behind it tells
  std::optional<Finding> tail;    ///< bytes at the end that hold no whole batch
  std::vector<EpochRun> epochs;
  std::vector<Finding> findings;
};

/// How far a check is; for showing only.
struct VerifyProgress {
  std::atomic<std::int64_t> bytes{0};
  std::atomic<std::int64_t> records{0};
};

struct SegmentRules {
  bool dense = false;  ///< offsets have no gaps
  bool last = false;   ///< the partition's last one, which others append to
  /// Entries that point behind the end of the log are left by a power cut or a copy, not damage.
  bool indexes_may_lead = false;
  std::optional<Offset> next_base;  ///< of the segment behind it
};

/// Errors are of the system only. `wait` sleeps before a second look. `helpers`, which may be
/// nullptr and must outlive the call, share the work on a large segment.
[[nodiscard]] Result<SegmentReport> verify_segment(const LogEnv& env, const PartitionPlace& place,
                                                   Offset base, const SegmentRules& rules,
                                                   const std::function<void(int ms)>& wait,
                                                   VerifyProgress& progress,
                                                   Helpers* helpers = nullptr);

}  // namespace spool
