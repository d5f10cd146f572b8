#include "log/segment_indexes.h"

#include <gtest/gtest.h>

#include "log/cursor.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

TEST(IndexFile, EntriesAreKafkasBytes) {
  std::array<std::byte, 12> raw{};
  OffsetEntry{Offset(1'000'000'005), 0x01020304}.encode(raw.data(), Offset(1'000'000'000));
  EXPECT_EQ(as_text(Bytes(raw).first(8)), std::string_view("\0\0\0\5\1\2\3\4", 8));
  TimeEntry{TimestampMs(0x0102030405060708), Offset(0x110)}.encode(raw.data(), Offset(0x100));
  EXPECT_EQ(as_text(raw), std::string_view("\1\2\3\4\5\6\7\x08\0\0\0\x10", 12));
  const TimeEntry back = TimeEntry::decode(raw.data(), Offset(0x100));
  EXPECT_EQ(back.timestamp, TimestampMs(0x0102030405060708));
  EXPECT_EQ(back.offset, Offset(0x110));
}

TEST(IndexFile, PreallocatedZerosAreNoEntries) {
  const TempDir dir;
  const std::string path = dir / "x.index";
  for (const int entries : {0, 1, 2, 3, 64, 100}) {
    std::filesystem::remove(path);
    {
      auto index = must(OffsetIndex::open_append(posix_fs(), path, Offset(0), 0600));
      for (int i = 1; i <= entries; ++i)
        must(index.append({Offset(i), i * 100}));
    }
    for (const std::size_t size :
         {slurp(path).size(), std::size_t{8 * 101}, std::size_t{10000}, std::size_t{10000 + 3}}) {
      cut_file(path, size);
      auto read = must(OffsetIndex::open_read(posix_fs(), path, Offset(0)));
      EXPECT_EQ(read.count(), entries) << size;
      auto again = must(OffsetIndex::open_append(posix_fs(), path, Offset(0), 0600));
      must(again.keep(again.count()));
      EXPECT_EQ(slurp(path).size(), static_cast<std::size_t>(entries) * 8);
    }
  }
}

TEST(IndexFile, MissingIsEmptyAndAHalfEntryIsNone) {
  const TempDir dir;
  EXPECT_EQ(must(TimeIndex::open_read(posix_fs(), dir / "no", Offset(0))).count(), 0);
  spew(dir / "half", std::string(12 + 7, '\1'));
  EXPECT_EQ(must(TimeIndex::open_read(posix_fs(), dir / "half", Offset(0))).count(), 1);
}

TEST(IndexFile, PartitionPointAndKeep) {
  const TempDir dir;
  auto index = must(OffsetIndex::open_append(posix_fs(), dir / "i", Offset(10), 0600));
  for (int i = 0; i < 9; ++i)
    must(index.append({Offset(20 + i), 100 * i}));
  const auto below = [&](std::int64_t offset) {
    return must(
        index.partition_point([&](const OffsetEntry& e) { return e.offset < Offset(offset); }));
  };
  EXPECT_EQ(below(0), 0);
  EXPECT_EQ(below(20), 0);
  EXPECT_EQ(below(25), 5);
  EXPECT_EQ(below(100), 9);
  must(index.keep(4));
  EXPECT_EQ(index.count(), 4);
  must(index.keep(100));
  EXPECT_EQ(index.count(), 4);
  must(index.append({Offset(50), 7}));
  EXPECT_EQ(must(index.at(4)).offset, Offset(50));
  EXPECT_EQ(slurp(dir / "i").size(), 40U);
}

class SegmentIndexesTest : public LogTest {
 protected:
  /// Batches of 79 bytes: an entry when more than 200 bytes were written since the last one.
  void fill(int batches) {
    small_segments(1 << 30, 200);
    p = new_process();
    (void)p->create("t");
    auto a = p->appender("t");
    for (int i = 0; i < batches; ++i) {
      must(append(*a, {"0123456789"}, kStart + 10 * i));
      want.push_back("0123456789");
    }
    size = static_cast<std::int64_t>(batch_starts(log_file())[1]);
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> offsets() {
    std::vector<std::pair<std::int64_t, std::int64_t>> out;
    const auto index = must(OffsetIndex::open_read(posix_fs(), log_file(0, ".index"), Offset(0)));
    for (std::int64_t i = 0; i < index.count(); ++i)
      out.emplace_back(must(index.at(i)).offset.value(), must(index.at(i)).position);
    return out;
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> times() {
    std::vector<std::pair<std::int64_t, std::int64_t>> out;
    const auto index = must(TimeIndex::open_read(posix_fs(), log_file(0, ".timeindex"), Offset(0)));
    for (std::int64_t i = 0; i < index.count(); ++i)
      out.emplace_back(must(index.at(i)).timestamp.value(), must(index.at(i)).offset.value());
    return out;
  }

  std::unique_ptr<Process> p;
  std::vector<std::string> want;
  std::int64_t size = 0;
};

TEST_F(SegmentIndexesTest, EntriesFollowKafkasRule) {
  fill(10);
  ASSERT_EQ(size, 78);
  // Three batches are 234 bytes: the fourth is the first with more than 200 before it.
  EXPECT_EQ(offsets(), (std::vector<std::pair<std::int64_t, std::int64_t>>{
                           {3, 3 * size}, {6, 6 * size}, {9, 9 * size}}));
  const std::int64_t t = kStart.value();
  EXPECT_EQ(times(), (std::vector<std::pair<std::int64_t, std::int64_t>>{
                         {t + 30, 3}, {t + 60, 6}, {t + 90, 9}}));
}

TEST_F(SegmentIndexesTest, ATimeThatDoesNotGrowGetsNoEntry) {
  small_segments(1 << 30, 0);
  p = new_process();
  (void)p->create("t");
  auto a = p->appender("t");
  for (const int d : {5, 9, 3, 9, 12})
    must(append(*a, {"x"}, kStart + d));
  EXPECT_EQ(offsets().size(), 4U);
  const std::int64_t t = kStart.value();
  EXPECT_EQ(times(), (std::vector<std::pair<std::int64_t, std::int64_t>>{{t + 9, 1}, {t + 12, 4}}));
}

TEST_F(SegmentIndexesTest, ReopeningGoesOnAsIfItHadStayedOpen) {
  fill(10);
  const auto all = offsets();
  const auto all_times = times();
  std::filesystem::remove_all(folder());
  for (int i = 0; i < 10; ++i)
    must(append(*new_process()->appender("t"), {"0123456789"}, kStart + 10 * i));
  EXPECT_EQ(offsets(), all);
  EXPECT_EQ(times(), all_times);
}

TEST_F(SegmentIndexesTest, WhateverTheIndexesHoldTheyAreRightAfterTheNextAppend) {
  fill(10);
  const std::string index = slurp(log_file(0, ".index"));
  const std::string stamps = slurp(log_file(0, ".timeindex"));
  const auto all = offsets();
  const std::string log = slurp(log_file());
  const std::vector<std::optional<std::string>> states{
      std::nullopt,
      "",
      std::string(800, '\0'),
      index.substr(0, 8) + std::string(4000, '\0'),
      index.substr(0, 13),
      index + index,
      std::string(24, '\xff'),
      std::string(24, '\x11'),
      "garbage of some length",
  };
  for (std::size_t i = 0; i < states.size(); ++i) {
    for (std::size_t j = 0; j < states.size(); ++j) {
      SCOPED_TRACE(fmt::format("index {} timeindex {}", i, j));
      spew(log_file(), log);
      const auto set = [&](const char* suffix, std::optional<std::string> content) {
        std::filesystem::remove(log_file(0, suffix));
        if (content) spew(log_file(0, suffix), *content);
      };
      set(".index", states[i]);
      std::optional<std::string> other = states[j];
      if (j == 3) other = stamps.substr(0, 12) + std::string(4000, '\0');
      if (j == 4) other = stamps.substr(0, 17);
      if (j == 5) other = stamps + stamps;
      set(".timeindex", other);
      auto q = new_process();
      EXPECT_EQ(q->read("t").records.size(), 10U);
      EXPECT_EQ(must(append(*q->appender("t"), {"0123456789"}, kStart + 100)).base, Offset(10));
      // What was found right may be kept; what is there then is an index of this log.
      if (i != 5) {
        EXPECT_EQ(offsets(), all);  // one whose entries are all true, but repeat, is let be
      }
      EXPECT_EQ(q->read("t").records.size(), 11U);
      const PartitionPlace place = q->place("t");
      for (std::int64_t from = 0; from <= 11; ++from)
        EXPECT_EQ(q->read(place, Offset(from)).records.size(), static_cast<std::size_t>(11 - from));
      EXPECT_TRUE(q->notices.empty());
    }
  }
}

TEST_F(SegmentIndexesTest, EntriesBehindACutGo) {
  fill(10);
  cut_file(log_file(), static_cast<std::size_t>(7 * size));
  must(append(*new_process()->appender("t"), {"a longer value than before"}, kStart + 1));
  EXPECT_EQ(offsets(),
            (std::vector<std::pair<std::int64_t, std::int64_t>>{{3, 3 * size}, {6, 6 * size}}));
  const std::int64_t t = kStart.value();
  EXPECT_EQ(times(),
            (std::vector<std::pair<std::int64_t, std::int64_t>>{{t + 30, 3}, {t + 60, 6}}));
}

/// Counts what is read of .log files.
class CountingFs final : public PassFs {
 public:
  CountingFs() : PassFs(fast_fs()) {}
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode how,
                                     std::uint32_t mode) override {
    TRY_ASSIGN(auto file, inner_.open(path, how, mode));
    if (!path.ends_with(".log")) return file;
    return std::unique_ptr<File>(new Counted(*this, std::move(file)));
  }
  std::size_t bytes = 0;

 private:
  class Counted final : public PassFile {
   public:
    Counted(CountingFs& fs, std::unique_ptr<File> inner) : PassFile(std::move(inner)), fs_(fs) {}
    Result<std::size_t> read_at(MutableBytes out, std::int64_t at) override {
      auto got = inner_->read_at(out, at);
      if (got) fs_.bytes += *got;
      return got;
    }

   private:
    CountingFs& fs_;
  };
};

// Without times there are no time entries, and with the time 0 the first one looks like none.
TEST_F(SegmentIndexesTest, LogsWithoutTimesAreNotReadAgainAtEachOpen) {
  for (const std::int64_t time : {-1, 0, 1}) {
    SCOPED_TRACE(time);
    const TempDir own;
    root = own / "log";
    small_segments(1 << 30, 4096);
    p = new_process();
    (void)p->create("t");
    auto a = p->appender("t");
    for (int i = 0; i < 3000; ++i)
      must(append(*a, {std::string(300, 'x')}, TimestampMs(time)));
    CountingFs fs;
    must(append(*new_process(fs)->appender("t"), {"more"}, TimestampMs(time)));
    EXPECT_LT(fs.bytes, 100'000U);
  }
}

TEST_F(SegmentIndexesTest, AFullTimeIndexEndsTheSegment) {
  p = new_process();
  (void)p->create("t", 1, {{"segment.index.bytes", "40"}, {"index.interval.bytes", "0"}});
  auto a = p->appender("t");
  for (int i = 0; i < 9; ++i)
    must(append(*a, {"x"}, kStart + i));
  // Five offset entries would fit, and three time entries.
  EXPECT_EQ(slurp(log_file(0, ".timeindex")).size(), 36U);
  EXPECT_TRUE(exists(log_file(4)));
}

TEST_F(SegmentIndexesTest, AnEntryHoldsOnlyWhereABatchBegins) {
  fill(5);
  auto log = must(posix_fs().open(log_file(), OpenMode::kRead, 0));
  EXPECT_TRUE(must(entry_holds(*log, {Offset(2), 2 * size}, Offset(0))));
  EXPECT_TRUE(must(entry_holds(*log, {Offset(3), 2 * size}, Offset(0))));   // a set of two batches
  EXPECT_FALSE(must(entry_holds(*log, {Offset(1), 2 * size}, Offset(0))));  // already behind it
  EXPECT_FALSE(must(entry_holds(*log, {Offset(2), 2 * size + 1}, Offset(0))));
  EXPECT_FALSE(must(entry_holds(*log, {Offset(2), -1}, Offset(0))));
  EXPECT_FALSE(must(entry_holds(*log, {Offset(9), 5 * size}, Offset(0))));
  EXPECT_FALSE(must(entry_holds(*log, {Offset(2), 2 * size}, Offset(3))));
}

TEST_F(SegmentIndexesTest, AReaderStartsAtTheEntryBefore) {
  fill(10);
  auto log = must(posix_fs().open(log_file(), OpenMode::kRead, 0));
  const auto position = [&](std::int64_t offset) {
    return position_for(posix_fs(), folder(), Offset(0), *log, Offset(offset));
  };
  EXPECT_EQ(position(2), 0);
  EXPECT_EQ(position(3), 3 * size);
  EXPECT_EQ(position(5), 3 * size);
  EXPECT_EQ(position(1000), 9 * size);
  spew(log_file(0, ".index"), std::string(24, '\x11'));
  EXPECT_EQ(position(1000), 0);
}

}  // namespace
}  // namespace spool::test
