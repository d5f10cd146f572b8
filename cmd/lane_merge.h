#pragma once
/// The records of several partitions in the order of time, and of offsets within each, with few of
/// them open at a time.

#include <cstdint>
#include <list>
#include <queue>
#include <vector>

#include "lane.h"

namespace spool {

/// Not thread-safe; borrows the lanes, each of which must have its `start` and `end`.
class LaneMerge {
 public:
  /// Only records at or after `cut`, where it is set, are given out.
  LaneMerge(LaneContext& context, std::vector<Lane*> lanes, std::optional<RecordTime> cut);

  /// The lane whose record is the next one; nullptr at the end. Its stream stands there until the
  /// next call.
  [[nodiscard]] Result<Lane*> next();

 private:
  struct Open {
    Lane* lane;
    std::size_t bytes;  ///< of memory, about
  };
  struct Head {
    RecordTime record;
    Lane* lane;
    bool operator>(const Head& o) const { return record > o.record; }
  };
  [[nodiscard]] Result<void> push_next(Lane& lane);
  [[nodiscard]] Result<bool> bring_up(const Head& head);
  void touch(Lane& lane);
  void close(Lane& lane);
  void make_room();

  LaneContext& context_;
  const std::vector<Lane*> lanes_;
  const std::optional<RecordTime> cut_;
  const std::size_t open_max_;
  bool started_ = false;
  Lane* current_ = nullptr;
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads_;
  std::list<Open> open_;  ///< the one used last is at the end
  std::size_t open_bytes_ = 0;
};

}  // namespace spool
