#include "worker.h"

namespace spool {

Worker::~Worker() {
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
  }
  given_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Worker::run(std::function<void()> job) {
  {
    const std::lock_guard guard(mutex_);
    jobs_.push_back(std::move(job));
    if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  }
  given_.notify_one();
}

void Worker::loop() {
  std::unique_lock guard(mutex_);
  for (;;) {
    given_.wait(guard, [&] { return stop_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    guard.unlock();
    job();
    guard.lock();
  }
}

}  // namespace spool
