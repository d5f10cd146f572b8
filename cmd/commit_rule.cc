#include "commit_rule.h"

#include <algorithm>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace spool {

Delivery::Delivery(const Output& output) : output_(output) {
  struct stat st{};
  is_pipe_ = ::fstat(STDOUT_FILENO, &st) == 0 && S_ISFIFO(st.st_mode);
}

std::int64_t Delivery::taken() const {
  // In this order: what is written between the two looks makes the answer too small, never too
  // large.
  const std::int64_t written = output_.written();
  if (!is_pipe_) return written;
  int waiting = 0;
  if (::ioctl(STDOUT_FILENO, FIONREAD, &waiting) != 0) return written;
  return written - waiting;
}

bool Delivery::reader_gone() const {
  pollfd p{STDOUT_FILENO, 0, 0};
  return is_pipe_ && ::poll(&p, 1, 0) > 0 && (p.revents & POLLERR) != 0;
}

Committer::Committer(CommitRule rule, const Delivery& delivery, Commit commit)
    : rule_(rule), delivery_(delivery), commit_(std::move(commit)) {}

Committer::~Committer() {
  stop();
}

void Committer::start() {
  if (rule_ != CommitRule::kNever) thread_ = std::thread([this] { run(); });
}

void Committer::stop() {
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Committer::Lane& Committer::lane(int number) {
  const auto at = static_cast<std::size_t>(number);
  if (lanes_.size() <= at) lanes_.resize(at + 1);
  return lanes_[at];
}

void Committer::publish() {
  if (fresh_.empty()) return;
  const std::lock_guard guard(mutex_);
  for (const Mark& m : fresh_)
    lane(m.lane).marked = m.next;
  if (rule_ == CommitRule::kWritten || rule_ == CommitRule::kEnd) {
    if (marks_.size() >= kFreshMax) fold();
    marks_.insert(marks_.end(), fresh_.begin(), fresh_.end());
  }
  fresh_.clear();
}

void Committer::done(int number, Offset next) {
  const std::lock_guard guard(mutex_);
  Lane& l = lane(number);
  l.ready = std::max(l.ready, next);
}

/// Takes down the marks that count by now. Needs mutex_.
void Committer::fold() {
  if (marks_.empty()) return;
  const std::int64_t taken = delivery_.taken();
  while (!marks_.empty() && marks_.front().end <= taken) {
    lane(marks_.front().lane).ready = marks_.front().next;
    marks_.pop_front();
  }
}

Result<void> Committer::commit(std::unique_lock<std::mutex>& guard, bool all) {
  if (failure_) return fail(*failure_);
  fold();
  if (rule_ == CommitRule::kNever) return {};
  std::vector<LaneCommit> ready;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const Lane& l = lanes_[i];
    if (rule_ == CommitRule::kEnd && !all && !l.ends) continue;
    if (l.ready >= Offset(0) && l.ready != l.committed)
      ready.push_back({static_cast<int>(i), l.ready});
  }
  if (ready.empty()) return {};
  guard.unlock();
  auto done = commit_(ready);
  guard.lock();
  committed_at_ = std::chrono::steady_clock::now();
  if (!done) {
    failure_ = done.error();
    return done;
  }
  for (const LaneCommit& c : ready)
    lane(c.lane).committed = c.next;
  return {};
}

Result<void> Committer::commit_now(bool all) {
  publish();
  const std::lock_guard one(committing_);
  std::unique_lock guard(mutex_);
  return commit(guard, all);
}

bool Committer::due() {
  const std::lock_guard guard(mutex_);
  return std::chrono::steady_clock::now() - committed_at_ >= std::chrono::milliseconds(kTickMs);
}

bool Committer::settled(int number) {
  const std::lock_guard guard(mutex_);
  const Lane& l = lane(number);
  if (rule_ == CommitRule::kNever || failure_) return true;
  return l.committed >= l.marked && l.committed >= l.ready;
}

void Committer::end_lane(int number) {
  const std::lock_guard guard(mutex_);
  lane(number).ends = true;
}

void Committer::drop(int number) {
  const std::lock_guard one(committing_);
  const std::lock_guard guard(mutex_);
  std::erase_if(marks_, [&](const Mark& m) { return m.lane == number; });
  lane(number) = Lane{};
}

std::int64_t Committer::untaken() {
  const std::lock_guard guard(mutex_);
  fold();
  return static_cast<std::int64_t>(marks_.size());
}

std::optional<Error> Committer::failure() {
  const std::lock_guard guard(mutex_);
  return failure_;
}

void Committer::run() {
  using std::chrono::milliseconds, std::chrono::steady_clock;
  std::unique_lock guard(mutex_);
  auto looked = steady_clock::now();
  while (!stop_) {
    const bool waiting = delivery_.is_pipe() && !marks_.empty();
    wake_.wait_for(guard, milliseconds(waiting ? kPipeTickMs : kTickMs), [&] { return stop_; });
    if (stop_) return;
    fold();
    // What a reader takes last is committed without delay, what he takes in a stream now and then.
    const auto now = steady_clock::now();
    const bool quiet = marks_.empty() && now - committed_at_ >= milliseconds(kTickMs);
    if (!quiet && now - looked < milliseconds(kTickMs)) continue;
    looked = now;
    guard.unlock();
    if (on_tick) on_tick();
    {
      const std::lock_guard one(committing_);
      guard.lock();
      // A failure is kept for the thread that prints.
      (void)commit(guard, false);
      guard.unlock();
    }
    guard.lock();
  }
}

}  // namespace spool
