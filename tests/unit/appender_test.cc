#include "log/appender.h"

#include <gtest/gtest.h>

#include "log/epochs.h"
#include "log/index_file.h"
#include "log/state_file.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

class AppenderTest : public LogTest {
 protected:
  PartitionState state(const std::string& topic = "t") {
    return must(read_state(posix_fs(), folder(topic))).value();
  }
  std::vector<std::pair<int, std::int64_t>> epochs() {
    std::vector<std::pair<int, std::int64_t>> out;
    for (const EpochStart& e : must(read_epochs(posix_fs(), folder())))
      out.emplace_back(e.epoch.value(), e.start.value());
    return out;
  }
};

TEST_F(AppenderTest, OffsetsAreDenseFromZero) {
  auto p = new_process();
  (void)p->create("t");
  auto a = p->appender("t");
  const auto first = must(append(*a, {"a", "b", "c"}));
  EXPECT_EQ(first.base, Offset(0));
  EXPECT_EQ(first.last, Offset(2));
  const auto second = must(append(*a, {"d"}));
  EXPECT_EQ(second.base, Offset(3));
  EXPECT_EQ(a->next_offset(), Offset(4));
  EXPECT_EQ(p->read("t").values(), (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_TRUE(p->notices.empty());
}

TEST_F(AppenderTest, ANewFolderHoldsWhatKafkaPutsThere) {
  auto p = new_process();
  const TopicInfo t = p->create("t");
  must(p->appender("t")->open());
  EXPECT_EQ(names_in(folder()),
            (std::vector<std::string>{"00000000000000000000.index", "00000000000000000000.log",
                                      "00000000000000000000.timeindex", "leader-epoch-checkpoint",
                                      "partition.metadata", "spool.state"}));
  EXPECT_EQ(slurp(file("leader-epoch-checkpoint")), "0\n1\n0 0\n");
  EXPECT_EQ(slurp(file("partition.metadata")), "version: 0\ntopic_id: " + t.id->text());
  EXPECT_EQ(state().recovery_point, Offset(0));
  EXPECT_TRUE(state().plain);
}

TEST_F(AppenderTest, BatchesCarryOffsetAndEpoch) {
  auto p = new_process();
  (void)p->create("t");
  auto a = p->appender("t");
  must(append(*a, {"a", "b"}));
  must(append(*a, {"c"}));
  const std::string log = slurp(log_file());
  const auto starts = batch_starts(log_file());
  ASSERT_EQ(starts.size(), 3U);
  const BatchHeader h = BatchHeader::decode(as_bytes(log).data() + starts[1]);
  EXPECT_EQ(h.base_offset, Offset(2));
  EXPECT_EQ(h.leader_epoch, Epoch(0));
  EXPECT_EQ(h.count, 1);
}

TEST_F(AppenderTest, TwoProcessesInterleave) {
  small_segments(2000);
  auto p = new_process();
  (void)p->create("t");
  auto q = new_process();
  auto a = p->appender("t");
  auto b = q->appender("t");
  std::vector<std::string> want;
  for (int i = 0; i < 60; ++i) {
    const std::string value = fmt::format("{}-{}", i, std::string(50, 'x'));
    Appender& who = (i * 7 % 5) < 2 ? *a : *b;
    EXPECT_EQ(must(append(who, {value})).base, Offset(i));
    if (i % 9 == 0) must(who.sync());
    want.push_back(value);
  }
  EXPECT_EQ(p->read("t").values(), want);
  EXPECT_GT(must(list_partition(posix_fs(), folder())).segments.size(), 3U);
  EXPECT_TRUE(p->notices.empty());
  EXPECT_TRUE(q->notices.empty());
  EXPECT_EQ(epochs(), (std::vector<std::pair<int, std::int64_t>>{{0, 0}}));
}

TEST_F(AppenderTest, RollsWhenTheNextBatchWouldPassSegmentBytes) {
  Batch probe(kStart, {"0123456789"});
  const std::size_t size = probe.bytes().size();
  small_segments(3 * static_cast<std::int64_t>(size));
  auto p = new_process();
  (void)p->create("t");
  auto a = p->appender("t");
  for (int i = 0; i < 7; ++i)
    must(append(*a, {"0123456789"}));
  EXPECT_EQ(must(list_partition(posix_fs(), folder())).segments,
            (std::vector<Offset>{Offset(0), Offset(3), Offset(6)}));
  EXPECT_EQ(slurp(log_file(0)).size(), 3 * size);
  EXPECT_EQ(state().recovery_point, Offset(6));
}

TEST_F(AppenderTest, ABatchAboveSegmentBytesGetsASegmentOfItsOwn) {
  small_segments(100);
  auto p = new_process();
  (void)p->create("t");
  auto a = p->appender("t");
  for (int i = 0; i < 3; ++i)
    must(append(*a, {std::string(500, 'x')}));
  EXPECT_EQ(must(list_partition(posix_fs(), folder())).segments,
            (std::vector<Offset>{Offset(0), Offset(1), Offset(2)}));
}

TEST_F(AppenderTest, RollsByTheAgeOfTheFirstBatch) {
  auto p = new_process();
  (void)p->create("t", 1, {{"segment.ms", "1000"}});
  auto a = p->appender("t");
  must(append(*a, {"a"}, kStart));
  must(append(*a, {"b"}, kStart + 1000));  // just as old as allowed
  must(append(*a, {"c"}, kStart + 1001));
  must(append(*a, {"d"}, kStart + 500));  // older than the segment: stays
  EXPECT_EQ(must(list_partition(posix_fs(), folder())).segments,
            (std::vector<Offset>{Offset(0), Offset(2)}));
  EXPECT_EQ(p->read("t").values(), (std::vector<std::string>{"a", "b", "c", "d"}));
}

TEST_F(AppenderTest, AgeIsKnownAfterReopening) {
  auto p = new_process();
  (void)p->create("t", 1, {{"segment.ms", "1000"}});
  must(append(*p->appender("t"), {"a"}, kStart));
  must(append(*p->appender("t"), {"b"}, kStart + 1001));
  EXPECT_TRUE(exists(log_file(1)));
}

TEST_F(AppenderTest, ARolledSegmentEndsWithAForcedTimeEntry) {
  auto p = new_process();
  (void)p->create("t", 1, {{"segment.ms", "1000"}});
  auto a = p->appender("t");
  must(append(*a, {"a"}, kStart));
  must(append(*a, {"b", "b2"}, kStart + 700));
  must(append(*a, {"c"}, kStart + 300));
  EXPECT_EQ(slurp(log_file(0, ".timeindex")), "");
  must(append(*a, {"d"}, kStart + 2000));
  EXPECT_EQ(slurp(log_file(0, ".index")), "");
  auto times = must(TimeIndex::open_read(posix_fs(), log_file(0, ".timeindex"), Offset(0)));
  ASSERT_EQ(times.count(), 1);
  EXPECT_EQ(must(times.at(0)).timestamp, kStart + 700);
  EXPECT_EQ(must(times.at(0)).offset, Offset(2));
}

TEST_F(AppenderTest, RollsWhenTheOffsetIndexIsFull) {
  auto p = new_process();
  (void)p->create("t", 1, {{"segment.index.bytes", "16"}, {"index.interval.bytes", "0"}});
  auto a = p->appender("t");
  for (int i = 0; i < 6; ++i)
    must(append(*a, {"x"}));
  // The first batch never gets an entry; two entries fit.
  EXPECT_EQ(must(list_partition(posix_fs(), folder())).segments,
            (std::vector<Offset>{Offset(0), Offset(3)}));
  EXPECT_EQ(slurp(log_file(0, ".index")).size(), 16U);
}

TEST_F(AppenderTest, AppendTimeIsTheClocks) {
  auto p = new_process();
  (void)p->create("t", 1, {{"message.timestamp.type", "LogAppendTime"}});
  auto a = p->appender("t");
  clock.set(kStart + 5);
  must(append(*a, {"a", "b"}, TimestampMs(12)));
  clock.set(kStart + 9);
  must(append(*a, {"c"}, TimestampMs(99)));
  const ReadBack back = p->read("t");
  ASSERT_EQ(back.records.size(), 3U);
  EXPECT_EQ(back.records[0].timestamp, kStart.value() + 5);
  EXPECT_EQ(back.records[1].timestamp, kStart.value() + 5);
  EXPECT_EQ(back.records[2].timestamp, kStart.value() + 9);
}

TEST_F(AppenderTest, AppendTimeDecidesAboutRollingNotTheProducersTime) {
  auto p = new_process();
  (void)p->create("t", 1, {{"message.timestamp.type", "LogAppendTime"}, {"segment.ms", "1000"}});
  auto a = p->appender("t");
  for (int i = 0; i < 3; ++i)
    must(append(*a, {"far in the future"}, kStart + 1'000'000 * (i + 1)));
  EXPECT_FALSE(exists(log_file(1)));
  clock.set(kStart + 1001);
  must(append(*a, {"from long ago"}, TimestampMs(1)));
  EXPECT_TRUE(exists(log_file(3)));
}

TEST_F(AppenderTest, AnotherProcessRolledMeanwhile) {
  auto p = new_process();
  (void)p->create("t", 1, {{"segment.ms", "1000"}});
  auto q = new_process();
  auto a = p->appender("t");
  auto b = q->appender("t");
  must(append(*a, {"a"}, kStart));
  must(append(*b, {"b"}, kStart + 2000));
  EXPECT_EQ(must(append(*a, {"c"}, kStart + 2000)).base, Offset(2));
  EXPECT_EQ(p->read("t").values(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(slurp(log_file(0)).size(), batch_starts(log_file(0)).back());
  EXPECT_EQ(batch_starts(log_file(0)).size(), 2U);
}

TEST_F(AppenderTest, DeletedAndMadeAgainUnderAnotherId) {
  auto p = new_process();
  (void)p->create("t");
  auto a = p->appender("t");
  must(append(*a, {"a"}));
  std::filesystem::rename(folder(), folder() + ".0123456789abcdef0123456789abcdef-delete");
  std::filesystem::remove(root + "/spool.topics");
  (void)p->create("t");
  must(append(*p->appender("t"), {"new"}));
  const auto refused = append(*a, {"old"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kDeleted);
  EXPECT_EQ(p->read("t").values(), (std::vector<std::string>{"new"}));
}

TEST_F(AppenderTest, FolderGoneAndTopicDeletedIsRefused) {
  auto p = new_process();
  (void)p->create("t");
  auto a = p->appender("t");
  must(append(*a, {"a"}));
  std::filesystem::remove_all(folder());
  std::filesystem::remove(root + "/spool.topics");
  const auto refused = append(*a, {"b"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kDeleted);
  EXPECT_FALSE(exists(folder()));
}

TEST_F(AppenderTest, FolderGoneAndTopicStillThereIsMadeAgain) {
  auto p = new_process();
  (void)p->create("t");
  auto a = p->appender("t");
  must(append(*a, {"a"}));
  std::filesystem::remove_all(folder());
  EXPECT_EQ(must(append(*a, {"b"})).base, Offset(0));
  EXPECT_EQ(p->read("t").values(), (std::vector<std::string>{"b"}));
}

TEST_F(AppenderTest, AForeignFolderIsNeverMade) {
  auto p = new_process();
  std::filesystem::create_directory(folder("foreign"));
  const PartitionPlace place = p->place("foreign");
  std::filesystem::remove(folder("foreign"));
  Appender a(p->store->env(), place);
  const auto refused = append(a, {"x"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kDeleted);
}

TEST_F(AppenderTest, AFolderHalfMadeIsFinished) {
  for (const char* missing : {"partition.metadata", "spool.state", "leader-epoch-checkpoint"}) {
    auto p = new_process();
    const std::string topic = std::string("half-") + missing[0];
    (void)p->create(topic);
    must(p->appender(topic)->open());
    std::filesystem::remove(file("partition.metadata", topic));
    std::filesystem::remove(file(missing, topic));
    must(append(*p->appender(topic), {"a"}));
    EXPECT_EQ(p->read(topic).values(), (std::vector<std::string>{"a"})) << missing;
    EXPECT_TRUE(exists(file("partition.metadata", topic)));
    EXPECT_TRUE(exists(file("spool.state", topic)));
  }
}

TEST_F(AppenderTest, RecoveryPointRisesToWhereTheAppenderBeganAndNeverFalls) {
  auto p = new_process();
  (void)p->create("t");
  auto first = p->appender("t");
  must(append(*first, {"a", "b"}));
  must(first->sync());
  must(first->close());
  EXPECT_EQ(state().recovery_point, Offset(0));
  auto late = p->appender("t");
  must(late->open());  // began at 2
  auto later = p->appender("t");
  must(append(*later, {"c"}));
  must(later->sync());
  must(later->close());
  EXPECT_EQ(state().recovery_point, Offset(2));
  auto latest = p->appender("t");
  must(append(*latest, {"d"}));
  must(latest->sync());
  must(latest->close());
  EXPECT_EQ(state().recovery_point, Offset(3));
  must(append(*late, {"e"}));
  must(late->sync());
  must(late->close());
  EXPECT_EQ(state().recovery_point, Offset(3)) << "lowered by an appender that began before";
}

TEST_F(AppenderTest, RecoveryPointStaysWithoutASync) {
  auto p = new_process();
  (void)p->create("t");
  must(append(*p->appender("t"), {"a"}));
  auto b = p->appender("t");
  must(append(*b, {"b"}));
  must(b->close());
  EXPECT_EQ(state().recovery_point, Offset(0));
}

// A sync vouches for the segment that it was called on, not for one that others have filled since.
TEST_F(AppenderTest, RecoveryPointDoesNotRiseByASyncOfAnEarlierSegment) {
  auto p = new_process();
  (void)p->create("t", 1, {{"segment.ms", "1000"}});
  auto q = new_process();
  auto a = p->appender("t");
  must(append(*a, {"a"}));
  must(a->sync());
  auto b = q->appender("t");
  must(append(*b, {"b"}, kStart + 5000));  // rolls
  must(append(*b, {"c"}, kStart + 5000));
  must(append(*a, {"d"}, kStart + 5000));
  must(a->close());
  EXPECT_EQ(state().recovery_point, Offset(1));
}

TEST_F(AppenderTest, AnotherOnesCutIsSeenByAnOpenAppender) {
  auto p = new_process();
  (void)p->create("t");
  auto q = new_process();
  auto a = p->appender("t");
  must(append(*a, {"a"}));
  append_to(log_file(), "torn by a process that died");
  EXPECT_EQ(must(append(*a, {"b"})).base, Offset(1));
  ASSERT_EQ(p->notices.size(), 1U);
  EXPECT_EQ(p->read("t").values(), (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace spool::test
