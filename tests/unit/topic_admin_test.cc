/// Altering and deleting topics, and what becomes of those who have them open.

#include <gtest/gtest.h>

#include "log/checkpoint.h"
#include "support/fault_fs.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

class TopicAdminTest : public LogTest {
 protected:
  TopicInfo find(Process& p, const std::string& name = "t") {
    return must(p.store->find_topic(name));
  }
  void remove(Process& p, const std::string& name = "t") {
    must(p.store->delete_topic(find(p, name)), "deleting");
  }
  std::vector<std::string> folders() {
    std::vector<std::string> out;
    for (const std::string& name : names_in(root))
      if (std::filesystem::is_directory(root + "/" + name)) out.push_back(name);
    return out;
  }
};

TEST_F(TopicAdminTest, ConfigsAreSetAndTakenBack) {
  auto p = new_process();
  (void)p->create("t", 1, {{"retention.ms", "-1"}});
  must(p->store->alter_topic("t", {.set = {{"segment.bytes", "2000000"}, {"segment.ms", "5"}}},
                             false));
  EXPECT_EQ(find(*p).config.segment_bytes(), 2000000);
  const auto dry = must(p->store->alter_topic("t", {.erase = {"segment.ms"}}, true));
  EXPECT_FALSE(dry.config.is_set("segment.ms"));
  EXPECT_TRUE(find(*p).config.is_set("segment.ms"));
  must(p->store->alter_topic("t", {.erase = {"segment.ms", "flush.ms"}}, false));
  EXPECT_FALSE(find(*p).config.is_set("segment.ms"));
  EXPECT_TRUE(find(*p).config.is_set("retention.ms"));
  const auto bad = [&](const TopicChange& change) {
    return p->store->alter_topic("t", change, false).error().code;
  };
  EXPECT_EQ(bad({.set = {{"nonsense", "1"}}}), Errc::kUsage);
  EXPECT_EQ(bad({.set = {{"segment.bytes", "x"}}}), Errc::kUsage);
  EXPECT_EQ(bad({.erase = {"nonsense"}}), Errc::kUsage);
  EXPECT_EQ(bad({.set = {{"min.compaction.lag.ms", "9"}, {"max.compaction.lag.ms", "5"}}}),
            Errc::kUsage);
  EXPECT_EQ(p->store->alter_topic("u", {.erase = {"segment.ms"}}, false).error().code,
            Errc::kNotFound);
  EXPECT_EQ(find(*p).config.segment_bytes(), 2000000);
}

TEST_F(TopicAdminTest, OnceCompactedATopicIsNeverDenseAgain) {
  auto p = new_process();
  EXPECT_TRUE(p->create("t").dense);
  must(p->store->alter_topic("t", {.set = {{"cleanup.policy", "compact"}}}, false));
  must(p->store->alter_topic("t", {.erase = {"cleanup.policy"}}, false));
  EXPECT_FALSE(find(*p).dense);
}

TEST_F(TopicAdminTest, PartitionsOnlyGrow) {
  auto p = new_process();
  (void)p->create("t", 2);
  const auto grow = [&](int n) { return p->store->alter_topic("t", {.partitions = n}, false); };
  EXPECT_EQ(grow(1).error().code, Errc::kUsage);
  EXPECT_EQ(grow(kPartitionsMax + 1).error().code, Errc::kUsage);
  EXPECT_EQ(must(grow(2)).partitions.size(), 2U);
  EXPECT_EQ(must(grow(5)).partitions.size(), 5U);
  must(append(*p->appender("t", 4), {"x"}));
  EXPECT_EQ(p->read("t", 4).values(), std::vector<std::string>{"x"});
  std::filesystem::create_directory(folder("t", 6));
  const auto refused = grow(8);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kConflict);
  EXPECT_EQ(find(*p).partitions.size(), 5U);
}

TEST_F(TopicAdminTest, WhatBelongsToABrokerIsNeitherAlteredNorDeleted) {
  auto p = new_process();
  (void)p->create("t");
  const TopicInfo t = find(*p);
  std::filesystem::create_directory(root + "/foreign-0");
  EXPECT_EQ(p->store->alter_topic("foreign", {.partitions = 2}, false).error().code,
            Errc::kConflict);
  EXPECT_EQ(p->store->delete_topic(find(*p, "foreign")).error().code, Errc::kConflict);
  std::filesystem::create_directory(root + "/__cluster_metadata-0");
  EXPECT_EQ(p->store->alter_topic("t", {.partitions = 2}, false).error().code, Errc::kConflict);
  EXPECT_EQ(p->store->delete_topic(t).error().code, Errc::kConflict);
  EXPECT_TRUE(exists(root + "/foreign-0"));
}

TEST_F(TopicAdminTest, ADeletedTopicLeavesNothing) {
  auto p = new_process();
  (void)p->create("t", 3);
  (void)p->create("u");
  for (const int partition : {0, 2})
    must(append(*p->appender("t", partition), {"a", "b"}));
  must(append(*p->appender("u"), {"stays"}));
  spew(root + "/log-start-offset-checkpoint", "0\n2\nt 0 1\nu 0 0\n");
  remove(*p);
  EXPECT_EQ(folders(), std::vector<std::string>{"u-0"});
  EXPECT_EQ(slurp(root + "/log-start-offset-checkpoint"), "0\n1\nu 0 0\n");
  EXPECT_EQ(slurp(root + "/spool.topics").find("deleted"), std::string::npos);
  EXPECT_EQ(p->store->find_topic("t").error().code, Errc::kNotFound);
  (void)p->create("t");
  EXPECT_EQ(must(append(*p->appender("t"), {"c"})).base, Offset(0));
  EXPECT_EQ(p->read("t").values(), std::vector<std::string>{"c"});
}

TEST_F(TopicAdminTest, AFolderWithAnotherIdIsNeverRemoved) {
  auto p = new_process();
  (void)p->create("t", 2);
  must(append(*p->appender("t", 0), {"a"}));
  std::filesystem::create_directory(folder("t", 1));
  spew(folder("t", 1) + "/partition.metadata", "version: 0\ntopic_id: " + Uuid::random().text());
  spew(folder("t", 1) + "/precious", "");
  remove(*p);
  EXPECT_EQ(folders(), std::vector<std::string>{"t-1"});
  EXPECT_TRUE(exists(folder("t", 1) + "/precious"));
  EXPECT_FALSE(find(*p).ours);
}

TEST_F(TopicAdminTest, ALongNameFitsWhenItsFolderIsRenamed) {
  auto p = new_process();
  const std::string name(249, 'x');
  (void)p->create(name);
  must(append(*p->appender(name), {"a"}));
  remove(*p, name);
  EXPECT_TRUE(folders().empty());
}

TEST_F(TopicAdminTest, OnlyTheTopicThatWasMeantIsDeleted) {
  auto p = new_process();
  (void)p->create("t");
  const TopicInfo old = find(*p);
  remove(*p);
  (void)p->create("t");
  must(append(*p->appender("t"), {"new"}));
  EXPECT_EQ(p->store->delete_topic(old).error().code, Errc::kDeleted);
  EXPECT_EQ(p->read("t").values(), std::vector<std::string>{"new"});
}

/// A delete that is cut short anywhere: the topic is there, or it is gone and the next change of
/// the catalogue finishes the work.
TEST_F(TopicAdminTest, ADeleteThatIsCutShortIsFinishedByTheNextChange) {
  for (const Call call :
       {Call::kWrite, Call::kCreate, Call::kRename, Call::kUnlink, Call::kSyncDir}) {
    for (int nth = 1;; ++nth) {
      const TempDir fresh;
      root = fresh / "log";
      auto p = new_process();
      (void)p->create("t", 2);
      for (const int partition : {0, 1})
        must(append(*p->appender("t", partition), {"a"}));
      FaultFs faulty;
      auto q = new_process(faulty);
      const TopicInfo t = find(*q);
      faulty.plan({.call = call, .nth = nth, .sys_errno = EIO, .sticky = true, .only = ""});
      const auto done = q->store->delete_topic(t);
      const bool fired = faulty.fired() > 0;
      const auto left = p->store->find_topic("t");
      if (left) {
        EXPECT_FALSE(done);
        EXPECT_TRUE(left->ours) << "never a foreign topic";
        EXPECT_EQ(p->read("t").values(), std::vector<std::string>{"a"});
        remove(*p);
      }
      EXPECT_TRUE(must(p->store->list_topics()).empty());
      (void)p->create("t");
      EXPECT_TRUE(folders().empty()) << call_name(call) << ' ' << nth << ' ' << folders().front();
      EXPECT_EQ(slurp(root + "/spool.topics").find("deleted"), std::string::npos);
      must(append(*p->appender("t"), {"new"}));
      EXPECT_EQ(p->read("t").values(), std::vector<std::string>{"new"});
      if (!fired) break;
    }
  }
}

TEST_F(TopicAdminTest, OnAFullDiskIndexesMakeRoomForTheCatalogue) {
  auto p = new_process();
  (void)p->create("t");
  must(append(*p->appender("t"), {"a"}));
  FaultFs full;
  auto q = new_process(full);
  const TopicInfo t = find(*q);
  full.plan(
      {.call = Call::kWrite, .nth = 1, .sys_errno = ENOSPC, .sticky = false, .only = "topics.tmp"});
  must(q->store->delete_topic(t));
  EXPECT_TRUE(folders().empty());
}

TEST_F(TopicAdminTest, WritersOfADeletedTopicAreTold) {
  auto p = new_process();
  (void)p->create("t", 2);
  auto open = p->appender("t");
  auto fresh = p->appender("t", 1);
  must(append(*open, {"a"}));
  auto q = new_process();
  remove(*q);
  EXPECT_EQ(append(*open, {"b"}).error().code, Errc::kDeleted);
  EXPECT_EQ(append(*fresh, {"b"}).error().code, Errc::kDeleted);
  EXPECT_TRUE(folders().empty());
  (void)q->create("t", 2);
  EXPECT_EQ(append(*open, {"b"}).error().code, Errc::kDeleted);
  EXPECT_EQ(append(*fresh, {"b"}).error().code, Errc::kDeleted);
  must(append(*q->appender("t"), {"new"}));
  EXPECT_EQ(append(*open, {"b"}).error().code, Errc::kDeleted);
  must(open->sync());
  must(open->close());
  EXPECT_EQ(q->read("t").values(), std::vector<std::string>{"new"});
}

TEST_F(TopicAdminTest, ReadersOfADeletedTopicGetToTheEndOfWhatTheyHaveOpen) {
  auto p = new_process();
  (void)p->create("t");
  must(append(*p->appender("t"), {"a"}));
  must(append(*p->appender("t"), {"b"}));
  const PartitionPlace place = p->place("t");
  RecordStream stream(p->store->env(), place, Offset(0), {});
  ASSERT_EQ(must(stream.next()), RecordStream::Step::kRecord);
  auto q = new_process();
  remove(*q);
  ASSERT_EQ(must(stream.next()), RecordStream::Step::kRecord);
  const auto end = stream.next();
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, Errc::kDeleted);
  EXPECT_EQ(end.error().context, "topic 't' was deleted");
}

TEST_F(TopicAdminTest, AReaderTellsANewTopicFromItsOwn) {
  auto p = new_process();
  (void)p->create("t");
  const PartitionPlace never_made = p->place("t");
  RecordStream waiting(p->store->env(), never_made, Offset(0), {});
  EXPECT_EQ(must(waiting.next()), RecordStream::Step::kEnd);
  must(append(*p->appender("t"), {"a"}));
  const PartitionPlace place = p->place("t");
  RecordStream stream(p->store->env(), place, Offset(0), {});
  ASSERT_EQ(must(stream.next()), RecordStream::Step::kRecord);
  ASSERT_EQ(must(stream.next()), RecordStream::Step::kEnd);
  RecordStream second(p->store->env(), place, Offset(1), {});
  ASSERT_EQ(must(second.next()), RecordStream::Step::kEnd);
  auto q = new_process();
  remove(*q);
  EXPECT_EQ(waiting.next().error().code, Errc::kDeleted) << "it had no folder yet";
  (void)q->create("t");
  must(append(*q->appender("t"), {"b", "c"}));
  EXPECT_EQ(stream.next().error().code, Errc::kDeleted);
  // The folder is there and does not say yet whose it is.
  std::filesystem::remove(file("partition.metadata"));
  EXPECT_EQ(second.next().error().code, Errc::kDeleted);
}

}  // namespace
}  // namespace spool::test
