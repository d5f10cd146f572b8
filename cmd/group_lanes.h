#pragma once
/// The partitions that a group's member reads, and where each starts and ends.

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "consume_options.h"
#include "group/data_sync.h"
#include "group/membership.h"
#include "group/offset_store.h"
#include "lane.h"

namespace spool {

/// A lane of a group's member.
struct GroupLane : Lane {
  using Lane::Lane;

  int id = 0;  ///< never used again
  TopicPartition tp;
  Offset printed;     ///< behind the last record that was printed or given to a command
  std::string batch;  ///< with --exec: what the next command gets
  std::int64_t batched = 0;
  Offset batch_first;
  bool start_counts = false;  ///< where it starts is worth a commit by itself
  bool leaving = false;       ///< to be given up once all is committed
};

/// Where offsets are kept: a group or a file. Thread-safe.
class Offsets {
 public:
  Offsets(Store& store, const GroupOptions& options, OffsetStore& group)
      : store_(store), options_(options), group_(group), sync_(store.env()) {}

  /// What is committed, of all partitions.
  [[nodiscard]] Result<std::map<TopicPartition, Offset>> committed();
  /// Durable on return; before that the records below are.
  [[nodiscard]] Result<void> commit(std::int32_t generation,
                                    const std::map<TopicPartition, Offset>& offsets,
                                    const std::map<TopicPartition, PartitionPlace>& places);

 private:
  Store& store_;
  const GroupOptions& options_;
  OffsetStore& group_;
  DataSync sync_;
};

/// Start and end of one lane. `committed` is what the group has of it; the options say where to
/// start only the `first_time` that it is read. Says what is gone. Errc::kOutOfRange with --reset
/// error.
[[nodiscard]] Result<void> set_group_span(LaneContext& context, std::optional<Offset> committed,
                                          bool first_time, GroupLane& lane);

/// Where the data of a partition ends for a consumer that does not follow.
[[nodiscard]] Result<Offset> end_for(Store& store, const ConsumeOptions& options,
                                     const PartitionPlace& place);

}  // namespace spool
