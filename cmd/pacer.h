#pragma once
/// Keeps the pace of records by their timestamps, at their own speed or a multiple of it.

#include <cstdint>
#include <optional>

#include "base/ids.h"

namespace spool {

/// Deadlines are counted from the first record that was asked for, so that what one wait is late is
/// not added to the next. Not thread-safe.
class Pacer {
 public:
  /// `speed` is above 0; unset: nothing waits for anything.
  explicit Pacer(std::optional<double> speed) : speed_(speed) {}

  [[nodiscard]] bool paces() const { return speed_.has_value(); }
  /// When a record of this time is due, in nanoseconds of the monotonic clock; never negative. The
  /// first one is due now. A record without a time, or older than the first, is due at once.
  [[nodiscard]] std::int64_t due_ns(TimestampMs timestamp, std::int64_t now);

  /// The monotonic clock.
  [[nodiscard]] static std::int64_t now_ns();
  /// Sleeps until `due`, or a signal comes.
  static void sleep_until(std::int64_t due);

 private:
  std::optional<double> speed_;
  std::optional<std::int64_t> origin_ns_;
  TimestampMs first_;
};

}  // namespace spool
