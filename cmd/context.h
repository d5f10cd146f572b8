#pragma once
/// What every command shares: exit statuses, messages on stderr, the directory, signals.

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "options.h"
#include "signals.h"
#include "store/store.h"

namespace spool {

/// The exit statuses of the contract.
namespace status {
inline constexpr int kOk = 0, kFailure = 1, kUsage = 2, kNotFound = 3, kConflict = 4, kBadInput = 5,
                     kDamaged = 6, kTimeout = 124, kSignal = 128;
}  // namespace status
[[nodiscard]] int status_of(const Error& error);

/// Messages go to stderr as a line "spool: TEXT", with control bytes and what is not UTF-8 as \xNN.
/// Thread-safe.
void say(std::string_view text);
/// What --color says: "auto" (on a terminal, unless NO_COLOR is set), "always" or "never".
void set_color(std::string_view when);
/// A line on stderr that the next message, the next such line or an empty one replaces.
/// Thread-safe.
void show_status(std::string_view text);
/// Says the error and gives its status.
[[nodiscard]] int report_error(const Error& error);
[[nodiscard]] int usage_error(std::string_view command, const Error& error);

/// $HOME-like look-ups; empty counts as unset.
[[nodiscard]] std::optional<std::string> environment(const char* name);

/// What the common options say.
struct Common {
  std::string dir;
  bool quiet = false;
  bool verbose = false;
  std::optional<std::int64_t> timeout_ms;
};
[[nodiscard]] Result<Common> read_common(const Args& args);

/// Real file system and clock, warnings to stderr unless quiet.
[[nodiscard]] Store::Options store_options(const Common& common);

/// report_error() for a directory that could not be opened: says it when it is a link to nowhere.
[[nodiscard]] int report_open_error(const Error& error, const std::string& dir);

/// Milliseconds of a clock that never steps.
[[nodiscard]] std::int64_t steady_ms();

/// Writes all of `text` to a descriptor; false when it cannot (errno says why). A signal that came
/// ends it early with EINTR: when nothing is taken any more, and within a second.
[[nodiscard]] bool write_all(int fd, std::string_view text,
                             std::atomic<std::int64_t>* written = nullptr);

}  // namespace spool
