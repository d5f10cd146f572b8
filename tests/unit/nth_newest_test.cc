#include "log/nth_newest.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace spool {
namespace {

struct Topic {
  std::vector<RecordTime> records;
  std::vector<RecordTime> sorted;
  int scans = 0;

  RecordScan scan() {
    return [this](RecordTimes& times) -> Result<void> {
      ++scans;
      for (const RecordTime& r : records)
        if (times.wants(r.timestamp)) times.offer(r);
      return {};
    };
  }
  /// By sorting, once: the records are all there by then.
  [[nodiscard]] std::optional<RecordTime> nth(std::int64_t n) {
    if (sorted.empty()) {
      sorted = records;
      std::sort(sorted.begin(), sorted.end(), std::greater<>());
    }
    if (n > static_cast<std::int64_t>(sorted.size())) return std::nullopt;
    return sorted[static_cast<std::size_t>(n - 1)];
  }
  void expect_right(std::int64_t n) {
    const auto found = nth_newest(scan(), n);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(*found, nth(n)) << "n = " << n;
  }
};

constexpr std::int64_t kRecords = 4 * kNthKept;

Topic topic_with(auto time_of, std::int32_t partitions) {
  Topic topic;
  for (std::int64_t i = 0; i < kRecords; ++i)
    topic.records.push_back({TimestampMs(time_of(i)),
                             PartitionId(static_cast<std::int32_t>(i % partitions)),
                             Offset(i / partitions)});
  return topic;
}

constexpr std::int64_t kRanks[] = {
    1, 2, kNthKept, kNthKept + 1, kRecords / 2, kRecords - 1, kRecords, kRecords + 1};

TEST(NthNewest, AscendingTimes) {
  Topic topic = topic_with([](std::int64_t i) { return 1'700'000'000'000 + i / 3; }, 3);
  for (const std::int64_t n : kRanks)
    topic.expect_right(n);
  topic.scans = 0;
  topic.expect_right(kNthKept);
  EXPECT_EQ(topic.scans, 1);
  topic.scans = 0;
  topic.expect_right(kNthKept + 1);
  EXPECT_LE(topic.scans, 4);
}

TEST(NthNewest, RandomTimesOfTheWholeRange) {
  std::mt19937_64 random(1);
  Topic topic = topic_with([&](std::int64_t) { return static_cast<std::int64_t>(random()); }, 5);
  topic.records[7].timestamp = TimestampMs(std::numeric_limits<std::int64_t>::max());
  topic.records[8].timestamp = TimestampMs(std::numeric_limits<std::int64_t>::min());
  for (const std::int64_t n : kRanks)
    topic.expect_right(n);
}

TEST(NthNewest, AllOfOneTime) {
  Topic topic = topic_with([](std::int64_t) { return 7; }, 2);
  for (const std::int64_t n : kRanks)
    topic.expect_right(n);
}

TEST(NthNewest, AlmostAllOfOneTimeAndOnePartition) {
  Topic topic = topic_with([](std::int64_t i) { return i % 1000 == 0 ? i : 500'000; }, 1);
  for (const std::int64_t n : kRanks)
    topic.expect_right(n);
}

TEST(NthNewest, RecordsThatGoBetweenTheScans) {
  Topic topic = topic_with([](std::int64_t i) { return i; }, 1);
  // The oldest ones go when they have been counted: there are `left` from the second scan on.
  const auto trimmed_to = [&](std::int64_t left) {
    return [&topic, left, scans = 0](RecordTimes& times) mutable -> Result<void> {
      const auto first = scans++ == 0 ? 0 : kRecords - left;
      for (auto i = first; i < kRecords; ++i) {
        const RecordTime& r = topic.records[static_cast<std::size_t>(i)];
        if (times.wants(r.timestamp)) times.offer(r);
      }
      return {};
    };
  };
  const std::int64_t count = kRecords - 10;
  EXPECT_EQ(nth_newest(trimmed_to(count - 1), count), std::nullopt);
  EXPECT_EQ(nth_newest(trimmed_to(count), count), topic.nth(count));
  int scans = 0;
  const RecordScan always = [&](RecordTimes& times) -> Result<void> {
    if (dynamic_cast<const NewestRecords*>(&times) == nullptr && scans++ % 2 == 0)
      return topic.scan()(times);
    return {};
  };
  const auto never = nth_newest(always, count);
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().code, Errc::kConflict);
}

TEST(NthNewest, ErrorsOfTheScanComeBack) {
  const RecordScan broken = [](RecordTimes&) -> Result<void> {
    return fail(Errc::kCancelled, "stopped");
  };
  for (const std::int64_t n : {std::int64_t{1}, kNthKept + 1}) {
    const auto found = nth_newest(broken, n);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Errc::kCancelled);
  }
}

}  // namespace
}  // namespace spool
