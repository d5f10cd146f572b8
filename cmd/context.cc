#include "context.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>

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

std::int64_t steady_ms() {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::steady_clock;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

namespace {

/// After a signal a reader of our output that takes nothing for so long is given up.
constexpr std::int64_t kStalledMs = 250;
/// A pipe that polls as writable takes so much without waiting.
constexpr std::size_t kPieceBytes = PIPE_BUF;

bool is_file(int fd) {
  struct stat st{};
  return ::fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/// Up to the last line end within one piece, where there is one.
std::string_view whole_lines(std::string_view text) {
  if (text.size() <= kPieceBytes) return text;
  const std::size_t end = text.rfind('\n', kPieceBytes - 1);
  return text.substr(0, end == std::string_view::npos ? kPieceBytes : end + 1);
}

/// Waits until `fd` takes bytes, or `until_ms`.
bool wait_writable(int fd, std::int64_t until_ms) {
  for (;;) {
    const std::int64_t left = until_ms - steady_ms();
    pollfd p{fd, POLLOUT, 0};
    const int n = ::poll(&p, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (n > 0) return true;  // or an error, which write will tell
    if (left <= 0) return false;
  }
}

/// What is left to write when a signal came: as long as it is taken, and not for long. Where it
/// stops between two lines it does.
bool write_rest(int fd, std::string_view text) {
  const std::int64_t end_ms = steady_ms() + kSignalGraceMs - ms_since_signal();
  std::int64_t taken_ms = steady_ms();
  while (!text.empty()) {
    if (!wait_writable(fd, std::min(taken_ms + kStalledMs, end_ms)) || signal_overdue()) {
      errno = EINTR;
      return false;
    }
    const std::string_view piece = whole_lines(text);
    const ssize_t n = ::write(fd, piece.data(), piece.size());
    if (n < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(n));
    taken_ms = steady_ms();
  }
  return true;
}

}  // namespace

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    if (pending_signal() != 0 && !is_file(fd)) return write_rest(fd, text);
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      // Somebody, mostly at the other end, made our output non-blocking.
      pollfd p{fd, POLLOUT, 0};
      (void)::poll(&p, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace spool
