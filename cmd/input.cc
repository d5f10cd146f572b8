#include "input.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <limits>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context.h"

namespace spool {

Input::Input(std::vector<std::string> paths) : paths_(std::move(paths)) {
  if (paths_.empty()) paths_.emplace_back("-");
}

Input::~Input() {
  close_current();
}

void Input::close_current() {
  if (fd_ > STDIN_FILENO) ::close(fd_);
  fd_ = -1;
}

Result<void> Input::open_next() {
  if (fd_ >= 0 || next_ >= paths_.size()) return {};
  const std::string& path = paths_[next_++];
  if (path == "-") {
    fd_ = STDIN_FILENO;
    name_.clear();
  } else {
    do {
      fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    } while (fd_ < 0 && errno == EINTR && pending_signal() == 0);
    if (fd_ < 0) {
      const int e = errno;
      return fail(Error{Errc::kIo, e, "cannot open '" + path + "'"});
    }
    name_ = path;
  }
  struct stat st{};
  regular_ = ::fstat(fd_, &st) == 0 && (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode));
  size_hint_ = regular_ ? st.st_size : 0;
  return {};
}

namespace {

/// Of a regular file, else nullopt.
std::optional<std::int64_t> file_size(const std::string& path) {
  struct stat st{};
  const int got = path == "-" ? ::fstat(STDIN_FILENO, &st) : ::stat(path.c_str(), &st);
  if (got != 0 || !S_ISREG(st.st_mode)) return std::nullopt;
  return st.st_size;
}

}  // namespace

bool Input::reads_file() const {
  return file_size(paths_.front()).has_value();
}

std::int64_t Input::total_bytes() const {
  std::int64_t total = 0;
  for (const std::string& path : paths_) {
    const auto size = file_size(path);
    if (!size) return 0;
    total += *size;
  }
  return total;
}

bool Input::readable_now() {
  if (fd_ < 0 || regular_) return true;
  pollfd p{fd_, POLLIN, 0};
  return ::poll(&p, 1, 0) > 0;
}

Input::Event Input::wait(std::int64_t timeout_ms, const std::vector<int>& wake_fds, bool input) {
  if (pending_signal() != 0) return Event::kSignal;
  if (input && (fd_ < 0 || regular_)) return Event::kReadable;
  std::vector<pollfd> fds;
  fds.push_back({signal_fd(), POLLIN, 0});
  for (const int fd : wake_fds)
    fds.push_back({fd, POLLIN, 0});
  if (input) fds.push_back({fd_, POLLIN, 0});
  const auto timeout =
      static_cast<int>(std::clamp<std::int64_t>(timeout_ms, -1, std::numeric_limits<int>::max()));
  const int n = ::poll(fds.data(), fds.size(), timeout);
  if (pending_signal() != 0) return Event::kSignal;
  if (n == 0) return Event::kTimeout;
  if (n < 0) return Event::kWake;  // interrupted: the caller looks around and comes again
  if (input && fds.back().revents != 0) return Event::kReadable;
  return Event::kWake;
}

Result<Input::Got> Input::read(Buffer& buffer, std::size_t bytes) {
  TRY(open_next());
  if (fd_ < 0) return Got::kEnd;
  buffer.make_room(bytes);
  // More at a time only behind what is there already: one record that is long, mostly. Else a
  // buffer that somebody made larger would be filled, and would not stay in the caches.
  const std::size_t room = std::min(buffer.capacity() - buffer.size(),
                                    bytes < kReadBytes ? bytes : std::max(bytes, buffer.size()));
  for (;;) {
    const ssize_t n = ::read(fd_, buffer.end(), room);
    if (n > 0) {
      buffer.resize(buffer.size() + static_cast<std::size_t>(n));
      bytes_read_ += n;
      return Got::kData;
    }
    if (n == 0) {
      close_current();
      return Got::kFileEnd;
    }
    if (errno == EINTR && pending_signal() == 0) continue;
    if (errno == EINTR) return Got::kData;  // nothing read; the caller sees the signal
    // Somebody made our input non-blocking, and who shares it was faster: the caller waits again.
    if (errno == EAGAIN) return Got::kData;
    const int e = errno;
    return fail(
        Error{Errc::kIo, e,
              name_.empty() ? "cannot read standard input" : "cannot read '" + name_ + "'"});
  }
}

}  // namespace spool
