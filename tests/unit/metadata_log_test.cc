/// The metadata log of a broker, made here by an encoder of its own.

#include "store/metadata_log.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

/// Writes fields in Kafka's flexible encoding.
class Writer {
 public:
  Writer(int type, int version) {
    uvarint(1).uvarint(static_cast<unsigned>(type)).uvarint(static_cast<unsigned>(version));
  }
  Writer() = default;
  Writer& uvarint(std::uint64_t n) {
    for (; n >= 0x80; n >>= 7)
      out_ += static_cast<char>(n | 0x80);
    out_ += static_cast<char>(n);
    return *this;
  }
  Writer& number(std::int64_t n, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
      out_ += static_cast<char>(n >> shift);
    return *this;
  }
  Writer& text(const std::string& s) {
    uvarint(s.size() + 1);
    out_ += s;
    return *this;
  }
  Writer& null() { return uvarint(0); }
  Writer& id(const Uuid& id) {
    for (const unsigned char c : id.bytes())
      out_ += static_cast<char>(c);
    return *this;
  }
  Writer& ints(const std::vector<int>& all) {
    uvarint(all.size() + 1);
    for (const int n : all)
      number(n, 4);
    return *this;
  }
  Writer& tag(unsigned tag, const Writer& field) {
    uvarint(tag).uvarint(field.out_.size());
    out_ += field.out_;
    return *this;
  }
  [[nodiscard]] const std::string& done() const { return out_; }

 private:
  std::string out_;
};

std::string topic_record(const std::string& name, const Uuid& id) {
  return Writer(2, 0).text(name).id(id).uvarint(0).done();
}
std::string partition_record(int partition, const Uuid& id, int leader = 1) {
  return Writer(3, 2)
      .number(partition, 4)
      .id(id)
      .ints({1, 2})
      .ints({1})
      .ints({})
      .ints({})
      .number(leader, 4)
      .number(3, 4)
      .number(7, 4)
      .uvarint(1)  // directories: none
      .uvarint(1)  // one tagged field
      .tag(0, Writer().number(0, 1))
      .done();
}
std::string config_record(const std::string& topic, const std::string& name,
                          const std::optional<std::string>& value, int resource = 2) {
  Writer w(4, 0);
  w.number(resource, 1).text(topic).text(name);
  if (value) {
    w.text(*value);
  } else {
    w.null();
  }
  return w.uvarint(0).done();
}
std::string remove_record(const Uuid& id) {
  return Writer(9, 0).id(id).uvarint(0).done();
}
std::string bare(int type) {
  return Writer(type, 0).uvarint(0).done();
}

TEST(MetadataImage, TopicsPartitionsAndConfigs) {
  MetadataImage image;
  const Uuid id = Uuid::random();
  for (const std::string& r :
       {Writer(12, 0).text("metadata.version").number(29, 2).uvarint(0).done(),
        config_record("t", "cleanup.policy", "compact"), topic_record("t", id),
        partition_record(0, id), partition_record(1, id), config_record("t", "segment.bytes", "5"),
        config_record("t", "segment.bytes", std::nullopt), config_record("", "x", "y", 4),
        config_record("u", "segment.ms", "9"), bare(20), Writer(0, 4).text("garbage").done(),
        Writer(999, 0).done()})
    EXPECT_TRUE(image.apply(r));
  ASSERT_NE(image.find("t"), nullptr);
  const MetadataTopic& t = *image.find("t");
  EXPECT_EQ(t.id, id);
  EXPECT_EQ(t.config.values(), (TopicConfig::Values{{"cleanup.policy", "compact"}}));
  ASSERT_EQ(t.partitions.size(), 2U);
  const MetadataPartition& p = t.partitions.at(PartitionId(1));
  EXPECT_EQ(p.replicas, (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(p.isr, std::vector<std::int32_t>{1});
  EXPECT_EQ(p.leader, 1);
  EXPECT_EQ(p.leader_epoch, Epoch(3));
  EXPECT_EQ(image.features().at("metadata.version"), 29);
  EXPECT_EQ(image.find("u"), nullptr);
  // Changes carry only what is new.
  EXPECT_TRUE(image.apply(Writer(5, 2)
                              .number(1, 4)
                              .id(id)
                              .uvarint(3)
                              .tag(0, Writer().ints({2}))
                              .tag(1, Writer().number(2, 4))
                              .tag(77, Writer().text("later"))
                              .done()));
  EXPECT_EQ(p.isr, std::vector<std::int32_t>{2});
  EXPECT_EQ(p.replicas.size(), 2U);
  EXPECT_EQ(p.leader, 2);
  EXPECT_EQ(p.leader_epoch, Epoch(4));
  // Removed, and made again with nothing of the old one.
  EXPECT_TRUE(image.apply(remove_record(id)));
  EXPECT_EQ(image.find("t"), nullptr);
  EXPECT_TRUE(image.apply(remove_record(id)));
  EXPECT_TRUE(image.apply(topic_record("t", Uuid::random())));
  EXPECT_TRUE(image.find("t")->config.values().empty());
  EXPECT_TRUE(image.find("t")->partitions.empty());
}

TEST(MetadataImage, ATransactionCountsAsAWholeOrNotAtAll) {
  MetadataImage image;
  const Uuid id = Uuid::random();
  EXPECT_TRUE(image.apply(bare(23)));
  EXPECT_TRUE(image.apply(topic_record("t", id)));
  EXPECT_EQ(image.find("t"), nullptr);
  EXPECT_TRUE(image.apply(bare(25)));
  EXPECT_EQ(image.find("t"), nullptr);
  EXPECT_TRUE(image.apply(bare(23)));
  EXPECT_TRUE(image.apply(topic_record("t", id)));
  EXPECT_TRUE(image.apply(partition_record(0, id)));
  EXPECT_TRUE(image.apply(bare(24)));
  ASSERT_NE(image.find("t"), nullptr);
  EXPECT_EQ(image.find("t")->partitions.size(), 1U);
}

TEST(MetadataImage, EveryTruncationIsRefused) {
  const Uuid id = Uuid::random();
  for (const std::string& r :
       {topic_record("t", id), partition_record(0, id), config_record("t", "k", "v"),
        remove_record(id),
        Writer(5, 2).number(1, 4).id(id).uvarint(1).tag(0, Writer().ints({2})).done()}) {
    // What is behind the last field that counts is not looked at.
    const std::size_t looked_at = r.size() - (r == partition_record(0, id) ? 9 : 1);
    for (std::size_t n = 0; n < looked_at; ++n) {
      MetadataImage image;
      (void)image.apply(topic_record("x", id));
      EXPECT_FALSE(image.apply(r.substr(0, n))) << n << " of " << r.size();
    }
  }
  MetadataImage image;
  EXPECT_FALSE(image.apply(""));
  EXPECT_FALSE(image.apply(std::string("\x02\x02\x00", 3))) << "another frame version";
}

class MetadataLogTest : public LogTest {
 protected:
  /// A foreign topic's folder, and the folder of the metadata log.
  void SetUp() override {
    std::filesystem::create_directories(meta());
    std::filesystem::create_directories(folder());
    spew(file("partition.metadata"), "version: 0\ntopic_id: " + id.text());
    spew(log_file(), "");
  }
  [[nodiscard]] std::string meta() const { return root + "/__cluster_metadata-0"; }
  static std::string batch(std::int64_t base, const std::vector<std::string>& records) {
    BatchBuilder builder;
    for (const std::string& r : records)
      builder.add_value(kStart, r);
    const MutableBytes bytes = must(builder.seal(Codec::kNone, nullptr));
    place_batch(bytes, Offset(base), Epoch(1));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// A control batch of this type.
  static std::string control(std::int64_t base, int type) {
    BatchBuilder builder;
    std::string key = Writer().number(0, 2).number(type, 2).done();
    builder.add(kStart, key, std::string_view("\0\0", 2), {});
    const MutableBytes bytes = must(builder.seal(Codec::kNone, nullptr));
    place_batch(bytes, Offset(base), Epoch(1));
    bytes[22] = std::byte{0x20};
    const std::uint32_t crc = crc32c(Bytes(bytes).subspan(21));
    store_be<std::uint32_t>(bytes.data() + 17, crc);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  void write_log(std::int64_t base, const std::string& batches) {
    spew(segment_path(meta(), Offset(base), ".log"), batches);
  }
  void write_snapshot(std::int64_t end, const std::string& content) {
    spew(fmt::format("{}/{:020}-{:010}.checkpoint", meta(), end, 1), content);
  }
  TopicInfo find() {
    auto p = new_process();
    auto t = must(p->store->find_topic("t"));
    notices = p->notices;
    return t;
  }

  Uuid id = Uuid::random();
  std::vector<std::string> notices;
};

TEST_F(MetadataLogTest, TheLogAloneTells) {
  write_log(0, control(0, 2) + batch(1, {topic_record("t", id), partition_record(0, id)}) +
                   batch(3, {config_record("t", "message.timestamp.type", "LogAppendTime"),
                             config_record("t", "max.message.bytes", "1000")}));
  const TopicInfo t = find();
  EXPECT_FALSE(t.ours);
  EXPECT_TRUE(t.config_known);
  EXPECT_EQ(t.id, id);
  EXPECT_EQ(t.config.max_message_bytes(), 1000);
  EXPECT_EQ(t.replicas.at(PartitionId(0)).leader, 1);
  EXPECT_TRUE(new_process()->place("t").config.append_time);
  const auto all = must(new_process()->store->list_topics());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].id, id) << "without a look into the folder";
}

TEST_F(MetadataLogTest, ASnapshotAndWhatIsBehindIt) {
  const std::string header = control(0, 3);
  const std::string footer = control(5, 4);
  const auto content = [&](const std::string& value) {
    return header +
           batch(1,
                 {topic_record("t", id), partition_record(0, id), config_record("t", "a", value)}) +
           footer;
  };
  write_snapshot(10, content("old"));
  write_snapshot(20, content("new"));
  // Only what is behind offset 19 counts; the batch holds older ones too.
  write_log(15, batch(15, {bare(20), bare(20), config_record("t", "b", "before"), bare(20),
                           bare(20), config_record("t", "c", "behind")}));
  EXPECT_EQ(find().config.values(), (TopicConfig::Values{{"a", "new"}, {"c", "behind"}}));
  // The newest is not whole: the one before, if the log reaches back to it.
  write_snapshot(20, content("new").substr(0, content("new").size() - footer.size()));
  EXPECT_FALSE(find().config_known);
  ASSERT_EQ(notices.size(), 1U);
  write_log(15, "");
  std::filesystem::remove(segment_path(meta(), Offset(15), ".log"));
  write_log(10, batch(10, {config_record("t", "b", "behind")}));
  EXPECT_EQ(find().config.values(), (TopicConfig::Values{{"a", "old"}, {"b", "behind"}}));
  EXPECT_TRUE(notices.empty());
}

TEST_F(MetadataLogTest, AFolderOfAnotherIdGetsNoConfigs) {
  write_log(0, batch(0, {topic_record("t", Uuid::random()), config_record("t", "a", "b")}));
  EXPECT_FALSE(find().config_known);
  EXPECT_EQ(find().id, id);
}

TEST_F(MetadataLogTest, WhatDoesNotReadIsSaidAndNothingIsKnown) {
  write_log(0, batch(0, {topic_record("t", id), "\x01\x02"}));
  EXPECT_FALSE(find().config_known);
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_NE(notices[0].find("configs"), std::string::npos);
}

}  // namespace
}  // namespace spool::test
