#include "newest_lanes.h"

#include <algorithm>
#include <map>

#include "log/nth_newest.h"

namespace spool {

namespace {

/// The first record of each partition at or after the cut.
class FirstOffsets : public RecordTimes {
 public:
  explicit FirstOffsets(const std::optional<RecordTime>& cut) : cut_(cut) {}
  void offer(const RecordTime& r) override {
    if (cut_ && r < *cut_) return;
    Offset& first = offsets.emplace(r.partition, r.offset).first->second;
    first = std::min(first, r.offset);
  }
  [[nodiscard]] bool wants(TimestampMs timestamp) const override {
    return !cut_ || timestamp >= cut_->timestamp;
  }
  std::map<PartitionId, Offset> offsets;

 private:
  const std::optional<RecordTime> cut_;
};

/// From the newest to the oldest, as far as is wanted.
Result<void> scan(const LaneContext& context, const std::vector<Lane*>& lanes, RecordTimes& times) {
  for (const Lane* lane : lanes)
    TRY(find_newest(context.env, lane->place, lane->view, lane->stable,
                    context.options.read_committed, times));
  return {};
}

}  // namespace

Result<NewestLanes> find_newest_lanes(const LaneContext& context, const std::vector<Lane*>& all,
                                      std::int64_t count) {
  NewestLanes newest;
  std::int64_t most = 0;
  for (Lane* lane : all) {
    lane->start = lane->end = lane->stable;
    most += lane->stable - lane->view.log_start;
  }
  if (count == 0) return newest;
  if (most > count) {
    TRY_ASSIGN(newest.cut,
               nth_newest([&](RecordTimes& t) { return scan(context, all, t); }, count));
  }
  if (!newest.cut) {  // all there is, damage in front of it too
    for (Lane* lane : all)
      lane->start = lane->view.log_start;
    newest.lanes = all;
    return newest;
  }
  FirstOffsets first(newest.cut);
  TRY(scan(context, all, first));
  for (Lane* lane : all) {
    const auto found = first.offsets.find(lane->place.partition);
    if (found == first.offsets.end()) continue;
    lane->start = found->second;
    newest.lanes.push_back(lane);
  }
  return newest;
}

}  // namespace spool
