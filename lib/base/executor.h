#pragma once
/// Where jobs run beside the thread that asks for them. The library starts no thread: whoever calls
/// it may own one and lend it.

#include <functional>

namespace spool {

/// run() is for one thread; jobs run in the order of the calls.
class Executor {
 public:
  virtual ~Executor() = default;
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Returns at once. The job must not throw.
  virtual void run(std::function<void()> job) = 0;
};

}  // namespace spool
