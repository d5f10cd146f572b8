#include "progress.h"

#include <algorithm>
#include <array>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "context.h"

namespace spool {

namespace {

constexpr std::int64_t kFirstMs = 1000;
constexpr std::int64_t kEveryMs = 200;

/// Columns of the terminal on stderr: a longer line would wrap, and could not be wiped.
std::size_t columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

std::string human_bytes(std::int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit)
    value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

Progress::Progress(const Args& args, bool fits) {
  const std::string when = args.value("progress").value_or("auto");
  enabled_ = when == "always" ||
             (when == "auto" && fits && !args.has("quiet") && ::isatty(STDERR_FILENO) == 1);
  if (!enabled_) return;
  begin_ms_ = steady_ms();
  next_ms_ = begin_ms_ + (when == "always" ? 0 : kFirstMs);
}

Progress::~Progress() {
  clear();
}

std::string human_seconds(std::int64_t seconds) {
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
}

std::string progress_line(std::int64_t bytes, std::int64_t records, const Progress::Part& part,
                          std::int64_t elapsed_ms) {
  const double seconds = static_cast<double>(std::max<std::int64_t>(elapsed_ms, 1)) / 1000;
  std::string text = fmt::format("{} records, {}", records, human_bytes(bytes));
  const bool known = part.total > 0 && part.done <= part.total;  // a file may have grown
  const double done = known ? static_cast<double>(part.done) / static_cast<double>(part.total) : 0;
  if (known) text += fmt::format(", {}%", static_cast<int>(done * 100));
  text += fmt::format(", {}/s",
                      human_bytes(static_cast<std::int64_t>(static_cast<double>(bytes) / seconds)));
  if (known && done > 0)
    text += fmt::format(
        ", {} left", human_seconds(static_cast<std::int64_t>(seconds * (1 - done) / done + 0.5)));
  return text;
}

void Progress::update(std::int64_t bytes, std::int64_t records, const Part& part) {
  if (!enabled_) return;
  const std::int64_t now = steady_ms();
  if (now < next_ms_) return;
  next_ms_ = now + kEveryMs;
  std::string text = progress_line(bytes, records, part, now - begin_ms_);
  text.resize(std::min(text.size(), columns() - 1));
  show_status(text);
}

void Progress::clear() {
  if (enabled_) show_status("");
}

}  // namespace spool
