#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include "group_consumer.h"
#include "read_end.h"

namespace spool {

namespace {

constexpr int kPollMs = 50;
constexpr int kTakenMs = 10;  ///< between looks whether a reader has taken what was printed
constexpr std::int64_t kOthersMs = 100;     ///< between looks at what other members committed
constexpr std::int64_t kNotTakenMs = 5000;  ///< a reader that takes nothing for so long is left
constexpr std::int64_t kNotTakenSignalMs = 500;  ///< when a signal ends us
constexpr std::int64_t kBlockedMs = 1000;        ///< so long it is no secret

}  // namespace

Result<void> GroupConsumer::start_command(GroupLane& lane) {
  if (lane.batched == 0 || exec_->runs(lane.id) || !exec_->room()) return {};
  TRY(exec_->start(lane.id, std::move(lane.batch), lane.batch_first, lane.printed));
  lane.batch.clear();
  lane.batched = 0;
  return {};
}

Result<void> GroupConsumer::collect_commands() {
  if (!exec_) return {};
  std::optional<ExecEnd> failed;
  for (const ExecEnd& end : exec_->step()) {
    if (end.status == 0) {
      committer_.done(end.lane, end.next);
      for (GroupLane& l : lanes_)
        if (l.id == end.lane && l.batched == 0 && !l.dirty) note_idle(l);
    } else if (!failed) {
      failed = end;
    }
  }
  if (!failed) return {};
  const std::lock_guard guard(known_mutex_);
  const TopicPartition& at = known_.at(failed->lane);
  return fail(Errc::kCancelled,
              fmt::format("--exec: the command ended with status {}; {}-{} from offset {} on is "
                          "not committed",
                          failed->status, at.topic, at.partition.value(), failed->first.value()));
}

/// Waits for the commands that run.
Result<void> GroupConsumer::finish_commands() {
  Result<void> result;
  while (exec_ && exec_->running() > 0) {
    std::vector<pollfd> fds;
    exec_->add_fds(fds);
    (void)::poll(fds.data(), fds.size(), kPollMs);
    if (auto done = collect_commands(); !done && result) result = done;
  }
  return result;
}

Result<void> GroupConsumer::take_acks() {
  if (!acks_) return {};
  TRY_ASSIGN(const auto acks, acks_->read());
  for (const auto& [at, offset] : acks) {
    const GroupLane* lane = find(at);
    if (lane == nullptr || offset + 1 <= lane->start) continue;  // of a partition given up
    if (offset >= lane->printed)
      return fail(Errc::kInvalid, fmt::format("--ack-fd: {} {} {} was not printed yet", at.topic,
                                              at.partition.value(), offset.value()));
    committer_.done(lane->id, offset + 1);
  }
  return {};
}

/// At the end: until all is acknowledged, or nobody acknowledges any more.
Result<void> GroupConsumer::finish_acks() {
  if (!acks_) return {};
  // The reader may wait for our end of file before it acknowledges the last.
  ::close(STDOUT_FILENO);
  for (;;) {
    TRY(take_acks());
    for (GroupLane& l : lanes_)
      note_idle(l);
    TRY(committer_.commit_now());
    std::int64_t open = 0;
    for (const GroupLane& l : lanes_)
      if (acks_->acked(l.tp) < l.printed && l.printed > l.start) ++open;
    if (open == 0) return {};
    if (acks_->at_end())
      return fail(Errc::kCancelled,
                  fmt::format("--ack-fd ended, and {} partition{} not acknowledged to the end",
                              open, open == 1 ? " is" : "s are"));
    if (pending_signal() != 0) return {};
    std::vector<pollfd> fds{{signal_fd(), POLLIN, 0}, {acks_->fd(), POLLIN, 0}};
    (void)::poll(fds.data(), fds.size(), kPollMs);
  }
}

/// Whether everything that was there at the start is consumed: by us, or by the other members.
Result<bool> GroupConsumer::all_done() {
  if (options_.follow) {
    return missing_.empty() && !lanes_.empty() && !membership_ &&
           std::all_of(lanes_.begin(), lanes_.end(), [](const GroupLane& l) { return l.finished; });
  }
  for (const GroupLane& l : lanes_)
    if (!l.finished || l.leaving || l.batched > 0) return false;
  if (exec_ && exec_->running() > 0) return false;
  if (!membership_ || lanes_.size() == ends_.size()) return true;
  if (steady_ms() < next_others_ms_) return false;
  next_others_ms_ = steady_ms() + kOthersMs;
  TRY_ASSIGN(const auto committed, offsets_.committed());
  for (const auto& [at, end] : ends_) {
    if (find(at) != nullptr) continue;
    const PartitionPlace there = store_.place(topics_.at(at.topic), at.partition);
    const auto known = committed.find(at);
    if (known != committed.end() && known->second >= end) continue;
    // Where nothing is to be read, nobody commits anything.
    TRY_ASSIGN(const PartitionView view, view_partition(store_.env(), there));
    if (view.log_start < end) return false;
  }
  return true;
}

/// Of the committing thread: whether what was printed waits for its reader, for `groups describe`.
void GroupConsumer::note_blocked() {
  if (!membership_ || exec_) return;
  const std::int64_t taken = delivery_.taken();
  const std::int64_t now = steady_ms();
  if (taken != taken_before_ || committer_.untaken() == 0) {
    taken_before_ = taken;
    taken_since_ms_ = now;
    if (told_blocked_) membership_->set_blocked(TimestampMs(0));
    told_blocked_ = false;
  } else if (!told_blocked_ && now - taken_since_ms_ >= kBlockedMs) {
    membership_->set_blocked(store_.env().clock.now() - (now - taken_since_ms_));
    told_blocked_ = true;
  }
}

/// While the reader takes what is in the pipe; gives the number of records that he left there.
std::int64_t GroupConsumer::wait_until_taken() {
  std::int64_t before = -1;
  std::int64_t since = steady_ms();
  for (;;) {
    const std::int64_t left = committer_.untaken();
    if (left == 0 || !delivery_.is_pipe() || delivery_.reader_gone()) return left;
    const std::int64_t taken = delivery_.taken();
    if (taken >= output_.written()) return left;  // the rest was never written
    const std::int64_t now = steady_ms();
    if (taken != before) since = now;
    before = taken;
    if (now - since >= (pending_signal() != 0 ? kNotTakenSignalMs : kNotTakenMs)) return left;
    (void)::poll(nullptr, 0, kTakenMs);
  }
}

int GroupConsumer::finish(Result<void> done) {
  if (auto commands = finish_commands(); !commands && done) done = commands;
  committer_.publish();
  const bool written = output_.finish();
  if (done && written && acks_) done = finish_acks();
  std::int64_t left = 0;
  const bool waits = group_.commits() &&
                     (group_.commit == CommitRule::kWritten || group_.commit == CommitRule::kEnd);
  if (waits && group_.commit == CommitRule::kWritten) left = wait_until_taken();
  const bool closed = closed_ || (!written && output_.problem() == EPIPE);
  const bool reader_gone = closed || (left > 0 && delivery_.reader_gone());
  // `end` commits what all was printed, and only when all went well.
  const bool all = group_.commit != CommitRule::kEnd || (done && written && pending_signal() == 0);
  const auto failure = committer_.failure();
  Result<void> committed;
  if (failure)
    committed = fail(*failure);
  else if (all)
    committed = committer_.commit_now(true);
  committer_.stop();
  offset_store_.close();
  const int signal = pending_signal();
  if (!done || !committed) {
    const Error& error = done ? committed.error() : done.error();
    const bool cancelled = signal != 0 && error.code == Errc::kCancelled;
    // That a signal ended a look-up is no news; that something is not committed is.
    const bool silent = cancelled && !done && committed && !exec_ && !acks_;
    const int result = silent ? status::kOk : report_error(error);
    if (cancelled) die_of(signal);
    return result;
  }
  if (reader_gone) die_of(SIGPIPE);
  if (!written && signal == 0)
    return report_error(system_error(output_.problem(), "cannot write to stdout"));
  if (left > 0 && signal == 0)
    say(
        fmt::format("the reader took nothing for {} s: the last {} record{} not committed "
                    "(--commit end commits what is written)",
                    kNotTakenMs / 1000, left, left == 1 ? " is" : "s are"));
  if (left > 0 && signal == 0) return status::kFailure;
  return read_status(context_, common_, timed_out_, printed_);
}

}  // namespace spool
