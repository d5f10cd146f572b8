#include "replay_writer.h"

#include <algorithm>

#include <fmt/format.h>

#include "batcher.h"

namespace spool {

namespace {

/// Open batches of all partitions together.
constexpr std::size_t kOpenBytesMax = std::size_t{8} << 20;
constexpr std::size_t kSpareBuilders = 8;
/// What is not synced when a sync is waited for.
constexpr std::int64_t kUnsyncedBytesMax = std::int64_t{64} << 20;
/// Length fields, deltas and the batch header around one record.
constexpr std::size_t kRecordOverhead = 96;
constexpr std::size_t kHeaderOverhead = 10;

std::size_t size_of(const OutgoingRecord& record) {
  std::size_t bytes =
      (record.key ? record.key->size() : 0) + (record.value ? record.value->size() : 0);
  for (const HeaderView& h : record.headers)
    bytes += h.name.size() + (h.value ? h.value->size() : 0) + kHeaderOverhead;
  return bytes + kRecordOverhead;
}

}  // namespace

ReplayWriter::ReplayWriter(Store& store) : appenders_(store) {}
ReplayWriter::~ReplayWriter() = default;

std::size_t ReplayWriter::add_topic(TopicInfo info) {
  Topic& t = topics_.emplace_back();
  t.batch_bytes = Batcher::kBatchBytesDefault;
  if (const auto limit = info.config.max_message_bytes()) {
    t.batch_bytes_max = static_cast<std::size_t>(*limit);
    t.batch_bytes = std::min(t.batch_bytes, t.batch_bytes_max / 2 + 1);
  }
  t.codec = info.config.compression_type();
  t.info = std::move(info);
  return topics_.size() - 1;
}

Result<void> ReplayWriter::replace_topic(std::size_t number, TopicInfo topic) {
  TRY(sync_now({}));
  TRY(appenders_.close_all());
  topics_[number].info = std::move(topic);
  return {};
}

std::unique_ptr<BatchBuilder> ReplayWriter::spare_builder() {
  if (spare_.empty()) return std::make_unique<BatchBuilder>();
  auto builder = std::move(spare_.back());
  spare_.pop_back();
  return builder;
}

Result<void> ReplayWriter::add(std::size_t number, PartitionId partition,
                               const OutgoingRecord& record) {
  Topic& topic = topics_[number];
  const std::size_t bytes = size_of(record);
  if (bytes > topic.batch_bytes_max)
    return fail(
        Errc::kTooLarge,
        fmt::format("a record of {} bytes does not fit into max.message.bytes of topic '{}'",
                    bytes - kRecordOverhead, topic.info.name));
  Slot& slot = topic.slots[partition];
  const std::size_t most = std::min(topic.batch_bytes_max, 2 * topic.batch_bytes);
  const Codec codec = topic.codec.value_or(record.codec);
  if (slot.builder && (slot.producer_id != record.producer_id || slot.codec != codec ||
                       slot.builder->size() + bytes > most))
    TRY(append(number, partition, slot));
  if (!slot.builder) {
    slot.builder = spare_builder();
    slot.producer_id = record.producer_id;
    slot.codec = codec;
  }
  const std::size_t before = slot.builder->size();
  slot.builder->add(record.timestamp, record.key, record.value, record.headers);
  slot.last_source = record.source_offset;
  open_bytes_ += slot.builder->size() - before;
  if (slot.builder->size() >= topic.batch_bytes) return append(number, partition, slot);
  if (open_bytes_ > kOpenBytesMax) return flush();
  return {};
}

Result<void> ReplayWriter::flush() {
  if (failed_) return fail(*failed_);
  if (open_bytes_ == 0) return {};
  for (std::size_t number = 0; number < topics_.size(); ++number)
    for (auto& [partition, slot] : topics_[number].slots)
      if (slot.builder) TRY(append(number, partition, slot));
  open_bytes_ = 0;
  return {};
}

Result<Compressor*> ReplayWriter::compressor(const Topic& topic, Codec codec) {
  if (codec == Codec::kNone) return static_cast<Compressor*>(nullptr);
  const int level = topic.info.config.compression_level(codec);
  const auto key = std::pair(codec, level);
  const auto found = compressors_.find(key);
  if (found != compressors_.end()) return &found->second;
  return &compressors_.try_emplace(key, codec, level).first->second;
}

Result<void> ReplayWriter::append(std::size_t number, PartitionId partition, Slot& slot) {
  if (failed_) return fail(*failed_);
  auto done = append_open(number, partition, slot);
  if (!done) failed_ = done.error();
  return done;
}

Result<void> ReplayWriter::append_open(std::size_t number, PartitionId partition, Slot& slot) {
  Topic& topic = topics_[number];
  auto builder = std::move(slot.builder);
  open_bytes_ -= std::min(open_bytes_, builder->size() - kBatchHeaderBytes);
  const std::int32_t count = builder->count();
  if (slot.producer_id >= 0)
    builder->set_producer(
        slot.producer_id, 0,
        static_cast<std::int32_t>((slot.last_source.value() - (count - 1)) & INT32_MAX));
  TRY_ASSIGN(Compressor* const how, compressor(topic, slot.codec));
  TRY_ASSIGN(const MutableBytes sealed, builder->seal(slot.codec, how));
  TRY_ASSIGN(auto to, appender(number, partition));
  TRY_ASSIGN(const Appender::Appended at, to->append(sealed));
  note_appended(std::move(to), static_cast<std::int64_t>(sealed.size()));
  appended_ += count;
  if (on_appended) on_appended(number, partition, at.last + 1, count);
  builder->reset();
  builder->shrink(4 * Batcher::kBatchBytesDefault);
  if (spare_.size() < kSpareBuilders) spare_.push_back(std::move(builder));
  return {};
}

Result<std::shared_ptr<Appender>> ReplayWriter::appender(std::size_t number,
                                                         PartitionId partition) {
  const TopicInfo& info = topics_[number].info;
  TRY_ASSIGN(auto found, appenders_.get(info, partition));
  if (found) return found;
  TRY(sync_now({}));  // all are in use: what is synced is let go
  return appenders_.get(info, partition);
}

void ReplayWriter::note_appended(std::shared_ptr<Appender> appender, std::int64_t bytes) {
  bytes_ += bytes;
  unsynced_bytes_ += bytes;
  Appender* const key = appender.get();
  dirty_.try_emplace(key, std::move(appender));
}

bool ReplayWriter::may_sync() {
  if (unsynced_bytes_ > kUnsyncedBytesMax) return true;
  const std::lock_guard guard(mutex_);
  return !syncing_;
}

void ReplayWriter::begin_sync(std::function<Result<void>()> then) {
  std::vector<std::shared_ptr<Appender>> all;
  for (auto& [key, appender] : std::exchange(dirty_, {}))
    all.push_back(std::move(appender));
  unsynced_bytes_ = 0;
  {
    const std::lock_guard guard(mutex_);
    syncing_ = true;
  }
  if (failed_) then = {};
  worker_.run([this, all = std::move(all), then = std::move(then)] {
    Result<void> done;
    for (const auto& appender : all)
      if (done) done = appender->sync();
    if (done && then) done = then();
    const std::lock_guard guard(mutex_);
    syncing_ = false;
    if (!done && !error_) error_ = done.error();
    done_.notify_one();
  });
}

Result<void> ReplayWriter::wait_for_sync() {
  std::unique_lock guard(mutex_);
  done_.wait(guard, [&] { return !syncing_; });
  if (error_) return fail(*error_);
  return {};
}

Result<void> ReplayWriter::sync_beside(std::function<Result<void>()> then) {
  TRY(wait_for_sync());
  begin_sync(std::move(then));
  return {};
}

Result<void> ReplayWriter::sync_now(std::function<Result<void>()> then) {
  TRY(wait_for_sync());
  begin_sync(std::move(then));
  return wait_for_sync();
}

}  // namespace spool
