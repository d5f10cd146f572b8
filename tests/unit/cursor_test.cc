#include "log/cursor.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "support/log_fixture.h"

namespace spool::test {
namespace {

class CursorTest : public LogTest {
 protected:
  /// One record a batch, three batches a segment.
  void fill(int records) {
    small_segments(3 * static_cast<std::int64_t>(Batch(kStart, {"value-000"}).bytes().size()));
    p = new_process();
    if (!exists(root + "/spool.topics")) (void)p->create("t");
    auto a = p->appender("t");
    for (int i = 0; i < records; ++i)
      must(append(*a, {fmt::format("value-{:03}", i)}));
    place = p->place("t");
  }
  void trim(std::int64_t base) {
    for (const char* suffix : {".log", ".index", ".timeindex"})
      std::filesystem::remove(log_file(base, suffix));
  }
  std::unique_ptr<Process> p;
  PartitionPlace place;
};

TEST_F(CursorTest, AnEmptyOrMissingPartitionIsAtItsEnd) {
  p = new_process();
  (void)p->create("t");
  place = p->place("t");
  Cursor cursor(p->store->env(), place, Offset(0));
  EXPECT_EQ(must(cursor.next()), Cursor::Step::kEnd);
  must(append(*p->appender("t"), {"a"}));
  EXPECT_EQ(must(cursor.next()), Cursor::Step::kBatch);
  EXPECT_EQ(must(cursor.next()), Cursor::Step::kEnd);
  EXPECT_EQ(cursor.next_offset(), Offset(1));
}

TEST_F(CursorTest, FollowsOverRolls) {
  fill(4);
  Cursor cursor(p->store->env(), place, Offset(2));
  auto a = p->appender("t");
  for (int i = 2; i < 20; ++i) {
    ASSERT_EQ(must(cursor.next()), Cursor::Step::kBatch);
    EXPECT_EQ(cursor.batch().header.base_offset, Offset(i));
    if (i >= 3) {
      EXPECT_EQ(must(cursor.next()), Cursor::Step::kEnd);
      must(append(*a, {fmt::format("value-{:03}", i)}));
    }
  }
}

TEST_F(CursorTest, AStartBehindTheEndWaitsForItsOffset) {
  fill(2);
  Cursor cursor(p->store->env(), place, Offset(4));
  EXPECT_EQ(must(cursor.next()), Cursor::Step::kEnd);
  auto a = p->appender("t");
  for (int i = 2; i < 4; ++i) {
    must(append(*a, {fmt::format("value-{:03}", i)}));
    EXPECT_EQ(must(cursor.next()), Cursor::Step::kEnd);
  }
  must(append(*a, {"value-004"}));
  EXPECT_EQ(must(cursor.next()), Cursor::Step::kBatch);
  EXPECT_EQ(cursor.batch().header.base_offset, Offset(4));
}

TEST_F(CursorTest, AnOpenSegmentIsReadOnThoughItWasTrimmed) {
  fill(9);
  Cursor cursor(p->store->env(), place, Offset(0));
  ASSERT_EQ(must(cursor.next()), Cursor::Step::kBatch);
  trim(0);
  for (int i = 1; i < 9; ++i) {
    ASSERT_EQ(must(cursor.next()), Cursor::Step::kBatch);
    EXPECT_EQ(cursor.batch().header.base_offset, Offset(i));
  }
  EXPECT_EQ(must(cursor.next()), Cursor::Step::kEnd);
  EXPECT_EQ(cursor.take_gone(), 0);
}

TEST_F(CursorTest, WhatWasTrimmedAwayIsCountedAndSkipped) {
  fill(12);
  trim(0);
  trim(3);
  Cursor late(p->store->env(), place, Offset(1));
  ASSERT_EQ(must(late.next()), Cursor::Step::kBatch);
  EXPECT_EQ(late.batch().header.base_offset, Offset(6));
  EXPECT_EQ(late.take_gone(), 5);
  EXPECT_EQ(late.take_gone(), 0);
}

TEST_F(CursorTest, TheNextSegmentTrimmedUnderAReaderIsCounted) {
  fill(12);
  Cursor cursor(p->store->env(), place, Offset(2));
  ASSERT_EQ(must(cursor.next()), Cursor::Step::kBatch);
  trim(0);
  trim(3);
  ASSERT_EQ(must(cursor.next()), Cursor::Step::kBatch);
  EXPECT_EQ(cursor.batch().header.base_offset, Offset(6));
  EXPECT_EQ(cursor.take_gone(), 3);
}

TEST_F(CursorTest, ASegmentMissingInTheMiddleIsDamageWhereOffsetsAreDense) {
  fill(9);
  std::filesystem::remove(log_file(3));
  const ReadBack back = p->read(place, Offset(0), false, true);
  ASSERT_TRUE(back.error);
  EXPECT_EQ(back.error->code, Errc::kCorrupt);
  EXPECT_EQ(back.records.size(), 6U);
  PartitionPlace sparse = place;
  sparse.dense = false;
  EXPECT_FALSE(p->read(sparse).error);
  EXPECT_EQ(p->read(sparse).records.size(), 6U);
}

TEST_F(CursorTest, ATornEndOfASegmentThatIsNotTheLastIsDamage) {
  fill(6);
  cut_file(log_file(0), slurp(log_file(0)).size() - 1);
  const ReadBack back = p->read(place);
  ASSERT_TRUE(back.error);
  EXPECT_EQ(back.error->code, Errc::kCorrupt);
  EXPECT_EQ(back.records.size(), 2U);
  EXPECT_EQ(p->read(place, Offset(0), false, true).records.size(), 5U);
}

TEST_F(CursorTest, ADeletedTopicIsSaidAtTheEnd) {
  fill(2);
  Cursor cursor(p->store->env(), place, Offset(0));
  ASSERT_EQ(must(cursor.next()), Cursor::Step::kBatch);
  std::filesystem::remove_all(folder());
  ASSERT_EQ(must(cursor.next()), Cursor::Step::kBatch);
  auto gone = cursor.next();
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Errc::kDeleted);
}

TEST_F(CursorTest, ADeletedTopicIsSaidAtATornTailToo) {
  fill(1);
  append_to(log_file(), "torn");
  Cursor cursor(p->store->env(), place, Offset(0));
  ASSERT_EQ(must(cursor.next()), Cursor::Step::kBatch);
  ASSERT_EQ(must(cursor.next()), Cursor::Step::kEnd);
  std::filesystem::remove_all(folder());
  auto gone = cursor.next();
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Errc::kDeleted);
}

TEST_F(CursorTest, MadeAgainUnderAnotherIdIsSaid) {
  fill(2);
  Cursor cursor(p->store->env(), place, Offset(0));
  ASSERT_EQ(must(cursor.next()), Cursor::Step::kBatch);
  ASSERT_EQ(must(cursor.next()), Cursor::Step::kBatch);
  std::filesystem::remove_all(folder());
  std::filesystem::remove(root + "/spool.topics");
  (void)p->create("t");
  must(append(*p->appender("t"), {"new"}));
  auto gone = cursor.next();
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Errc::kDeleted);
}

class ReadersThreads : public LogTest {};

TEST_F(ReadersThreads, SeeEveryRecordOnceInOrderWhileOthersAppendAndRoll) {
  constexpr int kEach = 300;
  small_segments(2000, 200);
  auto p = new_process();
  (void)p->create("t");
  auto q = new_process();
  const PartitionPlace place = p->place("t");
  auto a = p->appender("t");
  auto b = q->appender("t");
  std::atomic<bool> done{false};
  const auto write = [](Appender& to, const std::string& prefix) {
    for (int i = 0; i < kEach; ++i)
      must(append(to, {prefix + std::to_string(i)}));
  };
  const auto read = [&](std::vector<std::string>& out) {
    RecordStream stream(p->store->env(), place, Offset(0), {.read_committed = true});
    while (out.size() < 2 * kEach) {
      const auto step = must(stream.next());
      if (step == RecordStream::Step::kRecord) {
        ASSERT_EQ(stream.record().offset, Offset(static_cast<std::int64_t>(out.size())));
        out.emplace_back(*stream.record().value);
      } else {
        std::this_thread::yield();
      }
    }
  };
  std::vector<std::string> first;
  std::vector<std::string> second;
  {
    std::vector<std::thread> all;
    all.emplace_back([&] { write(*a, "a"); });
    all.emplace_back([&] { write(*b, "b"); });
    all.emplace_back([&] {
      while (!done) {
        must(a->sync());
        std::this_thread::yield();
      }
    });
    all.emplace_back([&] { read(first); });
    read(second);
    all[3].join();
    done = true;
    for (const std::size_t i : {0U, 1U, 2U})
      all[i].join();
  }
  EXPECT_EQ(first, second);
  std::vector<std::string> of_a;
  std::vector<std::string> of_b;
  for (const std::string& v : first)
    (v[0] == 'a' ? of_a : of_b).push_back(v);
  EXPECT_EQ(of_a, numbered("a", 0, kEach));
  EXPECT_EQ(of_b, numbered("b", 0, kEach));
}

TEST_F(ReadersThreads, AppendersOfOneProcessExcludeEachOther) {
  constexpr int kEach = 200;
  small_segments(3000, 200);
  auto p = new_process();
  (void)p->create("t");
  std::vector<std::unique_ptr<Appender>> appenders;
  for (int i = 0; i < 3; ++i)
    appenders.push_back(p->appender("t"));
  std::vector<std::thread> threads;
  for (auto& a : appenders)
    threads.emplace_back([&a] {
      for (int i = 0; i < kEach; ++i)
        must(append(*a, {"x"}));
    });
  for (auto& t : threads)
    t.join();
  EXPECT_EQ(p->read("t").records.size(), 3U * kEach);
  EXPECT_TRUE(p->notices.empty());
}

}  // namespace
}  // namespace spool::test
