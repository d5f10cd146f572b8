#pragma once
/// A thread for jobs beside the main one, started by the first.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/executor.h"

namespace spool {

/// The destructor waits for the jobs that were given to it.
class Worker final : public Executor {
 public:
  Worker() = default;
  ~Worker() override;
  void run(std::function<void()> job) override;

 private:
  void loop();

  std::mutex mutex_;  ///< guards all below
  std::condition_variable given_;
  std::deque<std::function<void()>> jobs_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace spool
