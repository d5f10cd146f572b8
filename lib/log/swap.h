#pragma once
/// What a compaction that was cut short leaves in a partition folder, and what is made of it. As a
/// broker does it when it opens a partition:
///
/// 1. `*.cleaned` is half-written output, `*.deleted` was replaced already: both go. A `.swap` at
///    or behind the smallest base of a `.cleaned` is of an unfinished split, and goes too.
/// 2. `BASE.log.swap` is finished output: the segments go whose base is in [smallest base of a
///    .log.swap, end of the last one), then every `*.swap` loses that ending.
/// 3. Indexes without a .log go.
///
/// Until then a reader takes a `.log.swap` for the segment where the .log is gone. In a partition
/// of ours only step 2 is done, for a compaction may be running.

#include "base/result.h"
#include "log/place.h"

namespace spool {

/// Durable on return. Needs the append byte. Errc::kCorrupt when a .log.swap does not read to its
/// end: then nothing was replaced by it.
[[nodiscard]] Result<void> finish_swaps(const LogEnv& env, const PartitionPlace& place);

}  // namespace spool
