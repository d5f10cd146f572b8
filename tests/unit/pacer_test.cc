#include "pacer.h"

#include <limits>

#include <gtest/gtest.h>

namespace spool {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kNow = 5'000 * kMs;
constexpr TimestampMs kFirst{1'700'000'000'000};

TEST(Pacer, CountsFromTheFirstRecordOnly) {
  Pacer pacer(1.0);
  EXPECT_EQ(pacer.due_ns(kFirst, kNow), kNow);
  // However late it is by now.
  EXPECT_EQ(pacer.due_ns(kFirst + 40, kNow + 70 * kMs), kNow + 40 * kMs);
  EXPECT_EQ(pacer.due_ns(kFirst + 1000, kNow + 999 * kMs), kNow + 1000 * kMs);
  EXPECT_EQ(pacer.due_ns(kFirst, kNow + 2000 * kMs), kNow);
}

TEST(Pacer, SpeedDividesTheGaps) {
  Pacer fast(10.0);
  EXPECT_EQ(fast.due_ns(kFirst, kNow), kNow);
  EXPECT_EQ(fast.due_ns(kFirst + 1000, kNow), kNow + 100 * kMs);
  Pacer slow(0.5);
  EXPECT_EQ(slow.due_ns(kFirst, kNow), kNow);
  EXPECT_EQ(slow.due_ns(kFirst + 1000, kNow), kNow + 2000 * kMs);
}

TEST(Pacer, OddTimesAreDueAtOnce) {
  Pacer pacer(1.0);
  EXPECT_EQ(pacer.due_ns(kNoTimestamp, kNow), 0);  // and is not what the others are counted from
  EXPECT_EQ(pacer.due_ns(kFirst, kNow), kNow);
  EXPECT_EQ(pacer.due_ns(kFirst - 5000, kNow), 0);
  EXPECT_EQ(pacer.due_ns(kNoTimestamp, kNow), 0);
  EXPECT_EQ(pacer.due_ns(TimestampMs(std::numeric_limits<std::int64_t>::min()), kNow), 0);
  EXPECT_EQ(pacer.due_ns(TimestampMs(std::numeric_limits<std::int64_t>::max()), kNow),
            std::numeric_limits<std::int64_t>::max());
}

TEST(Pacer, FullSpeedWaitsForNothing) {
  Pacer pacer(std::nullopt);
  EXPECT_FALSE(pacer.paces());
  EXPECT_EQ(pacer.due_ns(kFirst, kNow), 0);
  EXPECT_EQ(pacer.due_ns(kFirst + 1'000'000, kNow), 0);
}

TEST(Pacer, SleepsUntilTheDeadline) {
  const std::int64_t due = Pacer::now_ns() + 5 * kMs;
  Pacer::sleep_until(due);
  EXPECT_GE(Pacer::now_ns(), due);
  Pacer::sleep_until(due);  // long past
}

}  // namespace
}  // namespace spool
