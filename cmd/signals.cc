#include "signals.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <pthread.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/check.h"

namespace spool {

namespace {

constexpr int kStatusOfSignal = 128;
constexpr suseconds_t kNudgeUs = 50'000;
/// Threads that can be nudged; what comes beyond is not, and only ends later.
constexpr std::size_t kThreadsMax = 4096;

std::atomic<int> caught_signal{0};
std::atomic<std::int64_t> caught_at_ms{0};
std::array<int, 2> signal_pipe{-1, -1};
pthread_t main_thread;
std::array<std::atomic<pthread_t>, kThreadsMax> nudged;  ///< 0: free
std::atomic<std::size_t> nudged_end{0};

static_assert(std::atomic<pthread_t>::is_always_lock_free);

/// clock_gettime, unlike std::chrono, is promised to be safe in a signal handler.
std::int64_t monotonic_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

/// The kernel gives a timer's signal to the main thread; this passes it on.
void pass_on_nudge() {
  if (::pthread_equal(::pthread_self(), main_thread) == 0) return;
  const std::size_t end = nudged_end.load();
  for (std::size_t i = 0; i < end; ++i)
    if (const pthread_t thread = nudged[i].load(); thread != 0) ::pthread_kill(thread, SIGALRM);
}

extern "C" void on_signal(int signal) {
  const int saved = errno;
  if (signal == SIGALRM) {  // only there to interrupt a blocking call
    pass_on_nudge();
    errno = saved;
    return;
  }
  if (caught_at_ms.load() == 0) caught_at_ms.store(monotonic_ms());
  if (caught_signal.exchange(signal) != 0) _exit(kStatusOfSignal + signal);
  const char byte = 1;
  [[maybe_unused]] const ssize_t n = ::write(signal_pipe[1], &byte, 1);
  // A call that was about to block when the signal came would not notice it: nudge until the end.
  const itimerval nudge{{0, kNudgeUs}, {0, kNudgeUs}};
  ::setitimer(ITIMER_REAL, &nudge, nullptr);
  errno = saved;
}

}  // namespace

void install_signals() {
  CHECK(::pipe2(signal_pipe.data(), O_CLOEXEC | O_NONBLOCK) == 0);
  main_thread = ::pthread_self();
  struct sigaction action{};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGALRM}) {
    struct sigaction before{};
    ::sigaction(signal, nullptr, &before);
    // nohup and shells' background jobs have them ignored: that stays.
    if (before.sa_handler != SIG_IGN || signal == SIGALRM) ::sigaction(signal, &action, nullptr);
  }
  // A caller may have left it blocked; without it nothing is interrupted.
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

int signal_fd() {
  return signal_pipe[0];
}
int pending_signal() {
  return caught_signal.load();
}
std::int64_t ms_since_signal() {
  const std::int64_t at = caught_at_ms.load();
  return at == 0 ? 0 : monotonic_ms() - at;
}
bool signal_overdue() {
  return ms_since_signal() >= kSignalGraceMs;
}

void die_of(int signal) {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  ::raise(signal);
  _exit(kStatusOfSignal + signal);
}

NudgedThread::NudgedThread() : slot_(kThreadsMax) {
  for (std::size_t i = 0; i < kThreadsMax; ++i) {
    pthread_t none = 0;
    if (!nudged[i].compare_exchange_strong(none, ::pthread_self())) continue;
    slot_ = i;
    std::size_t end = nudged_end.load();
    while (end <= i && !nudged_end.compare_exchange_weak(end, i + 1)) {
    }
    return;
  }
}

NudgedThread::~NudgedThread() {
  if (slot_ < kThreadsMax) nudged[slot_].store(0);
}

}  // namespace spool
