#include <algorithm>
#include <cerrno>
#include <csignal>
#include <limits>
#include <list>
#include <poll.h>
#include <queue>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include "commands.h"
#include "consume_options.h"
#include "context.h"
#include "io/watch.h"
#include "log/lookup.h"
#include "log/record_stream.h"
#include "output.h"
#include "printer.h"
#include "progress.h"
#include "worker.h"

namespace spool {

namespace {

/// Partitions are read in turns of about this many bytes.
constexpr std::int64_t kTurnBytes = std::int64_t{1} << 20;
constexpr std::size_t kChunk = std::size_t{1} << 18;
/// Read-ahead of all partitions together, and the least for each.
constexpr std::size_t kChunksTogether = std::size_t{8} << 20;
constexpr std::size_t kChunkMin = std::size_t{8} << 10;
/// With more partitions than this, each gives its file and memory back between its turns.
constexpr std::size_t kOpenLanesMax = 32;
/// With more partitions than this nothing is read ahead: it takes three chunks for each.
constexpr std::size_t kReadAheadLanesMax = 4;
constexpr std::size_t kLargeValue = std::size_t{1} << 20;
constexpr int kPollMs = 50;    ///< between looks where nothing tells of changes
constexpr int kRetryMs = 250;  ///< between looks for a topic that is not there
constexpr int kRootToken = -1;

bool writes_file() {
  struct stat st{};
  return ::fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode);
}

constexpr Offset kNoLimit{std::numeric_limits<std::int64_t>::max()};

/// One partition that is read.
struct Lane {
  std::string topic;
  PartitionPlace place;
  PartitionView view;
  Offset start;
  Offset end = kNoLimit;    ///< exclusive; of the data as it was at the start, unless followed
  Offset until = kNoLimit;  ///< exclusive; asked for
  std::optional<TimestampMs> until_time;  ///< the first record at or after it ends the lane
  std::optional<RecordStream> stream;
  Offset stable;  ///< last stable offset, as far as known
  bool dirty = true;
  bool watched = false;
  bool finished = false;
  bool told_open = false;

  [[nodiscard]] Offset limit() const { return std::min(end, until); }
};

class Consumer {
 public:
  Consumer(Store& store, const ConsumeOptions& options, const Common& common, Printer printer,
           const Args& args)
      : store_(store),
        options_(options),
        common_(common),
        printer_(std::move(printer)),
        plain_(printer_.plain()),
        output_(::isatty(STDOUT_FILENO) == 1 && !options.raw),
        watcher_(options.follow && !store.shared_host_fs()),
        progress_(args, !options.follow && writes_file()) {}
  ~Consumer() {
    if (pid_fd_ >= 0) ::close(pid_fd_);
  }
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  int run();

 private:
  enum class Flow { kOn, kStop };

  [[nodiscard]] Result<void> work();
  [[nodiscard]] Result<void> add_topic(const std::string& name);
  [[nodiscard]] Result<void> add_lane(const TopicInfo& topic, PartitionId partition, bool late);
  [[nodiscard]] Result<void> set_span(Lane& lane, bool late);
  [[nodiscard]] Result<Offset> resolve(const Lane& lane, const Bound& bound, Offset end);
  [[nodiscard]] Result<Flow> print_newest(const std::string& topic);
  [[nodiscard]] Result<Flow> print_from_nth(const std::string& topic);
  [[nodiscard]] Result<bool> advance(Lane& lane);
  [[nodiscard]] Result<Flow> read_turn(Lane& lane, bool& progress);
  [[nodiscard]] Result<Flow> read_all_turns(bool& progress);
  [[nodiscard]] Result<Flow> follow();
  [[nodiscard]] Result<Flow> wait();
  [[nodiscard]] Result<Flow> on_deleted(Lane& lane, const Error& error);
  [[nodiscard]] Result<void> look_for_topics();
  [[nodiscard]] RecordStream::Options stream_options(std::size_t lanes) {
    return {options_.read_committed, options_.control,
            std::clamp(kChunksTogether / std::max<std::size_t>(lanes, 1), kChunkMin, kChunk),
            lanes <= kReadAheadLanesMax ? &reader_ : nullptr};
  }
  void watch(Lane& lane, std::size_t index);
  void after_wake();
  [[nodiscard]] bool pid_gone() const;
  [[nodiscard]] bool print(Lane& lane);
  [[nodiscard]] bool print_batch(Lane& lane);
  [[nodiscard]] bool full() const { return options_.count && printed_ >= *options_.count; }
  void tell(const std::string& text) const {
    if (!common_.quiet) say(text);
  }
  [[nodiscard]] int finish(const Result<void>& done);

  Store& store_;
  const ConsumeOptions& options_;
  const Common& common_;
  Printer printer_;
  const bool plain_;
  Output output_;
  Worker reader_;
  Watcher watcher_;
  Progress progress_;
  std::list<Lane> lanes_;  ///< addresses stay: streams borrow the places
  std::vector<std::string> missing_;
  std::int64_t printed_ = 0;
  std::int64_t damages_ = 0;
  std::int64_t last_progress_ms_ = 0;
  std::int64_t next_look_ms_ = 0;
  int pid_fd_ = -1;
  bool root_watched_ = false;
  bool look_again_ = false;
  bool pid_was_gone_ = false;
  bool timed_out_ = false;
};

Result<void> Consumer::add_topic(const std::string& name) {
  auto topic = store_.find_topic(name);
  if (!topic && topic.error().code == Errc::kNotFound && options_.retry) {
    missing_.push_back(name);
    return {};
  }
  if (!topic) return fail(topic.error());
  if (options_.partitions) {
    for (const PartitionId p : *options_.partitions) {
      if (!std::binary_search(topic->partitions.begin(), topic->partitions.end(), p))
        return fail(Errc::kNotFound, fmt::format("topic '{}' has no partition {}; it has {}", name,
                                                 p.value(), topic->partitions.size()));
      TRY(add_lane(*topic, p, false));
    }
    return {};
  }
  for (const PartitionId p : topic->partitions)
    TRY(add_lane(*topic, p, false));
  return {};
}

/// `late`: it appeared while the topic was followed, and is read from its start.
Result<void> Consumer::add_lane(const TopicInfo& topic, PartitionId partition, bool late) {
  Lane& lane = lanes_.emplace_back();
  lane.topic = topic.name;
  lane.place = store_.place(topic, partition);
  watch(lane, lanes_.size() - 1);  // before the first look, so that nothing is missed between
  TRY_ASSIGN(lane.view, view_partition(store_.env(), lane.place));
  lane.stable = lane.view.log_end;
  lane.start = lane.view.log_start;
  TRY(set_span(lane, late));
  lane.stream.emplace(store_.env(), lane.place, lane.start,
                      stream_options(topic.partitions.size()));
  return {};
}

/// Where the lane starts and ends.
Result<void> Consumer::set_span(Lane& lane, bool late) {
  std::optional<Bound> from = options_.from;
  std::optional<Bound> until = options_.until;
  for (const OffsetSpec& spec : options_.for_partition) {
    if (*spec.partition != lane.place.partition) continue;
    from = spec.from;
    until = spec.until;
  }
  if (late) from.reset();
  Offset end = lane.view.log_end;
  // A start behind the log start, or an end that is counted from the end, needs to know what is
  // stable.
  const bool at_start = !from || from->kind == Bound::Kind::kStart;
  if (options_.read_committed && (!at_start || until || options_.tail)) {
    TRY_ASSIGN(end, last_stable_offset(store_.env(), lane.place, lane.view.log_start, end));
    lane.stable = end;
  }
  if (from) {
    TRY_ASSIGN(lane.start, resolve(lane, *from, end));
  }
  if (until) {
    TRY_ASSIGN(const Offset stop, resolve(lane, *until, end));
    if (options_.follow && until->kind == Bound::Kind::kTime && stop >= end) {
      lane.until_time = TimestampMs(until->value);  // it lies ahead
    } else {
      lane.until = stop;
    }
  }
  const Offset first = lane.view.log_start;
  if (lane.start < first) {
    tell(fmt::format("{}: offsets {} to {} are gone; reading starts at {}", lane.place.name(),
                     lane.start.value(), first.value() - 1, first.value()));
    lane.start = first;
  }
  if (lane.start > end && from && from->kind == Bound::Kind::kOffset) {
    tell(fmt::format("{}: offset {} is behind the end, which is {}", lane.place.name(),
                     lane.start.value(), end.value()));
    if (!options_.follow) lane.start = end;
  }
  if (!options_.follow) lane.end = end;
  return {};
}

Result<Offset> Consumer::resolve(const Lane& lane, const Bound& bound, Offset end) {
  const Offset first = lane.view.log_start;
  switch (bound.kind) {
    case Bound::Kind::kStart:
      return first;
    case Bound::Kind::kEnd:
      return end;
    case Bound::Kind::kOffset:
      return Offset(bound.value);
    case Bound::Kind::kFromStart:
      return bound.value < end - first ? first + bound.value : end;
    case Bound::Kind::kFromEnd:
      return bound.value < end - first ? end - bound.value : first;
    case Bound::Kind::kTime:
      return offset_for_time(store_.env(), lane.place, lane.view, TimestampMs(bound.value));
  }
  return first;
}

bool Consumer::print(Lane& lane) {
  const RecordView& record = lane.stream->record();
  if (!printer_.wants(record)) return true;
  const BatchHeader& batch = lane.stream->batch();
  RecordContext context;
  context.topic = lane.topic;
  context.partition = lane.place.partition.value();
  context.record = &record;
  context.leader_epoch = batch.leader_epoch.value();
  context.producer_id = batch.producer_id;
  context.producer_epoch = batch.producer_epoch;
  context.attributes = static_cast<std::int16_t>(batch.attributes);
  context.log_start = lane.view.log_start.value();
  context.last_stable = lane.stable.value();
  context.high_watermark = lane.view.log_end.value();
  context.number = ++printed_;
  if (record.value && record.value->size() > kLargeValue && printer_.value_as_it_stands() &&
      !output_.escapes()) {
    // A large value is written from where it stands.
    printer_.print_before_value(context, output_.text());
    if (!output_.write_through(*record.value)) return false;
    printer_.print_after_value(output_.text());
  } else {
    printer_.print(context, output_.text());
  }
  return options_.unbuffered ? output_.flush() : output_.flush_if_full();
}

/// The next record of a lane below its limit; false when there is none for now. Damage is said, and
/// passed over where that was asked for.
Result<bool> Consumer::advance(Lane& lane) {
  const Offset limit = lane.limit();
  for (;;) {
    if (lane.stream->position() >= limit) {
      lane.finished = true;
      return false;
    }
    auto step = lane.stream->next();
    if (const std::int64_t gone = lane.stream->take_gone(); gone > 0)
      tell(fmt::format("{}: {} records were deleted before they were read", lane.place.name(),
                       gone));
    if (!step) {
      if (step.error().code != Errc::kCorrupt || !options_.skip_damaged) return fail(step.error());
      say(step.error().message());
      ++damages_;
      lane.stream->skip_damage();
      continue;
    }
    if (*step == RecordStream::Step::kRecord) {
      const RecordView& record = lane.stream->record();
      if (record.offset >= limit || (lane.until_time && record.timestamp >= *lane.until_time)) {
        lane.finished = true;
        return false;
      }
      return true;
    }
    if (*step == RecordStream::Step::kUndecided) {
      if (!lane.told_open)
        tell(
            fmt::format("{}: a transaction is open from offset {} on; nothing behind it is shown{}",
                        lane.place.name(), lane.stream->position().value(),
                        options_.follow ? " until it ends" : ""));
      lane.told_open = true;
    }
    if (!options_.follow) lane.finished = true;
    return false;
  }
}

/// The rest of a batch, where records are printed as they are.
bool Consumer::print_batch(Lane& lane) {
  // A batch that may reach beyond what is wanted takes the careful way.
  if (lane.stream->batch().next_offset() > lane.limit() || lane.until_time || options_.unbuffered ||
      options_.count)
    return true;
  RecordIterator* records = lane.stream->rest_of_batch();
  if (records == nullptr) return true;
  std::string& out = output_.text();
  std::optional<std::string_view> value;
  while (records->next_value(value)) {
    if (value && value->size() > kLargeValue && !output_.escapes()) {
      if (!output_.write_through(*value)) return false;
      printer_.print_after_value(out);
    } else {
      printer_.print_plain(value, out);
    }
    ++printed_;
    if (out.size() >= Output::kFullBytes && !output_.flush()) return false;
  }
  return true;
}

Result<Consumer::Flow> Consumer::read_turn(Lane& lane, bool& progress) {
  const std::int64_t before = lane.stream->bytes();
  while (!full()) {
    TRY_ASSIGN(const bool got, advance(lane));
    if (!got) {
      lane.dirty = false;
      return Flow::kOn;
    }
    progress = true;
    if (!print(lane)) return Flow::kStop;
    if (plain_ && !print_batch(lane)) return Flow::kStop;
    if (lane.stream->bytes() - before >= kTurnBytes && lane.stream->between_batches()) break;
  }
  if (full() || pending_signal() != 0) return Flow::kStop;
  return Flow::kOn;
}

Result<Consumer::Flow> Consumer::read_all_turns(bool& progress) {
  progress = false;
  for (auto lane = lanes_.begin(); lane != lanes_.end();) {
    const auto here = lane++;
    if (here->finished || !here->dirty) continue;
    auto flow = read_turn(*here, progress);
    if (!flow && flow.error().code == Errc::kDeleted) {
      flow = on_deleted(*here, flow.error());
      if (flow && *flow == Flow::kOn) {  // its lanes are gone
        lane = lanes_.begin();
        continue;
      }
    }
    if (!flow || *flow == Flow::kStop) return flow;
    if (here->finished) {
      here->stream.reset();
    } else if (lanes_.size() > kOpenLanesMax) {
      here->stream->park();
    }
    progress_.update(output_.bytes(), 0, printed_);
    // Between turns what one partition gave is on its way, whatever the next one takes.
    if (output_.failed()) return Flow::kStop;
  }
  return Flow::kOn;
}

/// The newest `tail` records of a topic, in the order of time, and of offsets within a partition.
Result<Consumer::Flow> Consumer::print_newest(const std::string& topic) {
  NewestRecords newest(static_cast<std::size_t>(*options_.tail));
  std::vector<Lane*> lanes;
  for (Lane& lane : lanes_) {
    if (lane.topic != topic) continue;
    lanes.push_back(&lane);
    lane.end = lane.stable;
    TRY(find_newest(store_.env(), lane.place, lane.view, lane.stable, options_.read_committed,
                    newest));
  }
  std::vector<std::vector<RecordTime>> chosen(lanes.size());
  for (const RecordTime& r : newest.take()) {
    const auto lane = std::find_if(lanes.begin(), lanes.end(), [&](const Lane* l) {
      return l->place.partition == r.partition;
    });
    chosen[static_cast<std::size_t>(lane - lanes.begin())].push_back(r);
  }
  using Head = std::pair<RecordTime, std::size_t>;
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  std::vector<std::size_t> next(lanes.size(), 0);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    auto& mine = chosen[i];
    std::sort(mine.begin(), mine.end(),
              [](const RecordTime& a, const RecordTime& b) { return a.offset < b.offset; });
    Lane& lane = *lanes[i];
    if (mine.empty()) continue;
    heads.emplace(mine.front(), i);
    lane.stream.emplace(store_.env(), lane.place, mine.front().offset,
                        stream_options(lanes.size()));
  }
  while (!heads.empty() && !full()) {
    const auto [record, i] = heads.top();
    heads.pop();  // before the next head goes in, which may be older
    Lane& lane = *lanes[i];
    do {
      TRY_ASSIGN(const bool got, advance(lane));
      if (!got) break;
    } while (lane.stream->record().offset < record.offset);
    if (lane.stream->position() == record.offset + 1 && !print(lane)) return Flow::kStop;
    if (pending_signal() != 0) return Flow::kStop;
    if (++next[i] < chosen[i].size()) heads.emplace(chosen[i][next[i]], i);
  }
  for (Lane* lane : lanes) {
    lane->finished = !options_.follow;
    lane->start = lane->stable;
    lane->end = kNoLimit;
    lane->stream.emplace(store_.env(), lane->place, lane->start, stream_options(lanes.size()));
  }
  return full() ? Flow::kStop : Flow::kOn;
}

/// All but the first N-1 records, partitions merged by time.
Result<Consumer::Flow> Consumer::print_from_nth(const std::string& topic) {
  using Head = std::tuple<TimestampMs, PartitionId, Lane*>;
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  for (Lane& lane : lanes_) {
    if (lane.topic != topic) continue;
    lane.end = lane.view.log_end;
    TRY_ASSIGN(const bool got, advance(lane));
    if (got) heads.emplace(lane.stream->record().timestamp, lane.place.partition, &lane);
  }
  Flow flow = Flow::kOn;
  for (std::int64_t skip = *options_.from_nth - 1; !heads.empty();) {
    Lane& lane = *std::get<Lane*>(heads.top());
    heads.pop();
    if (skip > 0) {
      --skip;
    } else if (!print(lane)) {
      flow = Flow::kStop;
    }
    if (full() || pending_signal() != 0) flow = Flow::kStop;
    if (flow == Flow::kStop) return flow;
    TRY_ASSIGN(const bool got, advance(lane));
    if (got) heads.emplace(lane.stream->record().timestamp, lane.place.partition, &lane);
  }
  for (Lane& lane : lanes_) {
    if (lane.topic != topic) continue;
    lane.end = kNoLimit;
    lane.finished = !options_.follow;
  }
  return flow;
}

void Consumer::watch(Lane& lane, std::size_t index) {
  if (options_.follow) lane.watched = watcher_.add(lane.place.dir, static_cast<int>(index));
}

bool Consumer::pid_gone() const {
  if (!options_.pid) return false;
  if (pid_fd_ < 0) return ::kill(*options_.pid, 0) != 0 && errno == ESRCH;
  pollfd p{pid_fd_, POLLIN, 0};
  return ::poll(&p, 1, 0) > 0;
}

/// Marks what may have changed.
void Consumer::after_wake() {
  if (watcher_.fd() < 0) {
    for (Lane& lane : lanes_)
      lane.dirty = true;
    look_again_ = true;
    return;
  }
  bool all = false;
  const auto tokens = watcher_.drain(all);
  int index = 0;
  for (Lane& lane : lanes_) {
    if (all || !lane.watched || std::find(tokens.begin(), tokens.end(), index) != tokens.end())
      lane.dirty = true;
    ++index;
  }
  if (all || !root_watched_ || std::find(tokens.begin(), tokens.end(), kRootToken) != tokens.end())
    look_again_ = true;
}

/// Waits until something may have changed; stops on a signal, the time-out, the end of --pid, or
/// when nobody reads our output any more.
Result<Consumer::Flow> Consumer::wait() {
  const bool polling =
      watcher_.fd() < 0 ||
      std::any_of(
          lanes_.begin(), lanes_.end(), [](const Lane& l) { return !l.finished && !l.watched; });
  std::int64_t timeout = polling ? kPollMs : -1;
  if (!missing_.empty())
    timeout = timeout < 0 ? kRetryMs : std::min<std::int64_t>(timeout, kRetryMs);
  if (options_.pid && pid_fd_ < 0) timeout = kPollMs;
  if (common_.timeout_ms) {
    const std::int64_t left = last_progress_ms_ + *common_.timeout_ms - steady_ms();
    if (left <= 0) {
      timed_out_ = true;
      return Flow::kStop;
    }
    timeout = timeout < 0 ? left : std::min(timeout, left);
  }
  std::vector<pollfd> fds{{signal_fd(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
  if (watcher_.fd() >= 0) fds.push_back({watcher_.fd(), POLLIN, 0});
  if (pid_fd_ >= 0) fds.push_back({pid_fd_, POLLIN, 0});
  (void)::poll(fds.data(), fds.size(),
               static_cast<int>(std::min<std::int64_t>(timeout, INT32_MAX)));
  if (pending_signal() != 0) return Flow::kStop;
  if ((fds[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
    ::signal(SIGPIPE, SIG_DFL);
    die_of(SIGPIPE);
  }
  after_wake();
  return Flow::kOn;
}

/// With --retry a deleted topic may come back: its lanes go, and it is looked for.
Result<Consumer::Flow> Consumer::on_deleted(Lane& lane, const Error& error) {
  if (!options_.follow || !options_.retry) return fail(error);
  tell(error.message());
  const std::string topic = lane.topic;
  lanes_.remove_if([&](const Lane& l) { return l.topic == topic; });
  if (std::find(missing_.begin(), missing_.end(), topic) == missing_.end())
    missing_.push_back(topic);
  look_again_ = true;
  int index = 0;
  for (Lane& l : lanes_)
    l.watched = watcher_.add(l.place.dir, index++);
  return Flow::kOn;
}

/// Topics that were missing, and partitions that a followed topic got.
Result<void> Consumer::look_for_topics() {
  look_again_ = false;
  std::vector<std::string> still;
  for (const std::string& name : std::exchange(missing_, {})) {
    const auto topic = store_.find_topic(name);
    if (!topic && topic.error().code != Errc::kNotFound) return fail(topic.error());
    if (!topic) {
      still.push_back(name);
      continue;
    }
    for (const PartitionId p : topic->partitions)
      if (!options_.partitions ||
          std::binary_search(options_.partitions->begin(), options_.partitions->end(), p))
        TRY(add_lane(*topic, p, true));
  }
  missing_ = std::move(still);
  std::size_t index = 0;
  for (Lane& lane : lanes_) {
    if (!lane.watched) watch(lane, index);
    ++index;
  }
  if (options_.partitions) return {};
  for (const std::string& name : options_.topics) {
    std::vector<PartitionId> have;
    for (const Lane& lane : lanes_)
      if (lane.topic == name) have.push_back(lane.place.partition);
    if (have.empty()) continue;
    const auto topic = store_.find_topic(name);
    if (!topic) continue;  // its lanes will say so
    for (const PartitionId p : topic->partitions)
      if (std::find(have.begin(), have.end(), p) == have.end()) TRY(add_lane(*topic, p, true));
  }
  return {};
}

Result<Consumer::Flow> Consumer::follow() {
  for (;;) {
    bool progress = false;
    TRY_ASSIGN(const Flow flow, read_all_turns(progress));
    if (flow == Flow::kStop) return flow;
    if (progress) {
      last_progress_ms_ = steady_ms();
      if (std::any_of(lanes_.begin(), lanes_.end(),
                      [](const Lane& l) { return l.dirty && !l.finished; }))
        continue;
    }
    if (!output_.flush()) return Flow::kStop;
    const bool done = missing_.empty() && std::all_of(lanes_.begin(), lanes_.end(),
                                                      [](const Lane& l) { return l.finished; });
    if (!options_.follow || done || pid_was_gone_) return Flow::kStop;
    if (pid_gone()) {  // one more look: it may have written just before it ended
      pid_was_gone_ = true;
      for (Lane& lane : lanes_)
        lane.dirty = true;
      continue;
    }
    TRY_ASSIGN(const Flow waited, wait());
    if (waited == Flow::kStop) return waited;
    const std::int64_t now = steady_ms();
    if (look_again_ || (!missing_.empty() && now >= next_look_ms_)) {
      next_look_ms_ = now + kRetryMs;
      TRY(look_for_topics());
    }
  }
}

Result<void> Consumer::work() {
  last_progress_ms_ = steady_ms();
  if (options_.follow) root_watched_ = watcher_.add(store_.root(), kRootToken);
  if (options_.follow && watcher_.fd() < 0 && common_.verbose)
    say(fmt::format("looking for new records every {} ms: {}", kPollMs, watcher_.problem()));
  for (const std::string& topic : options_.topics)
    TRY(add_topic(topic));
  if (full()) return {};
  for (const std::string& topic : options_.topics) {
    Flow flow = Flow::kOn;
    if (options_.tail) {
      TRY_ASSIGN(flow, print_newest(topic));
    } else if (options_.from_nth) {
      TRY_ASSIGN(flow, print_from_nth(topic));
    }
    if (flow == Flow::kStop) return {};
  }
  TRY(follow());
  return {};
}

int Consumer::finish(const Result<void>& done) {
  const bool written = output_.finish();
  progress_.clear();
  const int signal = pending_signal();
  if (!done) {
    const int result = report_error(done.error());
    if (result == status::kDamaged && damages_ > 0)
      say(fmt::format("damage was met {} more {}", damages_, damages_ == 1 ? "time" : "times"));
    return result;
  }
  if (!written && signal == 0) {
    if (output_.problem() == EPIPE) die_of(SIGPIPE);
    return report_error(system_error(output_.problem(), "cannot write to stdout"));
  }
  if (signal != 0) die_of(signal);
  if (damages_ > 0) {
    say(fmt::format("damage was met {} {}; what did not read was left out", damages_,
                    damages_ == 1 ? "time" : "times"));
    return status::kDamaged;
  }
  if (timed_out_) {
    say(fmt::format("no record for {} ms", *common_.timeout_ms));
    return status::kTimeout;
  }
  return options_.fail_empty && printed_ == 0 ? status::kFailure : status::kOk;
}

int Consumer::run() {
  if (options_.pid) {
    pid_fd_ = static_cast<int>(::syscall(SYS_pidfd_open, *options_.pid, 0));
  }
  return finish(work());
}

}  // namespace

int run_consume(const Args& args) {
  const auto common = read_common(args);
  if (!common) return usage_error("consume", common.error());
  const Store::Options store_opts = store_options(*common);
  const auto options = read_consume_options(args, store_opts.clock.now());
  if (!options) return usage_error("consume", options.error());
  auto printer = Printer::make(*options);
  if (!printer) return usage_error("consume", printer.error());
  install_signals();
  auto store = Store::open(store_opts, common->dir);
  for (const std::int64_t begin = steady_ms();
       !store && store.error().code == Errc::kNotFound && options->retry;
       store = Store::open(store_opts, common->dir)) {
    pollfd signalled{signal_fd(), POLLIN, 0};
    (void)::poll(&signalled, 1, kRetryMs);
    if (pending_signal() != 0) die_of(pending_signal());
    if (common->timeout_ms && steady_ms() - begin >= *common->timeout_ms) {
      say(fmt::format("no record for {} ms", *common->timeout_ms));
      return status::kTimeout;
    }
  }
  if (!store) return report_error(store.error());
  return Consumer(**store, *options, *common, std::move(*printer), args).run();
}

}  // namespace spool
