#pragma once
/// Reads the next piece of a file while its user works on the one before.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/buffer.h"
#include "base/executor.h"
#include "base/result.h"
#include "io/fs.h"

namespace spool {

/// Calls are for one thread. The destructor waits for a read that is under way.
class ReadAhead {
 public:
  ReadAhead(Executor& executor, std::shared_ptr<File> file)
      : executor_(executor), file_(std::move(file)) {}
  ~ReadAhead() { wait(); }
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Begins to read `bytes` at `at`, behind room for `room` bytes that the user will put before
  /// them. What an earlier start() read is dropped.
  void start(std::int64_t at, std::size_t room, std::size_t bytes);
  /// Waits for what was started. True when it begins at `at` and has room for `before`: then
  /// `into` is what was read, with `before` in front of it beginning at byte `used`; its former
  /// memory serves the next start(). `before` may lie in `into`. A short or failed read gives less,
  /// or false: the user reads on by itself, and meets the error.
  [[nodiscard]] bool take(std::int64_t at, Bytes before, Buffer& into, std::size_t& used);

 private:
  void wait();

  Executor& executor_;
  const std::shared_ptr<File> file_;
  bool started_ = false;
  std::int64_t at_ = 0;
  std::size_t room_ = 0;
  Buffer buffer_;        ///< the job's while it is under way
  std::size_t got_ = 0;  ///< behind the room; the job's while it is under way
  std::mutex mutex_;     ///< guards all below
  std::condition_variable done_;
  bool under_way_ = false;
};

}  // namespace spool
