#include "store/store.h"

#include <gtest/gtest.h>

#include "io/atomic_file.h"
#include "store/catalogue.h"
#include "support/golden.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

CatalogueEntry entry(const std::string& name) {
  CatalogueEntry e;
  e.name = name;
  e.id = Uuid::random();
  e.partitions = 3;
  e.created = kStart;
  return e;
}

TEST(Catalogue, RoundTripWithEveryKindOfValue) {
  CatalogueEntry a = entry("a");
  a.config.keep("cleanup.policy", "compact,delete");
  a.config.keep("odd", "100% of\tit\n= yes\x7f");
  a.config.keep("empty", "");
  CatalogueEntry b = entry("b.c_d-e");
  b.dense = false;
  b.partitions = 100000;
  const LeavingTopic gone{"gone", Uuid::random(), 7};
  const std::string text = format_catalogue({{a, b}, {gone}});
  EXPECT_TRUE(text.starts_with("spool topics 1\ntopic a " + a.id.text() +
                               " 3 1700000000000 dense cleanup.policy=compact,delete empty= "
                               "odd=100%25%20of%09it%0a=%20yes%7f\ntopic b.c_d-e "))
      << text;
  EXPECT_NE(text.find("\ndeleted gone " + gone.id.text() + " 7\nxxh3 "), std::string::npos) << text;
  const Catalogue read = must(parse_catalogue(text, "f"));
  ASSERT_EQ(read.leaving.size(), 1U);
  EXPECT_EQ(read.leaving[0].name, "gone");
  EXPECT_EQ(read.leaving[0].id, gone.id);
  EXPECT_EQ(read.leaving[0].partitions, 7);
  const auto& back = read.topics;
  ASSERT_EQ(back.size(), 2U);
  EXPECT_EQ(back[0].name, "a");
  EXPECT_EQ(back[0].id, a.id);
  EXPECT_EQ(back[0].created, kStart);
  EXPECT_TRUE(back[0].dense);
  EXPECT_EQ(back[0].config, a.config);
  EXPECT_EQ(back[1].partitions, 100000);
  EXPECT_FALSE(back[1].dense);
  EXPECT_TRUE(must(parse_catalogue(format_catalogue({}), "f")).topics.empty());
}

TEST(Catalogue, ANewerVersionIsRefusedBeforeItsChecksum) {
  const auto newer = parse_catalogue("spool topics 2\nwhatever\n", "f");
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, Errc::kUnsupported);
}

TEST(Catalogue, DamageIsRefused) {
  const std::string text = format_catalogue({{entry("a"), entry("b")}, {{"c", Uuid::random(), 1}}});
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string bad = text;
    bad[i] = static_cast<char>(bad[i] ^ 2);
    const auto got = parse_catalogue(bad, "f");
    EXPECT_FALSE(got) << i;
    EXPECT_FALSE(parse_catalogue(text.substr(0, i), "f")) << i;
  }
  const std::string id = Uuid::random().text();
  for (const std::string& line : std::vector<std::string>{
           "topik a " + id + " 1 0 dense", "topic a", "topic a x 1 0 dense",
           "topic a " + id + " 0 0 dense", "topic a " + id + " x 0 dense",
           "topic a " + id + " 1 x dense", "topic a " + id + " 1 0 thick",
           "topic a " + id + " 1 0 dense c", "topic a " + id + " 1 0 dense c=%", "deleted a",
           "deleted a x 1", "deleted a " + id + " 0", "deleted a " + id + " 1 more",
           "topic a " + id + " 1 0 dense c=%2", "topic a " + id + " 1 0 dense c=%xx",
           std::string()}) {
    const auto got = parse_catalogue(with_checksum("spool topics 1\n" + line + "\n"), "f");
    ASSERT_FALSE(got) << line;
    EXPECT_EQ(got.error().code, Errc::kCorrupt) << line;
  }
}

TEST(TopicNames, KafkasRule) {
  for (const std::string& good :
       {std::string("a"), std::string("A-b_c.9"), std::string("..."), std::string(249, 'x')})
    EXPECT_TRUE(check_topic_name(good)) << good;
  for (const std::string& bad :
       {std::string(), std::string("."), std::string(".."), std::string("a b"), std::string("a/b"),
        std::string("\xc3\xa4"), std::string("a\0b", 3), std::string(250, 'x')})
    EXPECT_EQ(check_topic_name(bad).error().code, Errc::kUsage) << bad;
}

class StoreTest : public LogTest {
 protected:
  Result<std::unique_ptr<Store>> open(Fs& fs, bool make = true, bool any_fs = false,
                                      const std::string& home = "") {
    const Store::Options options{fs, clock, [](const std::string&) {}, home, any_fs};
    return Store::open_for_writing(options, root, make);
  }
};

TEST_F(StoreTest, AMissingDirectoryIsMadeOnlyForWritersThatAsk) {
  const Store::Options options{posix_fs(), clock, [](const std::string&) {}, "", false};
  EXPECT_EQ(Store::open(options, root).error().code, Errc::kNotFound);
  EXPECT_EQ(open(posix_fs(), false).error().code, Errc::kNotFound);
  root = dir / "x/y/z";
  must(open(posix_fs()));
  EXPECT_TRUE(exists(root));
  must(Store::open(options, root));
  root = dir / "file";
  spew(root, "");
  EXPECT_FALSE(open(posix_fs()));
}

TEST_F(StoreTest, BelowTheHomeADirectoryIsPrivate) {
  root = dir / "home/spool/log";
  std::filesystem::create_directory(dir / "home");
  must(open(posix_fs(), true, false, dir / "home"));
  EXPECT_EQ(must(posix_fs().stat(root)).mode, 0700U);
  EXPECT_EQ(must(posix_fs().stat(dir / "home/spool")).mode, 0700U);
}

TEST_F(StoreTest, FilesGetTheModeOfTheDirectory) {
  std::filesystem::create_directory(root);
  std::filesystem::permissions(root, std::filesystem::perms(0750));
  auto p = new_process();
  (void)p->create("t");
  must(append(*p->appender("t"), {"a"}));
  for (const std::string& name : names_in(folder()))
    EXPECT_EQ(must(posix_fs().stat(file(name))).mode, 0640U) << name;
  EXPECT_EQ(must(posix_fs().stat(folder())).mode, 0750U);
  EXPECT_EQ(must(posix_fs().stat(root + "/spool.topics")).mode, 0640U);
  EXPECT_EQ(must(posix_fs().stat(root + "/spool.locks")).mode, 0640U);
}

/// A file system that says that it is NFS.
class NfsFs final : public PassFs {
 public:
  NfsFs() : PassFs(fast_fs()) {}
  Result<FsKind> kind(const std::string&) override { return FsKind{"nfs", true}; }
};

TEST_F(StoreTest, WritingWhereOtherHostsWriteIsRefusedUnlessAskedFor) {
  std::filesystem::create_directory(root);
  NfsFs fs;
  const auto refused = open(fs);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kConflict);
  EXPECT_NE(refused.error().context.find("nfs"), std::string::npos);
  EXPECT_TRUE(names_in(root).empty());
  EXPECT_TRUE(must(open(fs, true, true))->shared_host_fs());
  const Store::Options options{fs, clock, [](const std::string&) {}, "", false};
  EXPECT_TRUE(must(Store::open(options, root))->shared_host_fs());
}

TEST_F(StoreTest, TopicsAreCreatedFoundAndListed) {
  auto p = new_process();
  const TopicInfo t = p->create("t", 3, {{"retention.ms", "-1"}});
  EXPECT_TRUE(t.ours);
  EXPECT_TRUE(t.dense);
  EXPECT_EQ(t.partitions.size(), 3U);
  EXPECT_FALSE(p->create("c", 1, {{"cleanup.policy", "compact"}}).dense);
  const auto found = must(new_process()->store->find_topic("t"));
  EXPECT_EQ(found.id, t.id);
  EXPECT_EQ(found.config, t.config);
  const auto all = must(p->store->list_topics());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "c");
  EXPECT_EQ(all[1].name, "t");
  EXPECT_FALSE(exists(folder())) << "folders are made by whoever appends first";
  EXPECT_EQ(p->store->find_topic("u").error().code, Errc::kNotFound);
  EXPECT_EQ(p->store->find_topic("u/v").error().code, Errc::kUsage);
}

TEST_F(StoreTest, NamesThatKafkaWouldTakeForTheSameAreRefused) {
  auto p = new_process();
  (void)p->create("a.b");
  std::filesystem::create_directory(root + "/foreign_x-0");
  const auto create = [&](const std::string& name, int partitions) {
    return p->store->create_topic(name, partitions, {});
  };
  EXPECT_EQ(create("a.b", 1).error().code, Errc::kExists);
  EXPECT_EQ(create("a_b", 1).error().code, Errc::kExists);
  EXPECT_EQ(create("foreign_x", 1).error().code, Errc::kExists);
  EXPECT_EQ(create("foreign.x", 1).error().code, Errc::kExists);
  EXPECT_EQ(create("ok", 0).error().code, Errc::kUsage);
  EXPECT_EQ(create("ok", kPartitionsMax + 1).error().code, Errc::kUsage);
  EXPECT_TRUE(create("a-b", 1));
}

TEST_F(StoreTest, WhereABrokersMetadataIsNoTopicIsCreated) {
  auto p = new_process();
  std::filesystem::create_directory(root + "/__cluster_metadata-0");
  EXPECT_EQ(p->store->create_topic("t", 1, {}).error().code, Errc::kConflict);
}

TEST_F(StoreTest, FoldersOfOthersAreForeignTopics) {
  std::filesystem::create_directory(root);
  const std::string id = Uuid::random().text();
  for (const char* name :
       {"f-0", "f-2", "f-10", "with-dash-0", "f-00", "f-x", "f-", "-0", "f-3.abc-delete",
        "g-0.0123456789abcdef0123456789abcdef-stray", "bad name-0"})
    std::filesystem::create_directory(root + "/" + name);
  spew(root + "/plain-0", "a file, no folder");
  spew(root + "/f-0/partition.metadata", "version: 0\ntopic_id: " + id);
  auto p = new_process();
  const auto all = must(p->store->list_topics());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "f");
  EXPECT_EQ(all[0].partitions,
            (std::vector<PartitionId>{PartitionId(0), PartitionId(2), PartitionId(10)}));
  EXPECT_EQ(all[1].name, "with-dash");
  const auto f = must(p->store->find_topic("f"));
  EXPECT_FALSE(f.ours);
  ASSERT_TRUE(f.id);
  EXPECT_EQ(f.id->text(), id);
}

TEST_F(StoreTest, TheBrokersDirectoryListsItsTopics) {
  const Store::Options options{fast_fs(), clock, [](const std::string&) {}, "", false};
  const auto all = must(must(Store::open(options, golden_data()))->list_topics());
  std::vector<std::string> names;
  for (const TopicInfo& t : all)
    names.push_back(fmt::format("{}:{}", t.name, t.partitions.size()));
  EXPECT_EQ(names, (std::vector<std::string>{
                       "__consumer_offsets:4", "__transaction_state:4", "append-time:1",
                       "codec-gzip:1", "codec-lz4:1", "codec-none:1", "codec-snappy:1",
                       "codec-zstd:1", "compacted:1", "crc32-keys:12", "hanging:1", "idempotent:1",
                       "murmur2-keys:12", "segments:1", "transactions:2", "trimmed:1"}));
}

}  // namespace
}  // namespace spool::test
