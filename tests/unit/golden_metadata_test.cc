/// A directory of a broker with its metadata log, which the broker itself wrote; see tests/golden.

#include <gtest/gtest.h>

#include "store/verify_dir.h"
#include "support/golden.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

const std::string kMetadata = std::string(SPOOL_GOLDEN_DIR) + "/metadata";

class GoldenMetadata : public LogTest {
 protected:
  std::unique_ptr<Store> open(const std::string& at) {
    const Store::Options options{fast_fs(), clock, [](const std::string&) {}, "", true};
    return must(Store::open(options, at));
  }
  /// `KIND FILE: WHAT` of all findings of the directory.
  std::vector<std::string> findings(const std::string& at) {
    const auto store = open(at);
    DirectoryCheck directory(*store);
    must(directory.run());
    std::vector<Finding> all = directory.findings();
    for (const TopicInfo& t : directory.topics())
      for (const PartitionId p : t.partitions) {
        PartitionCheck check(store->env(), store->place(t, p), directory.facts(t, p), [](int) {});
        must(check.begin());
        VerifyProgress progress;
        for (std::size_t i = 0; i < check.segments(); ++i)
          must(check.check_segment(i, progress));
        must(check.finish());
        all.insert(all.end(), check.findings().begin(), check.findings().end());
      }
    std::vector<std::string> out;
    for (const Finding& f : all)
      out.push_back(fmt::format("{} {}: {}", f.damage() ? "damage" : "note",
                                f.file.substr(at.size() + 1), f.what));
    return out;
  }
  static std::string configs(const TopicInfo& t) {
    std::string out;
    for (const auto& [name, value] : t.config.values())
      out += (out.empty() ? "" : ",") + name + "=" + value;
    return out;
  }
};

TEST_F(GoldenMetadata, TopicsHaveWhatTheBrokersLogSays) {
  const auto store = open(kMetadata);
  std::map<std::string, std::string> seen;
  for (const TopicInfo& t : must(store->list_topics())) {
    if (is_internal_topic(t.name)) continue;
    EXPECT_TRUE(t.config_known) << t.name;
    EXPECT_FALSE(t.ours);
    EXPECT_EQ(t.replicas.size(), t.partitions.size()) << t.name;
    EXPECT_EQ(must(read_topic_id(fast_fs(), store->place(t, PartitionId(0)).dir)), t.id);
    seen[t.name] = fmt::format("{} {}", t.partitions.size(), configs(t));
  }
  EXPECT_EQ(seen, (std::map<std::string, std::string>{
                      {"altered",
                       "3 message.timestamp.type=LogAppendTime,retention.bytes=1000000,"
                       "retention.ms=-1"},
                      {"compacted",
                       "1 cleanup.policy=compact,max.compaction.lag.ms=500,min.cleanable.dirty."
                       "ratio=0.001,min.compaction.lag.ms=0,segment.ms=200"},
                      {"made-2", "4 "},
                      {"plain", "2 retention.ms=-1,segment.bytes=1048576"}}));
}

TEST_F(GoldenMetadata, GapsOfACompactedTopicAreNoFindings) {
  const std::vector<std::string> vote{
      "note __cluster_metadata-0/quorum-state: a broker's vote; not checked"};
  EXPECT_EQ(findings(kMetadata), vote);
  copy_folder(kMetadata, root);
  std::filesystem::remove(root + "/cleaner-offset-checkpoint");
  EXPECT_EQ(findings(root), vote);
}

TEST_F(GoldenMetadata, WhatTheLogSaysVouchesForIdsAndSnapshotsForThemselves) {
  copy_folder(kMetadata, root);
  // The only partition of its topic: nothing but the metadata knows its id.
  const std::string id = root + "/compacted-0/partition.metadata";
  flip_bit(id, 30);
  auto found = findings(root);
  ASSERT_EQ(found.size(), 2U) << ::testing::PrintToString(found);
  EXPECT_EQ(found[1].find("damage compacted-0/partition.metadata: the topic id is "), 0U);
  flip_bit(id, 30);
  // Each byte of a snapshot. The one that is read is the newest: this one is older.
  const std::string snapshot =
      root + "/__cluster_metadata-0/00000000000000000173-0000000001.checkpoint";
  const std::size_t size = slurp(snapshot).size();
  for (std::size_t byte = 0; byte < size; byte += 7) {
    flip_bit(snapshot, byte, static_cast<unsigned>(byte) % 8);
    found = findings(root);
    EXPECT_EQ(found.size(), 2U) << byte;
    EXPECT_EQ(found[0].find("damage __cluster_metadata-0/0000"), 0U) << byte;
    flip_bit(snapshot, byte, static_cast<unsigned>(byte) % 8);
  }
}

}  // namespace
}  // namespace spool::test
