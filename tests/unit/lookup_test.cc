#include "log/lookup.h"

#include <random>

#include <gtest/gtest.h>

#include "log/index_file.h"
#include "support/fault_fs.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

class Lookup : public LogTest {
 protected:
  /// Batches of one to four records at times that wander, in small segments.
  void fill(std::int32_t partitions, int batches, unsigned seed) {
    small_segments(6000, 300);
    p = new_process();
    (void)p->create("t", partitions);
    std::mt19937 random(seed);
    for (std::int32_t n = 0; n < partitions; ++n) {
      auto a = p->appender("t", n);
      std::int64_t at = kStart.value();
      for (int b = 0; b < batches; ++b) {
        at += static_cast<std::int64_t>(random() % 60) - 25;
        if (random() % 40 == 0) at += 900;
        if (random() % 40 == 0) at -= 700;
        BatchBuilder builder;
        for (unsigned r = 0; r <= random() % 4; ++r) {
          const std::int64_t time = at + static_cast<std::int64_t>(random() % 9);
          builder.add(TimestampMs(time), std::nullopt, std::string(30, 'v'));
          all.push_back({TimestampMs(time), PartitionId(n), Offset(next[n]++)});
        }
        must(a->append(must(builder.seal(Codec::kNone, nullptr))));
      }
    }
    std::sort(all.begin(), all.end());
  }
  PartitionView view(std::int32_t partition = 0) {
    return must(view_partition(p->store->env(), p->place("t", partition)));
  }
  void check_times(std::int32_t partition = 0) {
    const PartitionPlace place = p->place("t", partition);
    const PartitionView v = view(partition);
    for (std::size_t i = 0; i < all.size(); i += 3) {
      const TimestampMs time = all[i].timestamp + (i % 2 == 0 ? 0 : 1);
      Offset want = v.log_end;
      for (const RecordTime& r : all)
        if (r.partition == PartitionId(partition) && r.timestamp >= time)
          want = std::min(want, r.offset);
      ASSERT_EQ(must(offset_for_time(p->store->env(), place, v, time)), want) << time.value();
    }
  }
  void check_newest(std::int32_t partitions) {
    for (const std::size_t n : {0U, 1U, 2U, 7U, 50U, 333U, 100000U}) {
      NewestRecords newest(n);
      for (std::int32_t i = 0; i < partitions; ++i) {
        const PartitionView v = view(i);
        must(find_newest(p->store->env(), p->place("t", i), v, v.log_end, true, newest));
      }
      const std::size_t many = std::min(n, all.size());
      const std::vector<RecordTime> want(all.end() - static_cast<std::ptrdiff_t>(many), all.end());
      ASSERT_EQ(newest.take(), want) << n;
    }
  }
  /// Every file of this suffix, in all partitions.
  std::vector<std::string> files(const std::string& suffix) {
    std::vector<std::string> out;
    for (const auto& e : std::filesystem::recursive_directory_iterator(root))
      if (e.path().extension() == suffix) out.push_back(e.path());
    return out;
  }

  std::unique_ptr<Process> p;
  std::vector<RecordTime> all;  ///< ascending
  std::map<std::int32_t, std::int64_t> next;
};

TEST_F(Lookup, ViewTellsStartEndAndSize) {
  PartitionPlace missing;
  missing.dir = root + "/t-0";
  EXPECT_EQ(must(view_partition(new_process()->store->env(), missing)).log_end, Offset(0));
  fill(1, 100, 1);
  const PartitionView v = view();
  EXPECT_EQ(v.log_start, Offset(0));
  EXPECT_EQ(v.log_end, Offset(next[0]));
  EXPECT_GT(v.files.segments.size(), 1U);
  std::int64_t bytes = 0;
  for (const std::string& f : files(".log"))
    bytes += static_cast<std::int64_t>(slurp(f).size());
  EXPECT_EQ(partition_bytes(p->store->env(), p->place("t"), v), bytes);
  spew(root + "/log-start-offset-checkpoint", "0\n2\nt 1 90\nt 0 17\n");
  EXPECT_EQ(view().log_start, Offset(17));
}

TEST_F(Lookup, TimesAreFoundAsByAScan) {
  fill(1, 400, 2);
  check_times();
  for (const std::string& f : files(".timeindex"))
    std::filesystem::remove(f);
  check_times();
  for (const std::string& f : files(".index"))
    std::filesystem::remove(f);
  check_times();
}

TEST_F(Lookup, TimesAreFoundWithAnyPartOfTheTimeIndex) {
  fill(1, 300, 3);
  for (const double part : {0.0, 0.2, 0.5, 0.9}) {
    for (const std::string& f : files(".timeindex")) {
      const auto entries = static_cast<double>(slurp(f).size() / 12);
      cut_file(f, static_cast<std::size_t>(entries * part) * 12 + (part > 0.4 ? 5 : 0));
    }
    check_times();
    check_newest(1);
  }
}

TEST_F(Lookup, NewestAreFoundAsByAScan) {
  fill(3, 150, 4);
  check_newest(3);
  for (const std::string& f : files(".timeindex"))
    std::filesystem::remove(f);
  check_newest(3);
  for (const std::string& f : files(".index"))
    std::filesystem::remove(f);
  check_newest(3);
}

TEST_F(Lookup, NewestAreFoundThoughTheEndOfTheTimeIndexIsLost) {
  fill(3, 150, 5);
  for (const std::string& f : files(".timeindex"))
    cut_file(f, std::min<std::size_t>(slurp(f).size(), 24));
  check_newest(3);
}

TEST_F(Lookup, WrongTimesInTheIndexAreNotBelieved) {
  fill(1, 300, 6);
  for (const std::string& f : files(".timeindex")) {
    std::string raw = slurp(f);
    for (std::size_t at = 0; at + 12 <= raw.size(); at += 12)
      store_be<std::int64_t>(reinterpret_cast<std::byte*>(raw.data()) + at,
                             kStart.value() - 5000 + static_cast<std::int64_t>(at));
    spew(f, raw);
  }
  check_times();
  check_newest(1);
}

// A process may die between its two index writes, or before both.
TEST_F(Lookup, AnAppenderGoesOnWithAnIndexThatIsAnEntryShort) {
  fill(1, 40, 7);
  std::mt19937 random(7);
  for (int round = 0; round < 30; ++round) {
    const auto segments = view().files.segments;
    const std::string index = log_file(segments.back().value(), ".index");
    const std::string times = log_file(segments.back().value(), ".timeindex");
    const std::string entries = slurp(index);
    const std::string stamps = slurp(times);
    const bool both = entries.size() >= 8 && stamps.size() >= 12 &&
                      entries.substr(entries.size() - 8, 4) == stamps.substr(stamps.size() - 4);
    if (round % 2 == 0 && entries.size() >= 8) cut_file(index, entries.size() - 8);
    if (round % 4 == 0 && both) cut_file(times, stamps.size() - 12);
    auto q = new_process();
    auto a = q->appender("t");
    for (int i = 0; i < 4; ++i) {
      const TimestampMs at = kStart + static_cast<std::int64_t>(random() % 3000);
      const auto done = must(append(*a, {std::string(60, 'w')}, at));
      all.push_back({at, PartitionId(0), done.base});
    }
  }
  std::sort(all.begin(), all.end());
  check_times();
  check_newest(1);
}

// The offset index is whole, the time index is not: the next entry must not claim that nothing
// before it is later.
TEST_F(Lookup, AnAppenderGoesOnWithATimeIndexThatLostItsEnd) {
  for (const std::size_t keep : {0U, 1U, 2U, 5U}) {
    SCOPED_TRACE(keep);
    small_segments(1 << 30, 100);
    const TempDir own;
    root = own / "log";
    p = new_process();
    (void)p->create("t");
    all.clear();
    const auto add = [&](Appender& a, std::int64_t ms) {
      const auto done = must(append(a, {std::string(60, 'w')}, kStart + ms));
      all.push_back({kStart + ms, PartitionId(0), done.base});
    };
    auto a = p->appender("t");
    for (int i = 0; i < 40; ++i)
      add(*a, 100 * i);
    for (int i = 0; i < 20; ++i)
      add(*a, 50 * i);
    cut_file(log_file(0, ".timeindex"), keep * 12);
    for (int i = 0; i < 40; ++i)
      add(*p->appender("t"), 1000 + 10 * i);
    for (int i = 0; i < 10; ++i)
      add(*p->appender("t"), 3000 + 150 * i);
    std::sort(all.begin(), all.end());
    check_times();
    check_newest(1);
  }
}

TEST_F(Lookup, NewestUpToAnEndAndFromAStart) {
  fill(1, 120, 8);
  spew(root + "/log-start-offset-checkpoint", "0\n1\nt 0 50\n");
  const PartitionView v = view();
  const Offset end = v.log_end - 40;
  NewestRecords newest(30);
  must(find_newest(p->store->env(), p->place("t"), v, end, true, newest));
  std::vector<RecordTime> want;
  for (const RecordTime& r : all)
    if (r.offset >= Offset(50) && r.offset < end) want.push_back(r);
  want.erase(want.begin(), want.end() - 30);
  EXPECT_EQ(newest.take(), want);
}

TEST(NewestRecords, TiesGoToTheHigherPartitionAndOffset) {
  NewestRecords newest(2);
  for (const std::int64_t offset : {3, 1, 2})
    newest.offer({TimestampMs(5), PartitionId(0), Offset(offset)});
  EXPECT_TRUE(newest.wants(TimestampMs(5)));
  EXPECT_FALSE(newest.wants(TimestampMs(4)));
  const auto kept = newest.take();
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].offset, Offset(2));
  EXPECT_EQ(kept[1].offset, Offset(3));
  EXPECT_TRUE(newest.take().empty());
  EXPECT_FALSE(NewestRecords(0).wants(TimestampMs(1)));
}

}  // namespace
}  // namespace spool::test
