#pragma once
/// Copies batches as they are: the same bytes at the same offsets.

#include <cstdint>
#include <functional>

#include "lane.h"
#include "replay_writer.h"

namespace spool {

/// Not thread-safe; borrows everything.
class VerbatimCopy {
 public:
  /// `go_on` is asked between batches: false ends the copy.
  VerbatimCopy(LaneContext& source, Store& target, ReplayWriter& writer,
               std::function<Result<bool>()> go_on)
      : source_(source), store_(target), writer_(writer), go_on_(std::move(go_on)) {}

  /// Copies the batches of a lane, from the one that its start lies in to the last one that begins
  /// below its limit, to the same partition of the writer's topic `number`. That must be empty or
  /// end where a batch of the source ends, with the very batch that ends there: Errc::kConflict.
  /// False when `go_on` ended it.
  [[nodiscard]] Result<bool> copy(const Lane& lane, std::size_t number);
  /// Where the target ends, behind the last batch of the lane that copy() was called for.
  [[nodiscard]] Offset end() const { return end_; }
  [[nodiscard]] std::int64_t records() const { return records_; }

 private:
  [[nodiscard]] Result<void> open(PartitionId partition, std::size_t number);
  [[nodiscard]] Result<void> check_continues(const Lane& lane, const PartitionPlace& place);
  [[nodiscard]] Result<Cursor::Step> next(Cursor& cursor);
  [[nodiscard]] Result<void> append(const Lane& lane, std::size_t number, const BatchView& batch);

  LaneContext& source_;
  Store& store_;
  ReplayWriter& writer_;
  std::function<Result<bool>()> go_on_;
  std::shared_ptr<Appender> appender_;
  bool empty_ = false;  ///< the target
  Offset end_;
  std::int64_t records_ = 0;
};

}  // namespace spool
