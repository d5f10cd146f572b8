#include "context.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <fmt/format.h>

#include "group/offset_store.h"
#include "io/posix_fs.h"
#include "output.h"
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

namespace {

enum class Tone { kNote, kError };

std::mutex stderr_mutex;
bool status_shown = false;
std::atomic<bool> colored{false};

constexpr std::string_view kWipeLine = "\r\x1b[K";

void write_stderr(const std::string& text) {
  // Where stderr is closed there is nobody to tell.
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
}

void say_in(Tone tone, std::string_view text) {
  std::string line =
      colored ? (tone == Tone::kError ? "\x1b[1;31mspool:\x1b[0m " : "\x1b[1;33mspool:\x1b[0m ")
              : "spool: ";
  // A name that somebody else chose must not drive the terminal, nor look like a second message.
  std::string shown = escape_for_terminal(text);
  for (std::size_t at = shown.find('\n'); at != std::string::npos; at = shown.find('\n', at))
    shown.replace(at, 1, "\\n");
  line += shown;
  line += '\n';
  const std::lock_guard guard(stderr_mutex);
  if (std::exchange(status_shown, false)) line.insert(0, kWipeLine);
  write_stderr(line);
}

}  // namespace

void say(std::string_view text) {
  say_in(Tone::kNote, text);
}

void set_color(std::string_view when) {
  const bool terminal = ::isatty(STDERR_FILENO) == 1 && environment("TERM") != "dumb";
  colored = when == "always" || (when == "auto" && terminal && !environment("NO_COLOR"));
}

void show_status(std::string_view text) {
  const std::lock_guard guard(stderr_mutex);
  if (text.empty() && !status_shown) return;
  status_shown = !text.empty();
  write_stderr(fmt::format("{}{}", kWipeLine, text));
}

int report_error(const Error& error) {
  say_in(Tone::kError, error.message());
  return status_of(error);
}

int usage_error(std::string_view command, const Error& error) {
  std::string text = error.message();
  text += "; see 'spool ";
  text += command;
  text += command.empty() ? "--help'" : " --help'";
  say_in(Tone::kError, text);
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
  options.stop = [] { return pending_signal() != 0; };
  options.give_up = signal_overdue;
  options.on_deleted = [](Store& store, const std::string& topic) {
    return OffsetStore(store).remove_topic(topic);
  };
  return options;
}

int report_open_error(const Error& error, const std::string& dir) {
  std::string path = dir;
  while (path.size() > 1 && path.ends_with('/'))
    path.pop_back();
  std::array<char, PATH_MAX> target{};
  const ssize_t n = ::readlink(path.c_str(), target.data(), target.size());
  if (error.code != Errc::kNotFound || n <= 0 || ::access(path.c_str(), F_OK) == 0)
    return report_error(error);
  return report_error({error.code, 0,
                       fmt::format("'{}' is a symbolic link to '{}', which does not exist", path,
                                   std::string_view(target.data(), static_cast<std::size_t>(n)))});
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
bool write_rest(int fd, std::string_view text, std::atomic<std::int64_t>* written) {
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
    if (written != nullptr) *written += n;
    taken_ms = steady_ms();
  }
  return true;
}

}  // namespace

bool write_all(int fd, std::string_view text, std::atomic<std::int64_t>* written) {
  while (!text.empty()) {
    if (pending_signal() != 0 && !is_file(fd)) return write_rest(fd, text, written);
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
      if (written != nullptr) *written += n;
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
