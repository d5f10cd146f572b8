#include "progress.h"

#include <array>
#include <unistd.h>

#include <fmt/format.h>

#include "context.h"

namespace spool {

namespace {

constexpr std::int64_t kFirstMs = 1000;
constexpr std::int64_t kEveryMs = 200;

void write_stderr(const std::string& text) {
  // Where stderr is closed there is nobody to show it to.
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
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
  next_ms_ = begin_ms_ + (when == "always" ? kEveryMs : kFirstMs);
}

Progress::~Progress() {
  clear();
}

void Progress::update(std::int64_t bytes, std::int64_t total_bytes, std::int64_t records) {
  if (!enabled_) return;
  const std::int64_t now = steady_ms();
  if (now < next_ms_) return;
  next_ms_ = now + kEveryMs;
  const std::int64_t elapsed = std::max<std::int64_t>(now - begin_ms_, 1);
  std::string text = fmt::format("\r\x1b[K{} records, {}", records, human_bytes(bytes));
  if (total_bytes > 0)
    text += fmt::format(" of {} ({}%)", human_bytes(total_bytes), bytes * 100 / total_bytes);
  text += fmt::format(", {}/s", human_bytes(bytes * 1000 / elapsed));
  write_stderr(text);
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  shown_ = false;
  write_stderr("\r\x1b[K");
}

}  // namespace spool
