#pragma once
/// Finds offsets: the start and end of a partition, the first record at or after a time, the newest
/// records.

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "log/cursor.h"
#include "log/place.h"
#include "log/segment.h"
#include "log/walk.h"
#include "record/batch.h"

namespace spool {

/// Limit on what one batch may decompress to.
inline constexpr std::size_t kDecompressedBytesMax = std::size_t{256} << 20;

/// A partition as it was when looked at.
struct PartitionView {
  PartitionFiles files;
  Offset log_start;
  Offset log_end;  ///< where the next record goes: not before the recovery point
};

/// A missing folder reads as an empty partition.
[[nodiscard]] Result<PartitionView> view_partition(const LogEnv& env, const PartitionPlace& place);

/// Walks the segment `base` from its last index entry that holds to its end, behind damage too; all
/// below `promised` was known to be on disk.
[[nodiscard]] Result<WalkEnd> end_of_segment(const LogEnv& env, const PartitionPlace& place,
                                             Offset base, Offset promised = Offset(-1));

/// Size of all .log files together.
[[nodiscard]] std::int64_t partition_bytes(const LogEnv& env, const PartitionPlace& place,
                                           const PartitionView& view);

/// The offset of the first record whose timestamp is at or after `time`; the log end when there is
/// none. Damage is passed over, but for a batch whose records cannot be taken apart: where one of
/// them is late enough by the header, the batch's base offset is the answer.
[[nodiscard]] Result<Offset> offset_for_time(const LogEnv& env, const PartitionPlace& place,
                                             const PartitionView& view, TimestampMs time);

/// One record's place in a topic, ordered by time, then partition, then offset.
struct RecordTime {
  TimestampMs timestamp;
  PartitionId partition;
  Offset offset;
  auto operator<=>(const RecordTime&) const = default;
};

/// Takes records as a search meets them.
class RecordTimes {
 public:
  virtual ~RecordTimes() = default;
  virtual void offer(const RecordTime& r) = 0;
  /// Whether a record of this time is of interest. What once was not never is again.
  [[nodiscard]] virtual bool wants(TimestampMs timestamp) const = 0;
};

/// Keeps the greatest `limit` of what is offered.
class NewestRecords : public RecordTimes {
 public:
  explicit NewestRecords(std::size_t limit) : limit_(limit) {}
  void offer(const RecordTime& r) override;
  [[nodiscard]] bool wants(TimestampMs timestamp) const override {
    return limit_ > 0 && (heap_.size() < limit_ || timestamp >= heap_.top().timestamp);
  }
  /// What was kept, in ascending order; leaves nothing.
  [[nodiscard]] std::vector<RecordTime> take();

 private:
  std::size_t limit_;
  std::priority_queue<RecordTime, std::vector<RecordTime>, std::greater<>> heap_;
};

/// Offers the records of [view.log_start, end) that a consumer would see. Goes from the newest
/// block to older ones, and stops where the time index shows that nothing older can be wanted.
/// Damage is passed over.
[[nodiscard]] Result<void> find_newest(const LogEnv& env, const PartitionPlace& place,
                                       const PartitionView& view, Offset end, bool read_committed,
                                       RecordTimes& times);

}  // namespace spool
