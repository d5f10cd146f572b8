#include "output.h"

#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "context.h"
#include "utf8.h"

namespace spool {

namespace {

constexpr std::size_t kLargeBytes = std::size_t{4} << 20;

}  // namespace

Output::Output(bool escape) : escape_(escape) {
  text_.reserve(2 * kFullBytes);
}

Output::~Output() {
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
  }
  filled_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool stdout_is_file() {
  struct stat st{};
  return ::fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode);
}

std::string escape_for_terminal(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    std::size_t length = 1;
    if (c >= 0xc2) length = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    // C1 controls (U+0080 to U+009F) drive terminals too.
    const bool c1 = length == 2 && c == 0xc2 && i + 1 < text.size() &&
                    static_cast<unsigned char>(text[i + 1]) < 0xa0;
    const bool shown = c >= 0x80 ? length > 1 && i + length <= text.size() && !c1 &&
                                       is_utf8(text.substr(i, length))
                                 : (c >= 0x20 && c != 0x7f) || c == '\n' || c == '\t';
    if (shown) {
      out.append(text, i, length);
      i += length;
    } else {
      out += fmt::format("\\x{:02x}", c);
      ++i;
    }
  }
  return out;
}

/// Writes and counts what is taken: of an escaped piece the bytes before escaping, when it is
/// whole.
bool Output::write_out(std::string_view text, std::size_t unescaped) {
  if (!escape_) return write_all(STDOUT_FILENO, text, &written_);
  const bool good = write_all(STDOUT_FILENO, text);
  if (good) written_ += static_cast<std::int64_t>(unescaped);
  return good;
}

bool Output::flush() {
  if (text_.empty()) return !failed();
  const std::size_t unescaped = text_.size();
  bytes_ += static_cast<std::int64_t>(unescaped);
  if (escape_) text_ = escape_for_terminal(text_);
  std::unique_lock guard(mutex_);
  if (problem_ != 0) return false;
  if (!threaded_ || text_.size() > kLargeBytes) {
    // The first piece is written at once, for most outputs have no second one; and a very large
    // one, which must not be there twice.
    taken_.wait(guard, [&] { return problem_ != 0 || (ready_.empty() && !writing_); });
    if (problem_ != 0) return false;
    guard.unlock();
    const bool good = write_out(text_, unescaped);
    const int problem = errno;
    if (text_.size() > kLargeBytes) std::string().swap(text_);
    text_.clear();
    guard.lock();
    if (!good) problem_ = problem;
    threaded_ = true;
    return good;
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { write_loop(); });
  taken_.wait(guard, [&] { return ready_.empty() || problem_ != 0; });
  if (problem_ != 0) return false;
  ready_.swap(text_);
  ready_unescaped_ = unescaped;
  guard.unlock();
  filled_.notify_one();
  text_.clear();
  return true;
}

bool Output::write_through(std::string_view large) {
  if (!flush()) return false;
  bytes_ += static_cast<std::int64_t>(large.size());
  std::unique_lock guard(mutex_);
  taken_.wait(guard, [&] { return problem_ != 0 || (ready_.empty() && !writing_); });
  if (problem_ != 0) return false;
  guard.unlock();
  const bool good = write_out(large, large.size());
  const int problem = errno;
  guard.lock();
  if (!good) problem_ = problem;
  return good;
}

void Output::write_loop() {
  const NudgedThread nudged;  // so that a reader that takes nothing cannot outlast a signal
  std::string piece;
  for (;;) {
    std::size_t unescaped = 0;
    {
      std::unique_lock guard(mutex_);
      writing_ = false;
      if (ready_.empty()) taken_.notify_one();
      filled_.wait(guard, [&] { return stop_ || !ready_.empty(); });
      if (ready_.empty()) return;
      piece.swap(ready_);
      unescaped = ready_unescaped_;
      ready_.clear();
      writing_ = true;
      taken_.notify_one();
    }
    const bool good = write_out(piece, unescaped);
    const int problem = errno;
    piece.clear();
    if (good) continue;
    const std::lock_guard guard(mutex_);
    problem_ = problem;
    ready_.clear();
    taken_.notify_one();
  }
}

bool Output::finish() {
  (void)flush();
  std::unique_lock guard(mutex_);
  taken_.wait(guard, [&] { return problem_ != 0 || (ready_.empty() && !writing_); });
  return problem_ == 0;
}

bool Output::failed() {
  const std::lock_guard guard(mutex_);
  return problem_ != 0;
}

int Output::problem() {
  const std::lock_guard guard(mutex_);
  return problem_;
}

}  // namespace spool
