#pragma once
/// Waking a reader when files change: inotify, or nothing where it is not to be had, and then the
/// caller polls by time.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace spool {

/// Not thread-safe. Move-only.
class Watcher {
 public:
  /// Always works; fd() is -1 where inotify is not to be had (limits reached, or `enabled` false),
  /// and problem() says why.
  explicit Watcher(bool enabled);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// Watches the files in a folder, and its being moved or removed. `token` comes back from
  /// drain(). False when it cannot be watched: the caller polls.
  [[nodiscard]] bool add(const std::string& folder, int token);
  /// Watches one file for being written to, and for being closed by somebody who could write to it:
  /// the kernel closes a dead process's files. False when it cannot be watched.
  [[nodiscard]] bool add_file(const std::string& path, int token);
  /// Readable when something happened; -1: there is no watching.
  [[nodiscard]] int fd() const { return fd_; }
  /// Tokens of the folders in which something happened since the last call; empties the queue.
  /// `all` is set when events were lost: then anything may have changed.
  [[nodiscard]] std::vector<int> drain(bool& all);
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  [[nodiscard]] bool add_watch(const std::string& path, std::uint32_t events, int token);

  int fd_ = -1;
  std::string problem_;
  std::vector<std::pair<int, int>> tokens_;  ///< watch descriptor, token
};

}  // namespace spool
