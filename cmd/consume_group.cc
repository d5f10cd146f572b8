#include "consume_group.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include "group_consumer.h"
#include "record_output.h"

namespace spool {

namespace {

constexpr std::int64_t kTurnBytes = std::int64_t{1} << 18;
constexpr std::size_t kOpenLanesMax = 32;
constexpr int kPollMs = 50;
constexpr int kTakenMs = 10;  ///< between looks whether a reader has taken what was printed
constexpr std::int64_t kRetryMs = 250;
constexpr std::int64_t kNewPartitionsMs = 1000;
constexpr std::int64_t kOthersMs = 100;  ///< between looks at what other members committed

}  // namespace

Result<void> GroupConsumer::commit(const std::vector<LaneCommit>& lanes) {
  std::map<TopicPartition, Offset> offsets;
  std::map<TopicPartition, PartitionPlace> places;
  {
    const std::lock_guard guard(known_mutex_);
    for (const LaneCommit& c : lanes) {
      const TopicPartition& at = known_.at(c.lane);
      offsets[at] = c.next;
      places.insert_or_assign(at, places_.at(at));
    }
  }
  if (membership_) TRY(membership_->check());
  return offsets_.commit(membership_ ? membership_->generation() : -1, offsets, places);
}

Result<void> GroupConsumer::join(const std::string& name, bool late) {
  auto found = store_.find_topic(name);
  if (!found && found.error().code == Errc::kNotFound && options_.retry) {
    missing_.push_back(name);
    return {};
  }
  if (!found) return fail(found.error());
  std::vector<PartitionId> wanted = found->partitions;
  if (options_.partitions) {
    for (const PartitionId p : *options_.partitions)
      if (!std::binary_search(wanted.begin(), wanted.end(), p))
        return fail(Errc::kNotFound, fmt::format("topic '{}' has no partition {}; it has {}", name,
                                                 p.value(), wanted.size()));
    wanted = *options_.partitions;
  }
  for (const PartitionId p : wanted) {
    if (late) late_.insert({name, p});
    if (options_.follow) continue;
    TRY_ASSIGN(ends_[TopicPartition(name, p)], end_for(store_, options_, store_.place(*found, p)));
  }
  topics_[name] = *found;
  if (membership_) return membership_->join(name, wanted);
  std::vector<TopicPartition> all;
  for (const PartitionId p : wanted)
    all.push_back({name, p});
  return add_lanes(all);
}

/// Topics that were missing, and partitions that a followed topic got.
Result<void> GroupConsumer::look_for_topics() {
  for (const std::string& name : std::exchange(missing_, {}))
    TRY(join(name, true));
  if (options_.partitions || !options_.follow) return {};
  for (auto& [name, topic] : topics_) {
    const auto now = store_.find_topic(name);
    if (!now || now->id != topic.id || now->partitions == topic.partitions) continue;
    std::vector<TopicPartition> more;
    for (const PartitionId p : now->partitions)
      if (!std::binary_search(topic.partitions.begin(), topic.partitions.end(), p))
        more.push_back({name, p});
    late_.insert(more.begin(), more.end());
    topic = *now;
    if (membership_) {
      membership_->set_partitions(name, now->partitions);
    } else {
      TRY(add_lanes(more));
    }
  }
  return {};
}

Result<void> GroupConsumer::add_lanes(const std::vector<TopicPartition>& gained) {
  if (gained.empty()) return {};
  TRY_ASSIGN(const auto committed, offsets_.committed());
  for (const TopicPartition& at : gained) {
    const TopicInfo& topic = topics_.at(at.topic);
    GroupLane& lane = lanes_.emplace_back(at.topic, store_.place(topic, at.partition));
    lane.id = next_id_++;
    lane.tp = at;
    watch(lane);  // before the first look, so that nothing is missed between
    {
      const std::lock_guard guard(known_mutex_);
      known_[lane.id] = at;
      places_.insert_or_assign(at, lane.place);
    }
    const auto known = committed.find(at);
    const auto offset = known == committed.end() ? std::nullopt : std::optional(known->second);
    const bool first_time = seen_.insert(at).second && !late_.contains(at);
    TRY(set_group_span(context_, offset, first_time, lane));
    if (const auto end = ends_.find(at); end != ends_.end()) lane.end = end->second;
    // Its end at the start may be before what the group has read since.
    if (lane.start >= lane.limit()) lane.finished = true;
    lane.open(context_, lane.start, topic.partitions.size());
    if (!lane.start_counts) continue;
    committer_.mark(lane.id, lane.start, place());
    committer_.done(lane.id, lane.start);
  }
  return {};
}

Result<void> GroupConsumer::rebalance() {
  if (!membership_) return {};
  membership_->after_wake();
  if (membership_->due_in_ms() > 0) return {};
  TRY_ASSIGN(const Membership::Change change, membership_->look());
  TRY(add_lanes(change.gained));
  for (GroupLane& lane : lanes_) {
    const bool leaving =
        std::find(change.give_up.begin(), change.give_up.end(), lane.tp) != change.give_up.end();
    if (leaving && !lane.leaving) committer_.end_lane(lane.id);
    lane.leaving = leaving;
  }
  return {};
}

/// Gives up what others are to have, as soon as all that was printed of it is committed.
Result<void> GroupConsumer::let_go() {
  const bool any =
      std::any_of(lanes_.begin(), lanes_.end(), [](const GroupLane& l) { return l.leaving; });
  if (!any) return {};
  if (!flush()) return {};
  TRY(committer_.commit_now());
  std::vector<TopicPartition> released;
  for (auto lane = lanes_.begin(); lane != lanes_.end();) {
    const bool running = exec_ && exec_->runs(lane->id);
    if (!lane->leaving || running || !committer_.settled(lane->id)) {
      ++lane;
      continue;
    }
    committer_.drop(lane->id);
    released.push_back(lane->tp);
    lane = lanes_.erase(lane);
  }
  if (!released.empty()) membership_->release(released);
  return {};
}

/// Marks go before bytes, so that nobody takes bytes that nobody knows of.
bool GroupConsumer::flush() {
  committer_.publish();
  return output_.flush();
}

/// The record at hand, to the output or to what the next command gets. False: the output failed.
bool GroupConsumer::print(GroupLane& lane) {
  const RecordView& record = lane.stream->record();
  const Offset next = record.offset + 1;
  if (!printer_.wants(record)) {
    if (group_.commit != CommitRule::kReported) committer_.mark(lane.id, next, place());
    return true;
  }
  lane.printed = next;
  if (exec_) {
    printer_.print(record_context(lane, ++printed_), lane.batch);
    if (lane.batched++ == 0) lane.batch_first = record.offset;
    return true;
  }
  if (record.value && record.value->size() > kLargeValue) committer_.publish();
  if (!print_record(lane, ++printed_, printer_, output_)) return false;
  committer_.mark(lane.id, next, place());
  if (options_.unbuffered || output_.text().size() >= Output::kFullBytes) return flush();
  if (committer_.crowded()) committer_.publish();
  return true;
}

/// The rest of a batch, where records are printed as they are and none is missing.
bool GroupConsumer::print_batch(GroupLane& lane) {
  const BatchHeader& batch = lane.stream->batch();
  if (batch.next_offset() > lane.limit() || lane.until_time || options_.unbuffered ||
      options_.count || batch.count != batch.last_offset_delta + 1)
    return true;
  RecordIterator* records = lane.stream->rest_of_batch();
  if (records == nullptr) return true;
  Offset next = lane.stream->record().offset + 1;
  const bool good = print_values(
      *records, printer_, output_,
      [&] {
        // The records before are handed over with the large one, which is not marked yet.
        committer_.mark(lane.id, next, place());
        committer_.publish();
      },
      [&] {
        ++printed_;
        next += 1;
        const bool crowded = output_.text().size() >= Output::kFullBytes;
        if (!crowded && !delivery_.is_pipe()) return true;  // one mark a bufferful is enough
        committer_.mark(lane.id, next, place());
        if (crowded) return flush();
        if (committer_.crowded()) committer_.publish();
        return true;
      });
  if (good) committer_.mark(lane.id, next, place());
  lane.printed = next;
  return good;
}

/// Nothing more for now: what was passed over behind the last record, markers and the like, is
/// consumed too.
void GroupConsumer::note_idle(GroupLane& lane) {
  // The record that ended the lane by its time was taken from the stream, and is not consumed.
  if (lane.finished && lane.until_time) return;
  const Offset position = std::min(lane.stream->position(), lane.limit());
  if (position <= lane.start) return;
  if (group_.commit != CommitRule::kReported) {
    committer_.mark(lane.id, position, place());
  } else if (exec_ ? lane.batched == 0 && !exec_->runs(lane.id)
                   : acks_->acked(lane.tp) >= lane.printed || lane.printed == lane.start) {
    committer_.done(lane.id, position);
  }
}

Result<GroupConsumer::Flow> GroupConsumer::read_turn(GroupLane& lane, bool& progress) {
  const std::int64_t before = lane.stream->bytes();
  while (!full() && !busy(lane)) {
    TRY_ASSIGN(const bool got, lane.advance(context_));
    if (!got) {
      lane.dirty = false;
      note_idle(lane);
      // A command gets what there is, when no more comes for now.
      if (exec_ && lane.batched > 0) TRY(start_command(lane));
      return Flow::kOn;
    }
    progress = true;
    if (!print(lane)) return Flow::kStop;
    if (plain_ && !print_batch(lane)) return Flow::kStop;
    if (lane.stream->bytes() - before >= kTurnBytes && lane.stream->between_batches()) break;
  }
  if (busy(lane) || (full() && exec_)) TRY(start_command(lane));
  if (full() || pending_signal() != 0) return Flow::kStop;
  return Flow::kOn;
}

Result<GroupConsumer::Flow> GroupConsumer::read_all_turns(bool& progress) {
  progress = false;
  for (auto lane = lanes_.begin(); lane != lanes_.end();) {
    GroupLane& here = *lane++;
    if (exec_ && here.batched > 0 && !exec_->runs(here.id) && (busy(here) || !here.dirty))
      TRY(start_command(here));
    if (here.finished || !here.dirty || here.leaving || busy(here)) continue;
    auto flow = read_turn(here, progress);
    if (!flow && flow.error().code == Errc::kDeleted) {
      flow = on_deleted(std::string(here.tp.topic), flow.error());
      if (flow && *flow == Flow::kOn) {  // its lanes are gone
        lane = lanes_.begin();
        continue;
      }
    }
    if (!flow || *flow == Flow::kStop) return flow;
    if (here.finished || lanes_.size() > kOpenLanesMax) here.stream->park();
    if (output_.failed()) return Flow::kStop;
    if (membership_ && membership_->due_in_ms() == 0) break;  // others may be waiting for us
  }
  return Flow::kOn;
}

/// With --retry a deleted topic may come back.
Result<GroupConsumer::Flow> GroupConsumer::on_deleted(const std::string& topic,
                                                      const Error& error) {
  if (!options_.follow || !options_.retry) return fail(error);
  tell(error.message());
  for (auto lane = lanes_.begin(); lane != lanes_.end();) {
    if (lane->tp.topic != topic) {
      ++lane;
      continue;
    }
    committer_.drop(lane->id);
    lane = lanes_.erase(lane);
  }
  if (membership_) membership_->leave(topic);
  topics_.erase(topic);
  missing_.push_back(topic);
  return Flow::kOn;
}

Result<GroupConsumer::Flow> GroupConsumer::wait() {
  const std::int64_t now = steady_ms();
  std::int64_t timeout = -1;
  const auto at_most = [&](std::int64_t ms) { timeout = timeout < 0 ? ms : std::min(timeout, ms); };
  const bool polling =
      options_.follow &&
      (watcher_.fd() < 0 || std::any_of(lanes_.begin(), lanes_.end(), [](const GroupLane& l) {
         return !l.finished && !l.watched;
       }));
  if (polling) at_most(kPollMs);
  if (!missing_.empty()) at_most(kRetryMs);
  if (options_.follow && !options_.partitions) at_most(kNewPartitionsMs);
  if (membership_) at_most(membership_->due_in_ms());
  if (!options_.follow) at_most(kOthersMs);
  if (std::any_of(lanes_.begin(), lanes_.end(), [](const GroupLane& l) { return l.leaving; }))
    at_most(kTakenMs);
  if (options_.pid && pid_fd_ < 0) at_most(kPollMs);
  if (exec_ && exec_->running() > 0) at_most(kPollMs);
  if (common_.timeout_ms) {
    const std::int64_t left = last_progress_ms_ + *common_.timeout_ms - now;
    if (left <= 0) {
      timed_out_ = true;
      return Flow::kStop;
    }
    at_most(left);
  }
  at_most(kNewPartitionsMs);  // a commit may have failed in the other thread
  std::vector<pollfd> fds{{signal_fd(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
  if (watcher_.fd() >= 0) fds.push_back({watcher_.fd(), POLLIN, 0});
  if (membership_ && membership_->fd() >= 0) fds.push_back({membership_->fd(), POLLIN, 0});
  if (pid_fd_ >= 0) fds.push_back({pid_fd_, POLLIN, 0});
  if (acks_ && !acks_->at_end()) fds.push_back({acks_->fd(), POLLIN, 0});
  if (exec_) exec_->add_fds(fds);
  (void)::poll(fds.data(), fds.size(), static_cast<int>(timeout));
  if (pending_signal() != 0) return Flow::kStop;
  if (!exec_ && (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
    closed_ = true;
    return Flow::kStop;
  }
  if (watcher_.fd() < 0) {
    for (GroupLane& l : lanes_)
      l.dirty = true;
    return Flow::kOn;
  }
  bool all = false;
  const auto ids = watcher_.drain(all);
  for (GroupLane& l : lanes_)
    if (all || !l.watched || std::find(ids.begin(), ids.end(), l.id) != ids.end()) l.dirty = true;
  return Flow::kOn;
}

Result<void> GroupConsumer::work() {
  last_progress_ms_ = steady_ms();
  for (const std::string& topic : options_.topics)
    TRY(join(topic, false));
  committer_.on_tick = [this] { note_blocked(); };
  committer_.start();
  while (!full()) {
    TRY(rebalance());
    bool progress = false;
    TRY_ASSIGN(const Flow flow, read_all_turns(progress));
    if (flow == Flow::kStop) return {};
    TRY(collect_commands());
    TRY(take_acks());
    if (const auto failure = committer_.failure()) return fail(*failure);
    TRY(let_go());
    const std::int64_t now = steady_ms();
    if ((!missing_.empty() || options_.follow) && now >= next_look_ms_) {
      next_look_ms_ = now + (missing_.empty() ? kNewPartitionsMs : kRetryMs);
      TRY(look_for_topics());
    }
    if (progress) {
      last_progress_ms_ = now;
      const bool more = std::any_of(lanes_.begin(), lanes_.end(), [&](const GroupLane& l) {
        return l.dirty && !l.finished && !l.leaving && !busy(l);
      });
      if (more) continue;
    }
    if (!flush()) return {};
    if (committer_.due()) TRY(committer_.commit_now());
    TRY_ASSIGN(const bool done, all_done());
    if (done || pid_was_gone_) return {};
    pollfd ended{pid_fd_, POLLIN, 0};
    if (options_.pid && (pid_fd_ >= 0 ? ::poll(&ended, 1, 0) > 0
                                      : ::kill(*options_.pid, 0) != 0 && errno == ESRCH)) {
      pid_was_gone_ = true;  // one more look: it may have written just before it ended
      for (GroupLane& l : lanes_)
        l.dirty = true;
      continue;
    }
    TRY_ASSIGN(const Flow waited, wait());
    if (waited == Flow::kStop) return {};
  }
  return {};
}

int GroupConsumer::run() {
  if (options_.pid) pid_fd_ = static_cast<int>(::syscall(SYS_pidfd_open, *options_.pid, 0));
  return finish(work());
}

int run_consume_group(Store& store, const ConsumeOptions& options, const Common& common,
                      Printer printer) {
  // Written to a reader that is gone is an error here, not an end without a commit.
  ::signal(SIGPIPE, SIG_IGN);
  return GroupConsumer(store, options, common, std::move(printer)).run();
}

}  // namespace spool
