#pragma once
/// Committed offsets of groups: the topic `__consumer_offsets` of a directory, read into memory and
/// appended to.
///
/// A group's records are in one partition of it, offsets_partition(). Each commit is one batch, so
/// all of it counts or nothing. What a transaction committed counts once its commit marker is
/// there. `DIR/spool.offsets` (offset_snapshot.h) spares reading the whole log; without it the same
/// comes out, later.
///
/// A group has a generation (that of its group record, -1 without one). A commit under another one
/// is refused under the append byte of the partition, with nothing written: so whoever raised it
/// can be sure that nothing of the members before comes behind.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "group/offset_records.h"
#include "group/offset_snapshot.h"
#include "log/appender.h"
#include "log/record_stream.h"
#include "record/builder.h"
#include "store/store.h"

namespace spool {

struct TopicPartition {
  std::string topic;
  PartitionId partition;
  auto operator<=>(const TopicPartition&) const = default;
};

/// A committed offset, or with nullopt its removal.
struct OffsetChange {
  TopicPartition at;
  std::optional<Offset> offset;
  std::string metadata;
};

/// A group as its records say it. A copy: it does not follow what is committed later.
struct GroupRecord {
  std::map<TopicPartition, OffsetValue> offsets;
  std::optional<GroupValue> classic;
  std::optional<std::int32_t> consumer_epoch;  ///< of a group of the newer protocol
  /// -1 when there is no group record.
  [[nodiscard]] std::int32_t generation() const { return classic ? classic->generation : -1; }
};

/// Thread-safe: one call at a time, others wait.
class OffsetStore {
 public:
  /// Nothing is read or made until a call needs it.
  explicit OffsetStore(Store& store) : store_(store) {}

  /// What is committed now; reads what others appended since the last call. nullopt for a group
  /// without records. Errc::kConflict for a name longer than kClassicStringMax.
  [[nodiscard]] Result<std::optional<GroupRecord>> group(const std::string& name);
  /// All groups by name.
  [[nodiscard]] Result<std::map<std::string, GroupRecord>> groups();
  [[nodiscard]] Result<std::int32_t> generation(const std::string& name);

  /// Durable on return. Makes the topic when it is missing. Errc::kConflict, nothing written, when
  /// the group's generation is another one than `generation`. The caller sees to it that the
  /// records below the offsets are on disk, see data_sync.h.
  /// `still` is asked under the append byte; what it says instead of yes is returned, with nothing
  /// written.
  [[nodiscard]] Result<void> commit(const std::string& name, std::int32_t generation,
                                    const std::vector<OffsetChange>& changes,
                                    const std::function<Result<void>()>& still = {});
  /// As commit(), under any generation; with `raise` the generation goes up by one in the same
  /// batch. Gives the generation afterwards.
  [[nodiscard]] Result<std::int32_t> change(const std::string& name,
                                            const std::vector<OffsetChange>& changes, bool raise);
  /// Removes all records of a group; durable on return.
  [[nodiscard]] Result<void> remove(const std::string& name);

  /// Removes what all groups have committed of a topic that is deleted; durable on return. Needs
  /// byte `topics`. A commit() whose `still` asks whether the topic is there is either before it
  /// or refused.
  [[nodiscard]] Result<void> remove_topic(const std::string& topic);

  /// Renews the recovery point of the topic's partitions, and the snapshot where much was read
  /// behind the last one. Leaving it out costs time later, nothing else.
  void close();

  /// Records read behind the snapshot from which a new one is worth writing.
  static constexpr std::int64_t kSnapshotEvery = 10'000;

 private:
  struct Pending {
    std::string key;
    std::optional<std::string> value;
    Offset record;
  };
  struct Part {
    PartitionPlace place;  ///< the stream borrows it
    GroupEntries entries;
    std::optional<RecordStream> stream;
    std::map<std::int64_t, std::vector<Pending>> open;  ///< transactions by producer
    std::unique_ptr<Appender> appender;
    SnapshotMark mark;                 ///< the last batch that was read
    std::int64_t behind_snapshot = 0;  ///< records
    std::int64_t written = 0;          ///< batches
    RecentEntries recent;              ///< into `entries`
  };

  using Records = std::vector<std::pair<std::string, std::optional<std::string>>>;

  [[nodiscard]] Result<bool> open_topic();
  [[nodiscard]] Result<void> make_topic();
  [[nodiscard]] Result<Part*> part(std::int32_t number);
  [[nodiscard]] Result<void> open_part(Part& part);
  [[nodiscard]] Result<void> catch_up(Part& part);
  void take(Part& part);
  void apply(Part& part, std::string_view key, const std::optional<std::string_view>& value,
             Offset record);
  void end_transaction(Part& part, std::string_view control_key);
  [[nodiscard]] Result<Part*> current(const std::string& name);
  [[nodiscard]] std::int32_t part_count() const;
  void forget();
  /// Appends the records in one batch and syncs, when `check` agrees under the append byte.
  [[nodiscard]] Result<void> write(const std::string& name, const Records& records,
                                   const std::function<Result<void>(Part&)>& check);
  [[nodiscard]] Result<void> write_once(const std::string& name, const Records& records,
                                        const std::function<Result<void>(Part&)>& check);
  [[nodiscard]] Result<void> renew_snapshot();

  Store& store_;
  std::mutex mutex_;  ///< guards all below
  std::optional<TopicInfo> topic_;
  std::map<std::int32_t, std::unique_ptr<Part>> parts_;  ///< those that were read
  std::optional<OffsetSnapshot> snapshot_;
  bool snapshot_looked_for_ = false;
  BatchBuilder builder_;
};

}  // namespace spool
