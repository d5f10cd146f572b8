#include "context.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <mutex>
#include <sys/time.h>
#include <unistd.h>

#include "base/check.h"
#include "io/posix_fs.h"
#include "values.h"

namespace spool {

int status_of(const Error& error) {
  switch (error.code) {
    case Errc::kUsage:
      return status::kUsage;
    case Errc::kNotFound:
    case Errc::kDeleted:
      return status::kNotFound;
    case Errc::kConflict:
    case Errc::kExists:
      return status::kConflict;
    case Errc::kInvalid:
    case Errc::kTooLarge:
      return status::kBadInput;
    case Errc::kCorrupt:
      return status::kDamaged;
    case Errc::kTimeout:
      return status::kTimeout;
    default:
      return status::kFailure;
  }
}

void say(std::string_view text) {
  static std::mutex mutex;
  std::string line = "spool: ";
  line += text;
  line += '\n';
  const std::lock_guard guard(mutex);
  // Where stderr is closed there is nobody to tell.
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, line.data(), line.size());
}

int report_error(const Error& error) {
  say(error.message());
  return status_of(error);
}

int usage_error(std::string_view command, const Error& error) {
  std::string text = error.message();
  text += "; see 'spool ";
  text += command;
  text += command.empty() ? "--help'" : " --help'";
  say(text);
  return status::kUsage;
}

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody calls setenv
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

Result<Common> read_common(const Args& args) {
  Common common;
  common.quiet = args.has("quiet");
  common.verbose = args.has("verbose");
  if (const auto text = args.value("timeout")) {
    TRY_ASSIGN(common.timeout_ms, parse_duration_ms(*text));
  }
  if (const auto dir = args.value("dir")) {
    if (dir->empty()) return fail(Errc::kUsage, "--dir needs a directory, not ''");
    common.dir = *dir;
    return common;
  }
  // It asks for a cluster: a directory instead would be a silent guess.
  if (environment("SPOOL_BOOTSTRAP_SERVER"))
    return fail(Errc::kUsage,
                "SPOOL_BOOTSTRAP_SERVER is set, and this version works on directories only: give "
                "--dir, or unset it");
  if (const auto dir = environment("SPOOL_DIR")) {
    common.dir = *dir;
  } else if (const auto state = environment("XDG_STATE_HOME")) {
    common.dir = *state + "/spool";
  } else if (const auto home = environment("HOME")) {
    common.dir = *home + "/.local/state/spool";
  } else {
    return fail(Errc::kUsage, "no directory: give --dir, or set SPOOL_DIR or HOME");
  }
  return common;
}

Store::Options store_options(const Common& common) {
  static SystemClock clock;
  Store::Options options{posix_fs(), clock, {}, {}, false};
  options.notice = [quiet = common.quiet](const std::string& text) {
    if (!quiet) say(text);
  };
  options.home = environment("HOME").value_or("");
  options.any_fs = environment("SPOOL_ANY_FS") == "1";
  return options;
}

namespace {

std::atomic<int> caught_signal{0};
std::array<int, 2> signal_pipe{-1, -1};
constexpr suseconds_t kNudgeUs = 50'000;

extern "C" void on_signal(int signal) {
  const int saved = errno;
  if (signal == SIGALRM) {  // only there to interrupt a blocking call
    errno = saved;
    return;
  }
  if (caught_signal.exchange(signal) != 0) _exit(status::kSignal + signal);
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
  struct sigaction action{};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGALRM}) {
    struct sigaction before{};
    ::sigaction(signal, nullptr, &before);
    // nohup and shells' background jobs have them ignored: that stays.
    if (before.sa_handler != SIG_IGN || signal == SIGALRM) ::sigaction(signal, &action, nullptr);
  }
}

int signal_fd() {
  return signal_pipe[0];
}
int pending_signal() {
  return caught_signal.load();
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
  _exit(status::kSignal + signal);
}

std::int64_t steady_ms() {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::steady_clock;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0) {
      if (errno == EINTR && pending_signal() == 0) continue;
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace spool
