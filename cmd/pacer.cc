#include "pacer.h"

#include <ctime>
#include <limits>

namespace spool {

namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr double kNsPerMs = 1e6;
/// Farther ahead than anybody waits, and far from overflowing.
constexpr double kFarNs = 4e18;

}  // namespace

std::int64_t Pacer::now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * kNsPerSecond + now.tv_nsec;
}

std::int64_t Pacer::due_ns(TimestampMs timestamp, std::int64_t now) {
  if (!speed_ || timestamp == kNoTimestamp) return 0;
  if (!origin_ns_) {
    origin_ns_ = now;
    first_ = timestamp;
  }
  // Timestamps are anything that a producer sent: a difference of two may not fit.
  const double behind_ms =
      static_cast<double>(timestamp.value()) - static_cast<double>(first_.value());
  if (behind_ms <= 0) return timestamp == first_ ? *origin_ns_ : 0;
  const double behind_ns = behind_ms * kNsPerMs / *speed_;
  if (behind_ns >= kFarNs) return std::numeric_limits<std::int64_t>::max();
  return *origin_ns_ + static_cast<std::int64_t>(behind_ns);
}

void Pacer::sleep_until(std::int64_t due) {
  timespec at{};
  at.tv_sec = static_cast<time_t>(due / kNsPerSecond);
  at.tv_nsec = static_cast<long>(due % kNsPerSecond);
  (void)::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
}

}  // namespace spool
