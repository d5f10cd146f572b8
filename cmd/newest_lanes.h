#pragma once
/// Which records of a topic are its newest N, for `consume -n N`.

#include <cstdint>
#include <optional>
#include <vector>

#include "lane.h"

namespace spool {

struct NewestLanes {
  std::vector<Lane*> lanes;       ///< that have such records; their `start` is the first one
  std::optional<RecordTime> cut;  ///< the first of all; unset: all records are
};

/// `all` are the lanes of one topic: each then ends where it is stable, and starts there too when
/// it has none of the newest `count`.
[[nodiscard]] Result<NewestLanes> find_newest_lanes(const LaneContext& context,
                                                    const std::vector<Lane*>& all,
                                                    std::int64_t count);

}  // namespace spool
