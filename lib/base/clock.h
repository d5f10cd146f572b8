#pragma once
/// Wall-clock time for timestamps and age; tests replace it.

#include "base/ids.h"

namespace spool {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Milliseconds since 1970-01-01 UTC; may step. Thread-safe.
  [[nodiscard]] virtual TimestampMs now() = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] TimestampMs now() override;
};

/// A clock that stands still until it is told otherwise; not thread-safe.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(TimestampMs at) : at_(at) {}
  [[nodiscard]] TimestampMs now() override { return at_; }
  void set(TimestampMs at) { at_ = at; }

 private:
  TimestampMs at_;
};

}  // namespace spool
