#pragma once
/// Where replayed records go: batches into the partitions of one or several topics. Building and
/// appending are the caller's thread's; syncing goes on beside it, so that the pace does not wait
/// for a disk.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "appender_cache.h"
#include "record/builder.h"
#include "store/store.h"
#include "worker.h"

namespace spool {

/// A record on its way. Borrowed for the call.
struct OutgoingRecord {
  TimestampMs timestamp;
  std::optional<std::string_view> key;
  std::optional<std::string_view> value;
  std::span<const HeaderView> headers;
  Codec codec = Codec::kNone;  ///< of the batch that it came in
  /// Where its batch is to say what is in it: the producer id of its source partition, and its
  /// offset there. Such a batch has records of one source only. -1: nothing is said.
  std::int64_t producer_id = -1;
  Offset source_offset;
};

/// All calls are for one thread, but for what sync_beside() runs.
class ReplayWriter {
 public:
  explicit ReplayWriter(Store& store);
  ~ReplayWriter();
  ReplayWriter(const ReplayWriter&) = delete;
  ReplayWriter& operator=(const ReplayWriter&) = delete;

  /// The number by which the calls below name the topic.
  std::size_t add_topic(TopicInfo topic);
  [[nodiscard]] const TopicInfo& topic(std::size_t number) const { return topics_[number].info; }

  /// Errc::kTooLarge for a record that the topic's max.message.bytes does not take.
  [[nodiscard]] Result<void> add(std::size_t topic, PartitionId partition,
                                 const OutgoingRecord& record);
  /// Appends what is open. Written on return, not synced.
  [[nodiscard]] Result<void> flush();
  /// Whether records are in batches that are not appended yet.
  [[nodiscard]] bool has_open() const { return open_bytes_ > 0; }
  /// Told of each batch that was appended.
  std::function<void(std::size_t topic, PartitionId partition, Offset next_offset,
                     std::int32_t records)>
      on_appended;

  /// The appender of a partition, for who appends by himself; note_appended() must follow.
  [[nodiscard]] Result<std::shared_ptr<Appender>> appender(std::size_t topic,
                                                           PartitionId partition);
  void note_appended(std::shared_ptr<Appender> appender, std::int64_t bytes);
  /// The topic has changed, and is known by this from now on: its appenders are closed.
  [[nodiscard]] Result<void> replace_topic(std::size_t number, TopicInfo topic);

  /// Whether to call sync_beside(): no sync is under way, or so much is not synced that it must be
  /// waited for.
  [[nodiscard]] bool may_sync();
  /// Syncs, beside the caller, what was appended before, then runs `then` there. Waits for the one
  /// before, and gives its error.
  [[nodiscard]] Result<void> sync_beside(std::function<Result<void>()> then);
  /// Waits until everything that was appended is synced and `then` has run. `then` is left out when
  /// anything has failed.
  [[nodiscard]] Result<void> sync_now(std::function<Result<void>()> then);
  /// sync_now() is to come first.
  [[nodiscard]] Result<void> close() { return appenders_.close_all(); }

  [[nodiscard]] std::int64_t unsynced_bytes() const { return unsynced_bytes_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] std::int64_t appended() const { return appended_; }

 private:
  struct Slot {
    std::unique_ptr<BatchBuilder> builder;  ///< the open batch, or none
    Codec codec = Codec::kNone;
    std::int64_t producer_id = -1;
    Offset last_source;
  };
  struct Topic {
    TopicInfo info;
    std::size_t batch_bytes = 0;
    std::size_t batch_bytes_max = SIZE_MAX;
    std::optional<Codec> codec;  ///< what the topic wants; unset: as the source has it
    std::map<PartitionId, Slot> slots;
  };

  [[nodiscard]] Result<void> append(std::size_t topic, PartitionId partition, Slot& slot);
  [[nodiscard]] Result<void> append_open(std::size_t topic, PartitionId partition, Slot& slot);
  [[nodiscard]] Result<Compressor*> compressor(const Topic& topic, Codec codec);
  [[nodiscard]] std::unique_ptr<BatchBuilder> spare_builder();
  [[nodiscard]] Result<void> wait_for_sync();
  void begin_sync(std::function<Result<void>()> then);

  AppenderCache appenders_;
  std::vector<Topic> topics_;
  std::vector<std::unique_ptr<BatchBuilder>> spare_;
  std::map<std::pair<Codec, int>, Compressor> compressors_;
  std::map<Appender*, std::shared_ptr<Appender>> dirty_;  ///< appended to and not synced
  std::size_t open_bytes_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t appended_ = 0;
  std::int64_t unsynced_bytes_ = 0;
  std::optional<Error> failed_;  ///< a batch is lost: nothing is to be appended behind it

  std::mutex mutex_;  ///< guards the three below
  std::condition_variable done_;
  bool syncing_ = false;
  std::optional<Error> error_;
  Worker worker_;  ///< last: it is done before the others go
};

}  // namespace spool
