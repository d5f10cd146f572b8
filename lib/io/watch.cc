#include "io/watch.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/inotify.h>
#include <system_error>
#include <unistd.h>

namespace spool {

namespace {

constexpr std::uint32_t kEvents =
    IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_MOVE_SELF | IN_DELETE_SELF;

}  // namespace

Watcher::Watcher(bool enabled) {
  if (!enabled) {
    problem_ = "the file system does not tell of changes by other hosts";
    return;
  }
  fd_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd_ < 0) problem_ = "inotify: " + std::generic_category().message(errno);
}

Watcher::~Watcher() {
  if (fd_ >= 0) ::close(fd_);
}

bool Watcher::add(const std::string& folder, int token) {
  return add_watch(folder, kEvents | IN_ONLYDIR, token);
}

bool Watcher::add_file(const std::string& path, int token) {
  return add_watch(path, IN_MODIFY | IN_CLOSE_WRITE, token);
}

bool Watcher::add_watch(const std::string& path, std::uint32_t events, int token) {
  if (fd_ < 0) return false;
  const int watch = ::inotify_add_watch(fd_, path.c_str(), events);
  if (watch < 0) {
    if (errno != ENOENT) problem_ = "inotify: " + std::generic_category().message(errno);
    return false;
  }
  const auto known =
      std::find_if(tokens_.begin(), tokens_.end(), [&](const auto& t) { return t.first == watch; });
  if (known != tokens_.end()) {
    known->second = token;
  } else {
    tokens_.emplace_back(watch, token);
  }
  return true;
}

std::vector<int> Watcher::drain(bool& all) {
  all = false;
  std::vector<int> out;
  alignas(inotify_event) std::array<char, 16384> raw{};
  for (;;) {
    const ssize_t n = ::read(fd_, raw.data(), raw.size());
    if (n <= 0) break;
    for (std::size_t at = 0; at < static_cast<std::size_t>(n);) {
      inotify_event event{};
      std::memcpy(&event, raw.data() + at, sizeof event);
      at += sizeof event + event.len;
      if ((event.mask & IN_Q_OVERFLOW) != 0) all = true;
      for (const auto& [watch, token] : tokens_)
        if (watch == event.wd && std::find(out.begin(), out.end(), token) == out.end())
          out.push_back(token);
    }
  }
  return out;
}

}  // namespace spool
