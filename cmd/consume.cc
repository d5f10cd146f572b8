#include <algorithm>
#include <cerrno>
#include <csignal>
#include <list>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include "commands.h"
#include "consume_group.h"
#include "consume_options.h"
#include "context.h"
#include "io/watch.h"
#include "lane.h"
#include "lane_merge.h"
#include "newest_lanes.h"
#include "output.h"
#include "printer.h"
#include "progress.h"
#include "read_end.h"
#include "record_output.h"
#include "worker.h"

namespace spool {

namespace {

/// Partitions are read in turns of about this many bytes.
constexpr std::int64_t kTurnBytes = std::int64_t{1} << 20;
/// With more partitions than this, each gives its file and memory back between its turns.
constexpr std::size_t kOpenLanesMax = 32;
constexpr int kPollMs = 50;    ///< between looks where nothing tells of changes
constexpr int kRetryMs = 250;  ///< between looks for a topic that is not there
constexpr int kRootToken = -1;

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
        progress_(args, !options.follow && stdout_is_file()),
        context_{store.env(), options, &reader_, [this](const std::string& text) { tell(text); }} {}
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
  [[nodiscard]] Result<Flow> print_newest(const std::string& topic);
  [[nodiscard]] Result<Flow> print_from_nth(const std::string& topic);
  [[nodiscard]] Result<Flow> print_merged(LaneMerge& merge, const std::vector<Lane*>& lanes,
                                          std::int64_t skip);
  [[nodiscard]] std::vector<Lane*> lanes_of(const std::string& topic);
  [[nodiscard]] Result<Flow> read_turn(Lane& lane, bool& progress);
  [[nodiscard]] Result<Flow> read_all_turns(bool& progress);
  [[nodiscard]] Result<Flow> follow();
  [[nodiscard]] Result<Flow> wait();
  [[nodiscard]] Result<Flow> on_deleted(Lane& lane, const Error& error);
  [[nodiscard]] Result<void> look_for_topics();
  void watch(Lane& lane, std::size_t index);
  void after_wake();
  void show_progress();
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
  LaneContext context_;
  std::list<Lane> lanes_;  ///< addresses stay: streams borrow the places
  std::vector<std::string> missing_;
  std::int64_t printed_ = 0;
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
  TRY_ASSIGN(const auto partitions, choose_partitions(*topic, options_));
  for (const PartitionId p : partitions)
    TRY(add_lane(*topic, p, false));
  return {};
}

/// `late`: it appeared while the topic was followed, and is read from its start.
Result<void> Consumer::add_lane(const TopicInfo& topic, PartitionId partition, bool late) {
  Lane& lane = lanes_.emplace_back(topic.name, store_.place(topic, partition));
  watch(lane, lanes_.size() - 1);  // before the first look, so that nothing is missed between
  TRY(lane.look(context_, late));
  lane.open(context_, lane.start, topic.partitions.size());
  return {};
}

bool Consumer::print(Lane& lane) {
  if (!printer_.wants(lane.stream->record())) return true;
  if (!print_record(lane, ++printed_, printer_, output_)) return false;
  return options_.unbuffered ? output_.flush() : output_.flush_if_full();
}

/// The rest of a batch, where records are printed as they are.
bool Consumer::print_batch(Lane& lane) {
  // A batch that may reach beyond what is wanted takes the careful way.
  if (lane.stream->batch().next_offset() > lane.limit() || lane.until_time || options_.unbuffered ||
      options_.count)
    return true;
  RecordIterator* records = lane.stream->rest_of_batch();
  if (records == nullptr) return true;
  return print_values(
      *records, printer_, output_, [] {},
      [&] {
        ++printed_;
        return output_.flush_if_full();
      });
}

Result<Consumer::Flow> Consumer::read_turn(Lane& lane, bool& progress) {
  const std::int64_t before = lane.stream->bytes();
  while (!full()) {
    TRY_ASSIGN(const bool got, lane.advance(context_));
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
    show_progress();
    // Between turns what one partition gave is on its way, whatever the next one takes.
    if (output_.failed()) return Flow::kStop;
  }
  return Flow::kOn;
}

/// The newest `tail` records of a topic, in the order of time, and of offsets within a partition.
Result<Consumer::Flow> Consumer::print_newest(const std::string& topic) {
  const std::vector<Lane*> all = lanes_of(topic);
  TRY_ASSIGN(NewestLanes newest, find_newest_lanes(context_, all, *options_.tail));
  LaneMerge merge(context_, std::move(newest.lanes), newest.cut);
  return print_merged(merge, all, 0);
}

/// All but the first N-1 records, partitions merged by time.
Result<Consumer::Flow> Consumer::print_from_nth(const std::string& topic) {
  const std::vector<Lane*> all = lanes_of(topic);
  for (Lane* lane : all)
    lane->end = lane->view.log_end;
  LaneMerge merge(context_, all, std::nullopt);
  return print_merged(merge, all, *options_.from_nth - 1);
}

/// Prints what the merge gives but for the first `skip`, and lets the lanes be followed from there.
Result<Consumer::Flow> Consumer::print_merged(LaneMerge& merge, const std::vector<Lane*>& lanes,
                                              std::int64_t skip) {
  std::int64_t given = 0;
  for (;;) {
    TRY_ASSIGN(Lane* const lane, merge.next());
    if (lane == nullptr) break;
    if (skip > 0) {
      --skip;
    } else if (!print(*lane)) {
      return Flow::kStop;
    }
    if (full() || pending_signal() != 0) return Flow::kStop;
    if ((++given & 0xfff) == 0) progress_.update(output_.bytes(), printed_, {});
  }
  for (Lane* lane : lanes) {
    lane->finished = !options_.follow;
    lane->end = kNoLimit;
    if (options_.follow) lane->open(context_, lane->start, lanes.size());
  }
  return Flow::kOn;
}

std::vector<Lane*> Consumer::lanes_of(const std::string& topic) {
  std::vector<Lane*> out;
  for (Lane& lane : lanes_)
    if (lane.topic == topic) out.push_back(&lane);
  return out;
}

void Consumer::show_progress() {
  if (!progress_.enabled()) return;
  Progress::Part part;
  for (const Lane& lane : lanes_) {
    if (lane.limit() == kNoLimit) {
      part = {};  // there is always more to come
      break;
    }
    const Offset stop = std::max(lane.limit(), lane.start);
    part.total += stop - lane.start;
    part.done += (lane.stream     ? std::clamp(lane.stream->position(), lane.start, stop)
                  : lane.finished ? stop
                                  : lane.start) -
                 lane.start;
  }
  progress_.update(output_.bytes(), printed_, part);
}

void Consumer::watch(Lane& lane, std::size_t index) {
  if (!options_.follow) return;
  lane.watched = watcher_.add(lane.place.dir, static_cast<int>(index));
  lane.absent = false;
  if (lane.watched || !root_watched_) return;
  const auto folder = store_.env().fs.stat(lane.place.dir);
  lane.absent = !folder && folder.error().code == Errc::kNotFound;
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
  const auto told = [&](int token) {
    return all || std::find(tokens.begin(), tokens.end(), token) != tokens.end();
  };
  const bool root = told(kRootToken);
  int index = 0;
  for (Lane& lane : lanes_) {
    if (lane.absent ? root : !lane.watched || told(index)) lane.dirty = true;
    ++index;
  }
  if (root || !root_watched_) look_again_ = true;
}

/// Waits until something may have changed; stops on a signal, the time-out, the end of --pid, or
/// when nobody reads our output any more.
Result<Consumer::Flow> Consumer::wait() {
  const bool polling = watcher_.fd() < 0 ||
                       std::any_of(
                           lanes_.begin(), lanes_.end(),
                           [](const Lane& l) { return !l.finished && !l.watched && !l.absent; });
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
  if ((fds[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) die_of(SIGPIPE);
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
  std::size_t index = 0;
  for (Lane& l : lanes_)
    watch(l, index++);
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
    std::optional<Uuid> id;
    for (const Lane& lane : lanes_) {
      if (lane.topic != name) continue;
      have.push_back(lane.place.partition);
      id = lane.place.topic_id;
    }
    if (have.empty()) continue;
    const auto topic = store_.find_topic(name);
    if (!topic || topic->id != id) continue;  // deleted, or made again: its lanes will say so
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
    last_progress_ms_ = steady_ms();
  }
  TRY(follow());
  return {};
}

int Consumer::finish(const Result<void>& done) {
  const bool written = output_.finish();
  progress_.clear();
  const int signal = pending_signal();
  if (!done && !(signal != 0 && done.error().code == Errc::kCancelled)) {
    const int result = report_error(done.error());
    if (result == status::kDamaged) say_damages(context_, true);
    return result;
  }
  if (!written && signal == 0) return report_unwritten(output_);
  return read_status(context_, common_, timed_out_, printed_);
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
  const bool in_group = options->group.commits() || options->group.exec;
  const auto open_store = [&] {
    return options->group.name ? Store::open_for_writing(store_opts, common->dir, false)
                               : Store::open(store_opts, common->dir);
  };
  auto store = open_store();
  for (const std::int64_t begin = steady_ms();
       !store && store.error().code == Errc::kNotFound && options->retry; store = open_store()) {
    pollfd signalled{signal_fd(), POLLIN, 0};
    (void)::poll(&signalled, 1, kRetryMs);
    if (pending_signal() != 0) die_of(pending_signal());
    if (common->timeout_ms && steady_ms() - begin >= *common->timeout_ms) {
      say(fmt::format("no record for {} ms", *common->timeout_ms));
      return status::kTimeout;
    }
  }
  if (!store) return report_open_error(store.error(), common->dir);
  if (in_group) return run_consume_group(**store, *options, *common, std::move(*printer));
  return Consumer(**store, *options, *common, std::move(*printer), args).run();
}

}  // namespace spool
