#pragma once
/// Threads that have nothing else to do, and those who have something for them. The library starts
/// no thread: whoever calls it may lend some.

#include <cstddef>
#include <memory>

namespace spool {

/// Work of which any thread can do a piece.
class SharedWork {
 public:
  virtual ~SharedWork() = default;
  SharedWork() = default;
  SharedWork(const SharedWork&) = delete;
  SharedWork& operator=(const SharedWork&) = delete;

  /// Does a piece; false when there is none now. From any thread, several at a time.
  virtual bool help() = 0;
};

/// All from any thread.
class Helpers {
 public:
  virtual ~Helpers() = default;
  Helpers() = default;
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  /// How many threads there are, busy ones and the caller's counted.
  [[nodiscard]] virtual std::size_t size() const = 0;
  /// From now on `work` may be helped with; called again when it has more to do.
  virtual void ask(const std::shared_ptr<SharedWork>& work) = 0;
  /// Nobody begins a piece of it any more; somebody may still be at one.
  virtual void forget(const std::shared_ptr<SharedWork>& work) = 0;
};

}  // namespace spool
