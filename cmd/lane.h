#pragma once
/// One partition that consume reads: from where to where, and its records one by one.

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "consume_options.h"
#include "log/lookup.h"
#include "log/record_stream.h"
#include "store/store.h"

namespace spool {

/// What all lanes of a command share.
struct LaneContext {
  const LogEnv& env;
  const ConsumeOptions& options;
  Executor* reader;  ///< reads ahead; must outlive the lanes
  /// Says a sentence to the user unless that is unwanted.
  std::function<void(const std::string&)> tell;
  std::int64_t damages = 0;  ///< that were passed over

  /// Read-ahead is shared between so many lanes that are open at a time.
  [[nodiscard]] RecordStream::Options stream_options(std::size_t lanes) const;
};

inline constexpr Offset kNoLimit{std::numeric_limits<std::int64_t>::max()};

/// The partitions of a topic that the options choose. Errc::kNotFound for one that it lacks.
[[nodiscard]] Result<std::vector<PartitionId>> choose_partitions(const TopicInfo& topic,
                                                                 const ConsumeOptions& options);

/// Not thread-safe; stays where it is, since its stream borrows the place.
struct Lane {
  Lane(std::string topic_name, PartitionPlace where)
      : topic(std::move(topic_name)), place(std::move(where)) {}
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  const std::string topic;
  const PartitionPlace place;
  PartitionView view;
  Offset start;
  Offset end = kNoLimit;    ///< exclusive; of the data as it was at the start, unless followed
  Offset until = kNoLimit;  ///< exclusive; asked for
  std::optional<TimestampMs> until_time;  ///< the first record at or after it ends the lane
  std::optional<RecordStream> stream;
  Offset stable;  ///< last stable offset, as far as known
  bool dirty = true;
  bool watched = false;
  bool absent = false;  ///< it has no folder yet, and the directory is watched: that will tell
  bool finished = false;
  bool told_open = false;

  /// Looks at the partition and says where to start and to end. `late`: it appeared while the topic
  /// was followed, and is read from its start.
  [[nodiscard]] Result<void> look(LaneContext& context, bool late);
  /// Begins to read at `from`.
  void open(const LaneContext& context, Offset from, std::size_t lanes);
  /// Goes to the next record below the limit; false when there is none for now. Damage is said, and
  /// passed over where that was asked for.
  [[nodiscard]] Result<bool> advance(LaneContext& context);

  [[nodiscard]] Offset limit() const { return std::min(end, until); }
  [[nodiscard]] RecordTime at() const {
    return {stream->record().timestamp, place.partition, stream->record().offset};
  }

 private:
  [[nodiscard]] Result<Offset> resolve(const LogEnv& env, const Bound& bound, Offset at_end) const;
};

}  // namespace spool
