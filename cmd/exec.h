#pragma once
/// Commands that records are given to: `sh -c CMD` with the records on its standard input, one at a
/// time for each lane, several lanes side by side.

#include <cstdint>
#include <poll.h>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace spool {

struct ExecEnd {
  int lane = 0;
  Offset first;  ///< what start() was given
  Offset next;
  int status = 0;  ///< as a shell says it: 128 + n when signal n ended the command
};

/// Not thread-safe.
class ExecPool {
 public:
  explicit ExecPool(std::string command) : command_(std::move(command)) {}
  ~ExecPool();
  ExecPool(const ExecPool&) = delete;
  ExecPool& operator=(const ExecPool&) = delete;

  [[nodiscard]] bool room() const { return running_.size() < kRunningMax; }
  [[nodiscard]] bool runs(int lane) const;
  [[nodiscard]] std::size_t running() const { return running_.size(); }
  /// Starts the command for a lane that has none running. What it prints goes where ours goes.
  /// `input` is the records of [first, next).
  [[nodiscard]] Result<void> start(int lane, std::string input, Offset first, Offset next);
  /// Descriptors to wait for, added to `fds`.
  void add_fds(std::vector<pollfd>& fds) const;
  /// Feeds the commands and collects those that ended; never waits.
  [[nodiscard]] std::vector<ExecEnd> step();

  static constexpr std::size_t kRunningMax = 16;

 private:
  struct Running {
    int lane = 0;
    Offset first;
    Offset next;
    int pid = -1;
    int pid_fd = -1;
    int input_fd = -1;
    std::string input;
    std::size_t written = 0;
  };
  static void feed(Running& r);

  const std::string command_;
  std::vector<Running> running_;
};

}  // namespace spool
