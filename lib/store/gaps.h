#pragma once
/// Letting a topic of ours have gaps between its offsets, as compaction leaves them.

#include "base/result.h"
#include "store/store.h"

namespace spool {

/// From now on, durably, a gap in the topic's offsets is no damage. Returns the topic as it is
/// then; nothing happens where gaps are allowed already. Errc::kDeleted when it is not the topic of
/// that name any more.
[[nodiscard]] Result<TopicInfo> allow_gaps(Store& store, const TopicInfo& topic);

}  // namespace spool
