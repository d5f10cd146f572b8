#include "values.h"

#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace spool {
namespace {

constexpr TimestampMs kNow{1'767'323'045'678};  // 2026-01-02T03:04:05.678Z

/// Sets $TZ for one test.
class Zone {
 public:
  explicit Zone(const char* name) {
    if (const char* old = std::getenv("TZ")) old_ = old;
    set(name);
  }
  ~Zone() { set(old_.empty() ? nullptr : old_.c_str()); }
  Zone(const Zone&) = delete;
  Zone& operator=(const Zone&) = delete;

 private:
  static void set(const char* name) {
    if (name == nullptr)
      unsetenv("TZ");
    else
      setenv("TZ", name, 1);
    tzset();
  }
  std::string old_;
};

template <class T>
void expect_usage(const Result<T>& result, std::string_view quoted) {
  ASSERT_FALSE(result) << quoted;
  EXPECT_EQ(result.error().code, Errc::kUsage) << quoted;
  EXPECT_NE(result.error().context.find("'" + std::string(quoted) + "'"), std::string::npos)
      << result.error().context;
}

TEST(Duration, EveryUnitAndIsoForm) {
  const std::pair<const char*, std::int64_t> cases[] = {
      {"500ms", 500},
      {"30s", 30'000},
      {"5m", 300'000},
      {"6h", 21'600'000},
      {"7d", 604'800'000},
      {"2w", 1'209'600'000},
      {"0", 0},
      {"0s", 0},
      {"1h30m", 5'400'000},
      {"1d2h3m4s5ms", 93'784'005},
      {"1.5h", 5'400'000},
      {"0.0009s", 0},
      {"PT6H", 21'600'000},
      {"P1DT2H", 93'600'000},
      {"P1W", 604'800'000},
      {"pt0.5s", 500},
      {"PT1H2M3.25S", 3'723'250},
      {"P2D", 172'800'000},
  };
  for (const auto& [text, ms] : cases) {
    const Result<std::int64_t> got = parse_duration_ms(text);
    ASSERT_TRUE(got) << text;
    EXPECT_EQ(*got, ms) << text;
  }
}

TEST(Duration, JunkOverflowAndWhatHasNoFixedLengthAreRefused) {
  for (const char* text : {"",
                           "5",
                           "m",
                           "5 m",
                           " 5m",
                           "5m ",
                           "5mm",
                           "-5m",
                           "+5m",
                           "5M",
                           "5y",
                           "1m1h",
                           "1s1s",
                           "1.h",
                           ".5h",
                           "1..5h",
                           "P",
                           "PT",
                           "P1DT",
                           "P1M",
                           "P1Y",
                           "PT6H ",
                           "P6H",
                           "PT1D",
                           "PT1M1H",
                           "0x5s",
                           "9223372036854775807s",
                           "99999999999999999999ms",
                           "9223372036854775807ms1s"})
    expect_usage(parse_duration_ms(text), text);
}

TEST(Size, PowersOf1024) {
  const std::pair<const char*, std::int64_t> cases[] = {
      {"0", 0},
      {"4096", 4096},
      {"64k", 65'536},
      {"64K", 65'536},
      {"10M", 10'485'760},
      {"1G", 1'073'741'824},
      {"1g", 1'073'741'824},
      {"2T", 2'199'023'255'552},
      {"9223372036854775807", 9'223'372'036'854'775'807},
  };
  for (const auto& [text, bytes] : cases) {
    const Result<std::int64_t> got = parse_size_bytes(text);
    ASSERT_TRUE(got) << text;
    EXPECT_EQ(*got, bytes) << text;
  }
  for (const char* text : {"", "k", "-1", "+1", "1kb", "1 k", "1.5k", "1P", "0x10", "1K ",
                           "9223372036854775808", "9007199254740992k", "8388608T"})
    expect_usage(parse_size_bytes(text), text);
}

TEST(Time, NumbersByDigitCount) {
  EXPECT_EQ(*parse_time("0", kNow), TimestampMs(0));
  EXPECT_EQ(*parse_time("1767323045", kNow), TimestampMs(1'767'323'045'000));
  EXPECT_EQ(*parse_time("9999999999", kNow), TimestampMs(9'999'999'999'000));
  EXPECT_EQ(*parse_time("1767323045678", kNow), TimestampMs(1'767'323'045'678));
  EXPECT_EQ(*parse_time("0000000000001", kNow), TimestampMs(1));
  EXPECT_EQ(*parse_time("1767323045.6789", kNow), TimestampMs(1'767'323'045'678));
  EXPECT_EQ(*parse_time("1.5", kNow), TimestampMs(1'500));
  for (const char* text : {"12345678901", "123456789012", "12345678901234", "1767323045678.5", "1.",
                           ".5", "-1", "+1", "1 "})
    expect_usage(parse_time(text, kNow), text);
}

TEST(Time, Rfc3339WithAZone) {
  const Zone zone("America/New_York");  // must not matter
  const std::pair<const char*, std::int64_t> cases[] = {
      {"2026-01-02T03:04:05.678Z", 1'767'323'045'678},
      {"2026-01-02 03:04:05.678Z", 1'767'323'045'678},
      {"2026-01-02t03:04:05z", 1'767'323'045'000},
      {"2026-01-01T00:00:00+05:30", 1'767'205'800'000},
      {"2026-01-01T00:00+0530", 1'767'205'800'000},
      {"2025-12-31T13:30:00-05", 1'767'205'800'000},
      {"1970-01-01T00:00:00.001Z", 1},
      {"2024-02-29T23:59:59.9999Z", 1'709'251'199'999},
  };
  for (const auto& [text, ms] : cases) {
    const Result<TimestampMs> got = parse_time(text, kNow);
    ASSERT_TRUE(got) << text;
    EXPECT_EQ(got->value(), ms) << text;
  }
}

TEST(Time, WithoutAZoneItIsLocal) {
  const Zone zone("CET-1CEST,M3.5.0,M10.5.0/3");
  EXPECT_EQ(*parse_time("2026-01-02", kNow), TimestampMs(1'767'308'400'000));
  EXPECT_EQ(*parse_time("2026-01-02T04:04:05.678", kNow), kNow);
  EXPECT_EQ(*parse_time("2026-07-01T02:00", kNow), TimestampMs(1'782'864'000'000));
  EXPECT_EQ(*parse_time("today", kNow), TimestampMs(1'767'308'400'000));
  EXPECT_EQ(*parse_time("yesterday", kNow), TimestampMs(1'767'222'000'000));
  EXPECT_EQ(*parse_time("yesterday 14:00", kNow), TimestampMs(1'767'222'000'000 + 14 * 3'600'000));
  EXPECT_EQ(*parse_time("todayT00:00:01.5", kNow),
            TimestampMs(parse_time("today", kNow)->value() + 1500));
  for (const char* bad : {"yesterday14:00", "yesterday ", "yesterday 25:00", "today 1", "tomorrow"})
    EXPECT_FALSE(parse_time(bad, kNow)) << bad;
  EXPECT_EQ(*parse_time("now", kNow), kNow);
}

TEST(Time, ADurationIsThatLongAgo) {
  EXPECT_EQ(*parse_time("6h", kNow), kNow - 21'600'000);
  EXPECT_EQ(*parse_time("PT1S", kNow), kNow - 1'000);
  expect_usage(parse_time("100w", TimestampMs(5)), "100w");
}

TEST(Time, WhatIsNoTimeIsRefused) {
  for (const char* text : {"",
                           "tomorrow",
                           "2026-13-01",
                           "2026-02-29",
                           "2026-1-2",
                           "2026-01-02T",
                           "2026-01-02Z",
                           "2026-01-02T24:00",
                           "2026-01-02T03",
                           "2026-01-02T03:60",
                           "2026-01-02T03:04:60",
                           "2026-01-02T03:04:05.",
                           "2026-01-02T03:04:05+5",
                           "2026-01-02T03:04:05+05:3",
                           "2026-01-02T03:04:05+05:",
                           "2026-01-02T03:04:05+24:00",
                           "2026-01-02T03:04:05Zjunk",
                           "2026-01-02  03:04",
                           "1969-12-31T23:59:59Z",
                           "99999-01-01"})
    expect_usage(parse_time(text, kNow), text);
}

TEST(Delimiter, EscapesAndSeveralBytes) {
  EXPECT_EQ(*parse_delimiter(""), "");
  EXPECT_EQ(*parse_delimiter("a\\n\\r\\t\\\\b"), "a\n\r\t\\b");
  EXPECT_EQ(*parse_delimiter("\\0\\x00\\xfF"), std::string("\0\0\xff", 3));
  EXPECT_EQ(parse_delimiter("\\q").error().context,
            "'\\q': unknown escape '\\q' at position 1; known are \\n \\r \\t \\0 \\\\ \\xNN");
  for (const char* text : {"a\\", "\\x", "\\x1", "\\xg0", "\\N"}) {
    const Result<std::string> got = parse_delimiter(text);
    ASSERT_FALSE(got) << text;
    EXPECT_EQ(got.error().code, Errc::kUsage);
  }
}

TEST(Partitions, ListsAndRanges) {
  const Result<std::vector<PartitionId>> got = parse_partitions("4-7,0,2,6");
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, (std::vector<PartitionId>{PartitionId(0), PartitionId(2), PartitionId(4),
                                            PartitionId(5), PartitionId(6), PartitionId(7)}));
  EXPECT_EQ(parse_partitions("2147483647")->front(), PartitionId(2'147'483'647));
  for (const char* text : {"", ",", "1,", ",1", "1,,2", "-1", "1-", "3-1", "a", "1 ,2", "1-2-3",
                           "2147483648", "0-2147483647"})
    expect_usage(parse_partitions(text), text);
}

TEST(HeaderArgument, FirstSeparatorSplits) {
  EXPECT_EQ(parse_header("a=b:c")->name, "a");
  EXPECT_EQ(parse_header("a=b:c")->value, "b:c");
  EXPECT_EQ(parse_header("a:b=c")->name, "a");
  EXPECT_EQ(parse_header("a:b=c")->value, "b=c");
  EXPECT_EQ(parse_header("a=")->value, "");
  EXPECT_EQ(parse_header("a")->name, "a");
  EXPECT_EQ(parse_header("a")->value, std::nullopt);
  expect_usage(parse_header(""), "");
  expect_usage(parse_header("=v"), "=v");
}

}  // namespace
}  // namespace spool
