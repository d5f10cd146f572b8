#include "replay_resume.h"

#include <gtest/gtest.h>

#include "record/builder.h"
#include "replay_writer.h"
#include "store/partitioner.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

TEST(PartitionRule, KeepsOrHashesAndIsTheSameForTheSameRecord) {
  PartitionRule keep;
  keep.keep = true;
  EXPECT_EQ(keep.choose(PartitionId(4), Offset(9), "k"), PartitionId(4));
  PartitionRule hash;
  for (int p = 0; p < 6; ++p)
    hash.partitions.emplace_back(p);
  for (const char* key : {"", "a", "user-17"}) {
    Partitioner java(PartitionerKind::kMurmur2, 6, 1);
    EXPECT_EQ(hash.choose(PartitionId(0), Offset(5), key), java.choose(key));
  }
  // Without a key: spread, in runs.
  EXPECT_EQ(hash.choose(PartitionId(0), Offset(1023), std::nullopt), PartitionId(0));
  EXPECT_EQ(hash.choose(PartitionId(0), Offset(1024), std::nullopt), PartitionId(1));
  EXPECT_EQ(hash.choose(PartitionId(2), Offset(0), std::nullopt), PartitionId(2));
  EXPECT_EQ(hash.choose(PartitionId(2), Offset(5 * 1024), std::nullopt), PartitionId(1));
}

class ReplayResumeTest : public LogTest {
 protected:
  ReplayResumeTest() : path_(dir / "resume") {}

  /// One run of a replay of topic "s", partitions 0 and 1, into "t".
  struct Run {
    Run(ReplayResumeTest& test, const PartitionRule& wanted)
        : process(test.new_process()),
          source(must(process->store->find_topic("s"))),
          target(must(process->store->find_topic("t"))),
          resume(must(ReplayResume::open(posix_fs(), test.path_))),
          writer(*process->store) {
      for (int p = 0; p < 2; ++p)
        numbers.push_back(must(resume.add_source(source, PartitionId(p), Offset(0))));
      rule = must(resume.add_target(*process->store, target, wanted));
      writer.add_topic(target);
      writer.on_appended = [this](std::size_t, PartitionId partition, Offset next,
                                  std::int32_t records) {
        resume.note_appended("t", partition, next, records);
      };
      must(resume.save(resume.snapshot({}, false)));
    }
    /// Replays offsets [from, to) of a source partition; what is there already is left out.
    void replay(int partition, std::int64_t from, std::int64_t to) {
      for (std::int64_t o = from; o < to; ++o) {
        const std::string key = "k" + std::to_string(o % 5);
        const PartitionId at = rule.choose(PartitionId(partition), Offset(o), key);
        const std::size_t number = numbers[static_cast<std::size_t>(partition)];
        if (resume.has(number, "t", at, Offset(o))) continue;
        const std::string value = fmt::format("{}:{}", partition, o);
        OutgoingRecord record;
        record.timestamp = kStart;
        record.key = key;
        record.value = value;
        record.producer_id = resume.producer_id(number);
        record.source_offset = Offset(o);
        must(writer.add(0, at, record));
      }
    }
    void save(std::int64_t next0, std::int64_t next1, bool ended = false) {
      must(writer.flush());
      const auto progress =
          resume.snapshot({{numbers[0], Offset(next0)}, {numbers[1], Offset(next1)}}, ended);
      must(writer.sync_now([&] { return resume.save(progress); }));
    }

    std::unique_ptr<Process> process;
    TopicInfo source;
    TopicInfo target;
    ReplayResume resume;
    ReplayWriter writer;
    PartitionRule rule;
    std::vector<std::size_t> numbers;
  };

  PartitionRule by_key(int partitions) {
    PartitionRule rule;
    for (int p = 0; p < partitions; ++p)
      rule.partitions.emplace_back(p);
    return rule;
  }
  /// All values of the target, sorted.
  std::vector<std::string> values(int partitions) {
    auto p = new_process();
    std::vector<std::string> out;
    for (int i = 0; i < partitions; ++i)
      for (std::string& v : p->read("t", i).values())
        out.push_back(std::move(v));
    std::sort(out.begin(), out.end());
    return out;
  }
  static std::vector<std::string> wanted(std::int64_t to0, std::int64_t to1) {
    std::vector<std::string> out;
    for (std::int64_t o = 0; o < to0; ++o)
      out.push_back(fmt::format("0:{}", o));
    for (std::int64_t o = 0; o < to1; ++o)
      out.push_back(fmt::format("1:{}", o));
    std::sort(out.begin(), out.end());
    return out;
  }

  const std::string path_;
};

TEST_F(ReplayResumeTest, WhatWasAppendedBehindTheFileIsFound) {
  {
    auto p = new_process();
    (void)p->create("s", 2);
    (void)p->create("t", 3);
  }
  {
    Run run(*this, by_key(3));
    run.replay(0, 0, 20);
    run.save(20, 0);
    run.replay(0, 20, 30);
    run.replay(1, 0, 10);
    must(run.writer.flush());  // and then it is killed
  }
  {
    // Others write between, and it is killed again in front of what was found.
    auto other = new_process();
    must(append(*other->appender("t", 1), {"x"}));
  }
  {
    Run run(*this, by_key(3));
    EXPECT_EQ(run.resume.known("s", PartitionId(0)), Offset(20));
    EXPECT_EQ(run.resume.count(), 40);
    run.replay(0, 20, 22);
    run.save(22, 0);
    run.replay(1, 0, 4);
    run.save(22, 4);
  }
  {
    Run run(*this, by_key(3));
    EXPECT_EQ(run.resume.count(), 40);
    run.replay(0, 22, 50);
    run.replay(1, 4, 50);
    run.save(50, 50, true);
  }
  auto want = wanted(50, 50);
  want.emplace_back("x");
  EXPECT_EQ(values(3), want);
  Run run(*this, by_key(3));
  EXPECT_EQ(run.resume.count(), 100);
  EXPECT_EQ(run.resume.known("s", PartitionId(1)), Offset(50));
}

TEST_F(ReplayResumeTest, ARunIsFinishedByItsOwnRule) {
  {
    auto p = new_process();
    (void)p->create("s", 2);
    (void)p->create("t", 3);
  }
  {
    Run run(*this, by_key(2));
    run.replay(0, 0, 30);
    must(run.writer.flush());
  }
  {
    Run run(*this, by_key(3));
    EXPECT_EQ(run.rule.partitions.size(), 2U);
    run.replay(0, 0, 60);
    run.save(60, 0, true);
  }
  EXPECT_EQ(values(3), wanted(60, 0));
  Run run(*this, by_key(3));
  EXPECT_EQ(run.rule.partitions.size(), 3U);
}

TEST_F(ReplayResumeTest, OtherTopicsAreRefused) {
  auto p = new_process();
  const TopicInfo s = p->create("s", 2);
  const TopicInfo t = p->create("t", 3);
  {
    Run run(*this, by_key(3));
  }
  auto resume = must(ReplayResume::open(posix_fs(), path_));
  TopicInfo again = s;
  again.id = Uuid::random();
  EXPECT_EQ(resume.add_source(again, PartitionId(0), Offset(0)).error().code, Errc::kConflict);
  again = t;
  again.id = Uuid::random();
  EXPECT_EQ(resume.add_target(*p->store, again, by_key(3)).error().code, Errc::kConflict);
  again = t;
  again.name = "u";
  EXPECT_EQ(resume.add_target(*p->store, again, by_key(3)).error().code, Errc::kConflict);
}

TEST_F(ReplayResumeTest, ATargetThatLostRecordsIsRefused) {
  {
    auto p = new_process();
    (void)p->create("s", 2);
    (void)p->create("t", 1);
    Run run(*this, by_key(1));
    run.replay(0, 0, 10);
    run.save(10, 0);
    run.replay(0, 10, 20);
    run.save(20, 0);
  }
  spew(log_file(), "");
  auto p = new_process();
  auto resume = must(ReplayResume::open(posix_fs(), path_));
  const auto refused = resume.add_target(*p->store, must(p->store->find_topic("t")), by_key(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kConflict);
}

}  // namespace
}  // namespace spool::test
