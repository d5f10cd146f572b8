#include "batcher.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <set>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"
#include "signals.h"

namespace spool {

namespace {

/// Batches that wait for the appender; enough for the time that a new partition takes, little
/// enough to stay in the caches.
constexpr std::size_t kQueuedBytesMax = std::size_t{2} << 20;
/// Open batches of all partitions together.
constexpr std::size_t kOpenBytesMax = std::size_t{8} << 20;
/// A record above this goes through alone: its memory is there twice, and not more often.
constexpr std::size_t kLargeRecord = std::size_t{1} << 20;
/// Without reports nobody waits for a sync before the input pauses; this bounds what the last one
/// has to do.
constexpr std::size_t kUnsyncedBytesMax = std::size_t{32} << 20;
/// Of what waits to be reported.
constexpr std::size_t kKeptBytesMax = std::size_t{4} << 20;
constexpr std::size_t kSpareBuilders = 6;
/// A disk that answers late is waited for so long after a signal; other processes and readers, see
/// signal_overdue(), are given up before.
constexpr std::int64_t kDiskGraceMs = 5000;
constexpr std::int64_t kTickMs = 50;
/// Lengths and deltas of a record without headers.
constexpr std::size_t kRecordOverheadMax = 36;

}  // namespace

class Batcher::Topic {
 public:
  Topic(TopicInfo topic, TopicOptions topic_options, std::size_t wanted_batch_bytes)
      : info(std::move(topic)), options(std::move(topic_options)) {
    batch_limit = std::min(options.batch_bytes_max, 2 * wanted_batch_bytes);
    batch_bytes = std::min(wanted_batch_bytes, options.batch_bytes_max / 2 + 1);
    lanes.resize(static_cast<std::size_t>(info.partitions.back().value()) + 1);
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      lanes[i].topic = this;
      lanes[i].partition = PartitionId(static_cast<std::int32_t>(i));
    }
  }
  [[nodiscard]] Lane& lane(PartitionId id) { return lanes[static_cast<std::size_t>(id.value())]; }
  /// The longest piece that a batch takes beside others.
  [[nodiscard]] std::size_t piece_limit() const {
    return batch_limit > batch_bytes + kRecordOverheadMax
               ? batch_limit - batch_bytes - kRecordOverheadMax
               : 0;
  }

  const TopicInfo info;
  const TopicOptions options;
  std::size_t batch_bytes = 0;  ///< a batch is sent when it has so many
  std::size_t batch_limit = 0;  ///< and takes no record that brings it above this
  std::vector<Lane> lanes;      ///< by number; never resized, others point to them
  std::int64_t added = 0;
  std::int64_t acknowledged = 0;  ///< guarded by mutex_
};

Batcher::Batcher(AppenderCache& appenders, Options options)
    : appenders_(appenders), options_(std::move(options)) {
  wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd_ < 0) error_ = system_error(errno, "cannot make an event descriptor");
  append_thread_ = std::thread([this] { append_loop(); });
  sync_thread_ = std::thread([this] { sync_loop(); });
}

Batcher::~Batcher() {
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
    to_append_.clear();
  }
  work_.notify_one();
  stored_.notify_one();
  if (append_thread_.joinable()) append_thread_.join();
  if (sync_thread_.joinable()) sync_thread_.join();
  if (wake_fd_ >= 0) ::close(wake_fd_);
}

Batcher::Topic& Batcher::add_topic(TopicInfo info, TopicOptions options) {
  return *topics_.emplace_back(
      std::make_unique<Topic>(std::move(info), std::move(options), options_.batch_bytes));
}

std::int64_t Batcher::added(const Topic& topic) {
  return topic.added;
}

void Batcher::open(Topic& topic, PartitionId partition) {
  {
    const std::lock_guard guard(mutex_);
    to_open_.push_back(&topic.lane(partition));
  }
  work_.notify_one();
}

std::unique_ptr<BatchBuilder> Batcher::spare_builder() {
  {
    const std::lock_guard guard(mutex_);
    if (!spare_.empty()) {
      auto builder = std::move(spare_.back());
      spare_.pop_back();
      return builder;
    }
  }
  return std::make_unique<BatchBuilder>();
}

/// Sees that the open batch of the lane can take a record of `bytes`.
bool Batcher::make_room(Lane& lane, std::size_t bytes) {
  if (lane.builder && !lane.builder->empty() &&
      lane.builder->size() + bytes + kRecordOverheadMax > lane.topic->batch_limit)
    if (!send(lane)) return false;
  if (bytes > kLargeRecord) {
    if (!send_all()) return false;
    drain();
  }
  if (!lane.builder) lane.builder = spare_builder();
  if (!std::exchange(lane.listed, true)) open_.push_back(&lane);
  return true;
}

std::optional<BatchBuilder::Taken> Batcher::add_delimited(Topic& topic, PartitionId partition,
                                                          TimestampMs timestamp,
                                                          std::string_view text, char delimiter,
                                                          std::size_t piece_max) {
  Lane& lane = topic.lane(partition);
  if (!make_room(lane, 0)) return std::nullopt;
  const std::size_t before = lane.builder->size();
  // Large pieces take the careful way, which keeps memory in bounds.
  const auto taken = lane.builder->add_delimited(
      timestamp, text, delimiter, std::min(piece_max, topic.piece_limit()),
      options_.fsync == Fsync::kRecord ? before + 1 : topic.batch_bytes);
  if (taken.records > 0 && !take_in(lane, before, taken.records)) return std::nullopt;
  return taken;
}

bool Batcher::add(Topic& topic, PartitionId partition, TimestampMs timestamp,
                  std::optional<std::string_view> key, std::optional<std::string_view> value,
                  std::span<const HeaderView> headers) {
  Lane& lane = topic.lane(partition);
  std::size_t bytes = (key ? key->size() : 0) + (value ? value->size() : 0);
  for (const HeaderView& h : headers)
    bytes += h.name.size() + (h.value ? h.value->size() : 0);
  if (!make_room(lane, bytes)) return false;
  const std::size_t before = lane.builder->size();
  lane.builder->add(timestamp, key, value, headers);
  return take_in(lane, before, 1);
}

/// What every added record goes through: counted, and sent when there is enough.
bool Batcher::take_in(Lane& lane, std::size_t before, std::int32_t records) {
  added_ += records;
  lane.topic->added += records;
  open_records_ += records;
  open_bytes_ += lane.builder->size() - before;
  if (options_.report) {
    if (runs_.empty() || runs_.back().lane != &lane) runs_.push_back({&lane, 0});
    runs_.back().count += records;
  }
  if (options_.fsync == Fsync::kRecord || lane.builder->size() >= lane.topic->batch_bytes) {
    if (!send(lane)) return false;
  } else if (open_bytes_ > kOpenBytesMax && !send_all()) {
    return false;
  }
  return !options_.report || wait_for_reports();
}

/// Batches are kept for their reports: where those are taken slowly, the input waits.
bool Batcher::wait_for_reports() {
  {
    const std::lock_guard guard(mutex_);
    if (kept_bytes_ <= kKeptBytesMax) return true;
  }
  // Reports come in the order of the input: what is still open may hold the others up.
  if (!send_all()) return false;
  std::unique_lock guard(mutex_);
  hurry_ = true;
  work_.notify_one();
  stored_.notify_one();
  return wait_for_room(guard, [&] { return error_ || kept_bytes_ <= kKeptBytesMax; }) && !error_;
}

/// Hands the open batch of a lane to the appender, when that has taken enough of what it was handed
/// before.
bool Batcher::send(Lane& lane) {
  if (!lane.builder || lane.builder->empty()) return true;
  Batch batch;
  batch.lane = &lane;
  batch.builder = std::move(lane.builder);
  batch.bytes = batch.builder->size();
  batch.count = batch.builder->count();
  batch.runs = std::move(runs_);
  runs_.clear();
  open_records_ -= batch.count;
  open_bytes_ -= std::min(open_bytes_, batch.bytes);
  batch_done_ = true;
  std::unique_lock guard(mutex_);
  if (queued_bytes_ > batch.bytes && lane.topic->options.codec == Codec::kNone) {
    // The appender has enough to do, and a checksum is work that this thread can take over.
    guard.unlock();
    const auto sealed = batch.builder->seal(Codec::kNone, nullptr);
    CHECK(sealed.has_value());
    batch.sealed = *sealed;
    guard.lock();
  }
  if (queued_bytes_ > 0 && queued_bytes_ + batch.bytes > kQueuedBytesMax) work_.notify_one();
  const bool room = wait_for_room(guard, [&] {
    return error_ || queued_bytes_ == 0 || queued_bytes_ + batch.bytes <= kQueuedBytesMax;
  });
  if (!room || error_) return false;
  queued_bytes_ += batch.bytes;
  hurry_ = input_waits_ = false;
  to_append_.push_back(std::move(batch));
  // While the input flows the appender is woken for two batches at once: half as many wake-ups.
  // What pauses is sent by flush_if_idle() and finish(), which wake it whatever there is.
  const bool enough = queued_bytes_ > lane.topic->batch_bytes || options_.report ||
                      options_.fsync == Fsync::kRecord;
  guard.unlock();
  if (enough) work_.notify_one();
  return true;
}

bool Batcher::send_all() {
  for (Lane* lane : open_) {
    lane->listed = false;
    if (!send(*lane)) return false;
  }
  open_.clear();
  open_bytes_ = 0;
  return true;
}

/// Waits until nothing is on its way to the log.
void Batcher::drain() {
  std::unique_lock guard(mutex_);
  work_.notify_one();
  (void)wait_for_room(guard, [&] { return error_ || queued_bytes_ == 0; });
}

bool Batcher::wait_for_room(std::unique_lock<std::mutex>& guard, auto done) {
  while (!done()) {
    if (ms_since_signal() >= kDiskGraceMs) return false;
    room_.wait_for(guard, std::chrono::milliseconds(kTickMs));  // a signal wakes nobody
  }
  return true;
}

bool Batcher::flush_if_idle() {
  {
    const std::lock_guard guard(mutex_);
    input_waits_ = true;
    if (!error_ && (appending_ || !to_append_.empty())) {
      work_.notify_one();
      return false;
    }
  }
  (void)send_all();  // a failure is finish()'s to tell
  {
    const std::lock_guard guard(mutex_);
    hurry_ = true;
  }
  work_.notify_one();
  stored_.notify_one();
  return true;
}

void Batcher::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(wake_fd_, &one, sizeof one);
}

void Batcher::clear_wake() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(wake_fd_, &count, sizeof count);
}

bool Batcher::failed() {
  const std::lock_guard guard(mutex_);
  return error_.has_value();
}

std::int64_t Batcher::acknowledged(const Topic& topic) {
  const std::lock_guard guard(mutex_);
  return topic.acknowledged;
}

void Batcher::fail_with(const Error& error) {
  {
    const std::lock_guard guard(mutex_);
    if (!error_) error_ = error;
    to_append_.clear();
    queued_bytes_ = 0;
  }
  room_.notify_all();
  stored_.notify_one();
  synced_.notify_one();
  wake();
}

void Batcher::recycle(std::unique_ptr<BatchBuilder> builder) {
  builder->reset();
  builder->shrink(4 * options_.batch_bytes);
  const std::lock_guard guard(mutex_);
  if (spare_.size() < kSpareBuilders) spare_.push_back(std::move(builder));
}

/// Where all appenders that may be open have something to sync, that is done first.
Result<std::shared_ptr<Appender>> Batcher::appender_of(const Lane& lane) {
  for (;;) {
    TRY_ASSIGN(auto appender, appenders_.get(lane.topic->info, lane.partition));
    if (appender) return appender;
    std::unique_lock guard(mutex_);
    if (to_sync_.empty() && !syncing_) continue;  // they were let go in between
    sync_now_ = true;
    stored_.notify_one();
    synced_.wait(guard, [&] { return error_ || !sync_now_; });
    if (error_) return fail(*error_);
  }
}

/// Topics of one codec and level share a compressor: some take megabytes.
Compressor* Batcher::compressor_of(const Topic& topic) {
  const TopicOptions& o = topic.options;
  if (o.codec == Codec::kNone) return nullptr;
  return &compressors_.try_emplace({o.codec, o.level}, o.codec, o.level).first->second;
}

/// The next batches, all for one partition. Those that need no work before they can be written go
/// together: locks and looks at the file are for all of them. Needs mutex_.
std::vector<Batcher::Batch> Batcher::take_run() {
  std::vector<Batch> run;
  const auto take = [&] {
    run.push_back(std::move(to_append_.front()));
    to_append_.pop_front();
  };
  take();
  const Lane* const lane = run.front().lane;
  if (options_.fsync == Fsync::kRecord || lane->topic->options.codec != Codec::kNone) return run;
  while (!to_append_.empty() && to_append_.front().lane == lane)
    take();
  return run;
}

Result<void> Batcher::append_run(std::vector<Batch>& run) {
  const Lane& lane = *run.front().lane;
  std::vector<MutableBytes> sealed;
  for (Batch& batch : run) {
    if (batch.sealed.empty()) {
      TRY_ASSIGN(batch.sealed,
                 batch.builder->seal(lane.topic->options.codec, compressor_of(*lane.topic)));
    }
    sealed.push_back(batch.sealed);
  }
  TRY_ASSIGN(const auto appender, appender_of(lane));
  auto next = run.begin();
  const auto done = appender->append_all(sealed, [&](const Appender::Appended&) {
    next->appender = appender;
    if (options_.fsync != Fsync::kRecord) appended(std::move(*next++));
  });
  if (!done || options_.fsync != Fsync::kRecord) return done;
  TRY(appender->sync());
  appended(std::move(*next));
  return {};
}

/// What follows when a batch is written.
void Batcher::appended(Batch batch) {
  batch.stored = BatchHeader::decode(batch.sealed.data());
  if (!options_.report_contents) recycle(std::move(batch.builder));
  const std::lock_guard guard(mutex_);
  queued_bytes_ -= std::min(queued_bytes_, batch.bytes);
  unsynced_bytes_ += batch.bytes;
  if (options_.report) {
    batch.kept = sizeof(Batch) + batch.runs.size() * sizeof(Run);
    if (options_.report_contents) batch.kept += batch.bytes;
    kept_bytes_ += batch.kept;
  }
  if (options_.report || options_.fsync == Fsync::kBatch) {
    to_sync_.push_back(std::move(batch));
  } else {
    batch.lane->topic->acknowledged += batch.count;  // nothing to sync and nobody to tell
  }
  if (queued_bytes_ <= kQueuedBytesMax / 2) room_.notify_one();
  if (sync_wanted()) stored_.notify_one();
}

Result<void> Batcher::open_now(const Lane& lane) {
  TRY_ASSIGN(const auto appender, appender_of(lane));
  return appender->open();
}

void Batcher::append_loop() {
  const NudgedThread nudged;  // a lock is not waited for for ever after a signal
  for (;;) {
    std::vector<Batch> run;
    {
      std::unique_lock guard(mutex_);
      work_.wait(guard, [&] { return stop_ || !to_open_.empty() || !to_append_.empty(); });
      if (!to_open_.empty()) {
        const Lane& lane = *to_open_.front();
        to_open_.pop_front();
        guard.unlock();
        if (const auto opened = open_now(lane); !opened) fail_with(opened.error());
        continue;
      }
      if (to_append_.empty()) break;
      run = take_run();
      appending_ = true;
    }
    if (const auto done = append_run(run); !done) fail_with(done.error());
    run.clear();
    const std::lock_guard guard(mutex_);
    appending_ = false;
    if (sync_wanted()) stored_.notify_one();
    if (to_append_.empty() && input_waits_) wake();
  }
  const std::lock_guard guard(mutex_);
  append_done_ = true;
  stored_.notify_one();
}

/// Needs mutex_.
bool Batcher::sync_wanted() const {
  if (to_sync_.empty()) return false;
  return sync_now_ || options_.report || options_.fsync != Fsync::kBatch || append_done_ ||
         unsynced_bytes_ > kUnsyncedBytesMax || (hurry_ && !appending_ && to_append_.empty());
}

/// Syncs what the batches are in, and lets their appenders go.
Result<void> Batcher::sync_all(std::vector<Batch>& batches) {
  std::set<std::shared_ptr<Appender>> appenders;
  for (Batch& b : batches)
    appenders.insert(std::move(b.appender));
  if (options_.fsync != Fsync::kBatch) return {};
  for (const auto& a : appenders)
    TRY(a->sync());
  return {};
}

void Batcher::sync_loop() {
  const NudgedThread nudged;  // a reader of the reports that takes nothing is not waited for
  for (;;) {
    std::vector<Batch> batches;
    {
      std::unique_lock guard(mutex_);
      stored_.wait(guard, [&] { return sync_wanted() || append_done_; });
      if (to_sync_.empty()) break;
      batches.swap(to_sync_);
      unsynced_bytes_ = 0;
      syncing_ = true;
    }
    const auto synced = sync_all(batches);
    {
      const std::lock_guard guard(mutex_);
      syncing_ = sync_now_ = false;
      synced_.notify_one();
    }
    if (!synced) {
      fail_with(synced.error());
      continue;
    }
    acknowledge(std::move(batches));
  }
  const std::lock_guard guard(mutex_);
  sync_done_ = true;
  room_.notify_all();
}

void Batcher::acknowledge(std::vector<Batch> batches) {
  {
    const std::lock_guard guard(mutex_);
    for (const Batch& b : batches)
      b.lane->topic->acknowledged += b.count;
  }
  if (!options_.report) return;
  for (Batch& b : batches) {
    to_report_.insert(to_report_.end(), b.runs.begin(), b.runs.end());
    auto& batches_of_lane = b.lane->unreported.batches;
    batches_of_lane.push_back(std::move(b));
  }
  report();
}

/// Reports what is stored, as far as the order of the input allows.
void Batcher::report() {
  while (!to_report_.empty()) {
    Run& run = to_report_.front();
    const std::int64_t reported = report_some(run);
    run.count -= reported;
    if (run.count > 0) break;  // the rest is not stored yet
    to_report_.pop_front();
  }
  options_.on_stored(nullptr);
}

std::int64_t Batcher::report_some(const Run& run) {
  Unreported& u = run.lane->unreported;
  std::int64_t reported = 0;
  while (reported < run.count && !u.batches.empty()) {
    Batch& batch = u.batches.front();
    StoredRecord stored{run.lane->topic->info.name,
                        run.lane->partition,
                        nullptr,
                        batch.stored.base_offset + u.done_in_front,
                        static_cast<std::int16_t>(batch.stored.attributes),
                        batch.stored.leader_epoch};
    RecordView shown;
    if (options_.report_contents) {
      if (!u.records) u.records = batch.builder->records(batch.stored.base_offset);
      const RecordView* record = u.records->next();
      CHECK(record != nullptr);
      shown = *record;
      // What the builder has is the producer's time; readers get the one of appending.
      if (batch.stored.append_time()) shown.timestamp = batch.stored.max_timestamp;
      stored.record = &shown;
    }
    options_.on_stored(&stored);
    ++reported;
    if (++u.done_in_front < batch.count) continue;
    u.done_in_front = 0;
    u.records.reset();
    if (batch.builder) recycle(std::move(batch.builder));
    {
      const std::lock_guard guard(mutex_);
      kept_bytes_ -= batch.kept;
      room_.notify_one();
    }
    u.batches.pop_front();
  }
  return reported;
}

Result<void> Batcher::finish() {
  (void)send_all();  // when it fails, error_ is set
  std::unique_lock guard(mutex_);
  stop_ = true;
  hurry_ = true;
  work_.notify_one();
  stored_.notify_one();
  if (!wait_for_room(guard, [&] { return sync_done_; }))
    return fail(Errc::kTimeout, "the disk does not answer");
  guard.unlock();
  append_thread_.join();
  sync_thread_.join();
  if (error_) return fail(*error_);
  return {};
}

}  // namespace spool
