#pragma once
/// Records into batches, batches into partitions: building (the caller's thread), appending with
/// compression (one thread) and syncing with reports (one thread) go on side by side, each queue
/// bounded.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "appender_cache.h"
#include "record/builder.h"
#include "store/store.h"

namespace spool {

enum class Fsync : std::uint8_t {
  kNever,   ///< acknowledged when written
  kBatch,   ///< acknowledged when on disk; syncs are shared
  kRecord,  ///< each record on disk before the next one
};

/// A stored record, for the report.
struct StoredRecord {
  std::string_view topic;
  PartitionId partition;
  const RecordView* record = nullptr;  ///< set only when contents were asked for
  Offset offset;
  std::int16_t attributes = 0;  ///< of its batch, as stored
  Epoch leader_epoch{-1};
};

/// Of any number of topics. All calls are for one thread, that of the input. What was added in
/// order to one partition is stored in that order; reports come in the order of all adds.
class Batcher {
 public:
  struct Options {
    std::size_t batch_bytes = kBatchBytesDefault;  ///< a batch is sent when it has so many
    Fsync fsync = Fsync::kBatch;
    bool report = false;
    bool report_contents = false;  ///< reports get the record itself
    /// Called on the sync thread, for each stored record in input order, and with nullptr when
    /// there are no more for now.
    std::function<void(const StoredRecord*)> on_stored;
  };
  struct TopicOptions {
    Codec codec = Codec::kNone;
    std::optional<int> level;
    std::size_t batch_bytes_max = SIZE_MAX;  ///< no batch has more, but for a single record
  };
  static constexpr std::size_t kBatchBytesDefault = std::size_t{512} << 10;

  /// A topic that records are added to; as long as the Batcher.
  class Topic;

  Batcher(AppenderCache& appenders, Options options);
  ~Batcher();
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  [[nodiscard]] Topic& add_topic(TopicInfo info, TopicOptions options);

  /// Begins to open the partition, so that what is wrong with it is found before there is anything
  /// to store in it.
  void open(Topic& topic, PartitionId partition);

  /// Adds a record; waits when too much is under way. False when the pipeline has failed, or takes
  /// no end after a signal: finish() says why.
  [[nodiscard]] bool add(Topic& topic, PartitionId partition, TimestampMs timestamp,
                         std::optional<std::string_view> key, std::optional<std::string_view> value,
                         std::span<const HeaderView> headers);
  /// Adds the delimited pieces at the front of `text` that fit into one batch, as
  /// BatchBuilder::add_delimited does; nullopt when the pipeline has failed.
  [[nodiscard]] std::optional<BatchBuilder::Taken> add_delimited(
      Topic& topic, PartitionId partition, TimestampMs timestamp, std::string_view text,
      char delimiter, std::size_t piece_max);
  /// Whether the last add filled a batch: time for another sticky partition. Resets.
  [[nodiscard]] bool take_batch_done() { return std::exchange(batch_done_, false); }

  [[nodiscard]] bool has_open_records() const { return open_records_ > 0; }
  /// Sends what is open on its way if the appender has nothing else to do; false when it is busy:
  /// wake_fd() becomes readable when it is not.
  [[nodiscard]] bool flush_if_idle();
  /// Readable when the appender became idle, something failed, or wake() was called.
  [[nodiscard]] int wake_fd() const { return wake_fd_; }
  void clear_wake();
  /// From any thread.
  void wake();
  [[nodiscard]] bool failed();

  /// Stores and acknowledges all that was added, as --fsync says. The first error otherwise.
  /// Errc::kTimeout when a signal came and it takes no end: the process must end with _exit().
  [[nodiscard]] Result<void> finish();

  /// Of all topics.
  [[nodiscard]] std::int64_t added() const { return added_; }
  [[nodiscard]] static std::int64_t added(const Topic& topic);
  /// Records stored as --fsync says.
  [[nodiscard]] std::int64_t acknowledged(const Topic& topic);

 private:
  struct Lane;
  /// A run of records for one partition, in input order.
  struct Run {
    Lane* lane = nullptr;
    std::int64_t count = 0;
  };
  struct Batch {
    Lane* lane = nullptr;
    std::shared_ptr<Appender> appender;  ///< from appending to syncing
    std::unique_ptr<BatchBuilder> builder;
    MutableBytes sealed;  ///< of the builder; empty before it is compressed
    std::size_t bytes = 0;
    std::int32_t count = 0;
    std::size_t kept = 0;   ///< memory until it is reported
    BatchHeader stored;     ///< as it was appended
    std::vector<Run> runs;  ///< of the input since the batch before
  };
  /// Stored records of one partition that were not reported yet.
  struct Unreported {
    std::deque<Batch> batches;
    std::int64_t done_in_front = 0;
    std::optional<RecordIterator> records;
  };
  /// A partition of a topic.
  struct Lane {
    Topic* topic = nullptr;
    PartitionId partition;
    std::unique_ptr<BatchBuilder> builder;  ///< the open batch, or none
    bool listed = false;                    ///< in open_
    Unreported unreported;                  ///< the sync thread's own
  };

  [[nodiscard]] std::unique_ptr<BatchBuilder> spare_builder();
  [[nodiscard]] bool make_room(Lane& lane, std::size_t bytes);
  [[nodiscard]] bool take_in(Lane& lane, std::size_t before, std::int32_t records);
  [[nodiscard]] bool send(Lane& lane);
  [[nodiscard]] bool send_all();
  [[nodiscard]] bool wait_for_reports();
  void drain();
  /// Waits for `done` on room_; false when it takes no end after a signal. Needs mutex_.
  [[nodiscard]] bool wait_for_room(std::unique_lock<std::mutex>& guard, auto done);
  [[nodiscard]] Result<std::shared_ptr<Appender>> appender_of(const Lane& lane);
  void append_loop();
  void sync_loop();
  [[nodiscard]] Result<void> open_now(const Lane& lane);
  [[nodiscard]] Compressor* compressor_of(const Topic& topic);
  [[nodiscard]] std::vector<Batch> take_run();
  [[nodiscard]] Result<void> append_run(std::vector<Batch>& run);
  void appended(Batch batch);
  [[nodiscard]] Result<void> sync_all(std::vector<Batch>& batches);
  void acknowledge(std::vector<Batch> batches);
  void report();
  [[nodiscard]] std::int64_t report_some(const Run& run);
  void fail_with(const Error& error);
  [[nodiscard]] bool sync_wanted() const;
  void recycle(std::unique_ptr<BatchBuilder> builder);

  AppenderCache& appenders_;
  const Options options_;
  std::vector<std::unique_ptr<Topic>> topics_;
  std::vector<Lane*> open_;  ///< those that may have an open batch
  std::vector<Run> runs_;
  std::int64_t added_ = 0;
  std::int64_t open_records_ = 0;
  std::size_t open_bytes_ = 0;
  bool batch_done_ = false;
  int wake_fd_ = -1;

  std::mutex mutex_;              ///< guards all below
  std::condition_variable work_;  ///< for the append thread: a batch, or stop
  std::condition_variable
      stored_;  ///< for the sync thread: something to sync or to report, or stop
  std::condition_variable synced_;  ///< for the append thread: appenders were let go
  std::condition_variable room_;  ///< for the input's thread: room in the queue, an error, the end
  std::deque<const Lane*> to_open_;
  std::deque<Batch> to_append_;
  std::size_t queued_bytes_ = 0;  ///< of to_append_ and of what is being appended
  std::vector<Batch> to_sync_;
  std::vector<std::unique_ptr<BatchBuilder>> spare_;
  bool appending_ = false;
  bool stop_ = false;
  bool append_done_ = false;
  bool sync_done_ = false;
  bool hurry_ = false;     ///< the input pauses or has ended: sync what is appended
  bool sync_now_ = false;  ///< the append thread waits for appenders to be let go
  bool syncing_ = false;
  bool input_waits_ = false;  ///< wants to be woken when the append thread is idle
  std::size_t kept_bytes_ = 0;
  std::size_t unsynced_bytes_ = 0;
  std::optional<Error> error_;

  // The sync thread's own.
  std::deque<Run> to_report_;

  // The append thread's own.
  std::map<std::pair<Codec, std::optional<int>>, Compressor> compressors_;

  std::thread append_thread_;
  std::thread sync_thread_;
};

}  // namespace spool
