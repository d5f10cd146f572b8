#include "store/topic_config.h"

#include <array>
#include <limits>

#include <gtest/gtest.h>

namespace spool {
namespace {

constexpr std::int64_t kLongMax = std::numeric_limits<std::int64_t>::max();

bool valid(std::string_view name, std::string_view value) {
  const Result<void> result = validate_topic_config(name, value);
  if (!result) {
    EXPECT_EQ(result.error().code, Errc::kUsage);
  }
  return result.has_value();
}

std::string reason(std::string_view name, std::string_view value) {
  const Result<void> result = validate_topic_config(name, value);
  return result ? "" : result.error().message();
}

TEST(TopicConfigDefs, AreFoundByName) {
  EXPECT_EQ(topic_config_defs().size(), 33U);  // Kafka 4.3.1's, without its internal one
  for (const TopicConfigDef& def : topic_config_defs()) {
    EXPECT_EQ(find_topic_config(def.name), &def);
    EXPECT_TRUE(valid(def.name, def.preset)) << def.name;
  }
  EXPECT_EQ(find_topic_config("segment.byte"), nullptr);
  EXPECT_EQ(find_topic_config(""), nullptr);
  EXPECT_EQ(find_topic_config("zzz"), nullptr);
  EXPECT_EQ(config_type_name(find_topic_config("cleanup.policy")->type), "list");
  EXPECT_EQ(config_type_name(find_topic_config("segment.bytes")->type), "int");
  EXPECT_EQ(find_topic_config("segment.ms")->broker_name, "log.roll.ms");
  EXPECT_EQ(find_topic_config("min.insync.replicas")->use, ConfigUse::kReplicas);
}

struct Bound {
  std::string_view name;
  std::string_view lowest;
  std::string_view below;
};

TEST(TopicConfigDefs, LowerBoundsAreKafkas) {
  constexpr std::array<Bound, 23> kBounds{{
      {"compression.gzip.level", "1", "0"},
      {"compression.lz4.level", "1", "0"},
      {"compression.zstd.level", "-131072", "-131073"},
      {"delete.retention.ms", "0", "-1"},
      {"file.delete.delay.ms", "0", "-1"},
      {"flush.messages", "1", "0"},
      {"flush.ms", "0", "-1"},
      {"index.interval.bytes", "0", "-1"},
      {"local.retention.bytes", "-2", "-3"},
      {"local.retention.ms", "-2", "-3"},
      {"max.compaction.lag.ms", "1", "0"},
      {"max.message.bytes", "0", "-1"},
      {"message.timestamp.after.max.ms", "0", "-1"},
      {"message.timestamp.before.max.ms", "0", "-1"},
      {"min.cleanable.dirty.ratio", "0", "-0.000001"},
      {"min.compaction.lag.ms", "0", "-1"},
      {"min.insync.replicas", "1", "0"},
      {"retention.bytes", "-9223372036854775808", "-9223372036854775809"},
      {"retention.ms", "-1", "-2"},
      {"segment.bytes", "1048576", "1048575"},
      {"segment.index.bytes", "4", "3"},
      {"segment.jitter.ms", "0", "-1"},
      {"segment.ms", "1", "0"},
  }};
  for (const Bound& bound : kBounds) {
    EXPECT_TRUE(valid(bound.name, bound.lowest)) << bound.name;
    EXPECT_FALSE(valid(bound.name, bound.below)) << bound.name;
  }
}

TEST(TopicConfigDefs, UpperBoundsAreKafkas) {
  EXPECT_TRUE(valid("compression.gzip.level", "9"));
  EXPECT_FALSE(valid("compression.gzip.level", "10"));
  EXPECT_TRUE(valid("compression.gzip.level", "-1"));
  EXPECT_FALSE(valid("compression.gzip.level", "-2"));
  EXPECT_TRUE(valid("compression.lz4.level", "17"));
  EXPECT_FALSE(valid("compression.lz4.level", "18"));
  EXPECT_TRUE(valid("compression.zstd.level", "22"));
  EXPECT_FALSE(valid("compression.zstd.level", "23"));
  EXPECT_TRUE(valid("min.cleanable.dirty.ratio", "1"));
  EXPECT_FALSE(valid("min.cleanable.dirty.ratio", "1.0000001"));
  EXPECT_TRUE(valid("segment.bytes", "2147483647"));
  EXPECT_FALSE(valid("segment.bytes", "2147483648"));
  EXPECT_TRUE(valid("retention.ms", "9223372036854775807"));
  EXPECT_FALSE(valid("retention.ms", "9223372036854775808"));
}

TEST(TopicConfigDefs, IntegersAreReadAsJavaReadsThem) {
  for (const std::string_view good : {"1048576", " 1048576 ", "+1048576", "\t1048576\n"})
    EXPECT_TRUE(valid("segment.bytes", good)) << good;
  for (const std::string_view bad : {"", " ", "0x100000", "1e7", "1048576.0", "1 048576", "+", "-",
                                     "+-1048576", "++1048576", "1MiB"})
    EXPECT_FALSE(valid("segment.bytes", bad)) << bad;
}

TEST(TopicConfigDefs, DoublesArePlainDecimals) {
  for (const std::string_view good : {"0.5", ".5", "1.", "1e-1", " 0.5 ", "+0.5", "-0.0"})
    EXPECT_TRUE(valid("min.cleanable.dirty.ratio", good)) << good;
  for (const std::string_view bad : {"", "NaN", "nan", "Infinity", "inf", "0.5f", "half", "5."})
    EXPECT_FALSE(valid("min.cleanable.dirty.ratio", bad)) << bad;
}

TEST(TopicConfigDefs, BooleansHaveTwoWords) {
  for (const std::string_view good : {"true", "false", "TRUE", " False "})
    EXPECT_TRUE(valid("preallocate", good)) << good;
  for (const std::string_view bad : {"", "yes", "1", "truee"})
    EXPECT_FALSE(valid("preallocate", bad)) << bad;
}

TEST(TopicConfigDefs, StringsAreChoices) {
  for (const std::string_view good :
       {"uncompressed", "zstd", "lz4", "snappy", "gzip", "producer", " zstd"})
    EXPECT_TRUE(valid("compression.type", good)) << good;
  for (const std::string_view bad : {"", "none", "ZSTD", "zstd,lz4"})
    EXPECT_FALSE(valid("compression.type", bad)) << bad;
  EXPECT_TRUE(valid("message.timestamp.type", "CreateTime"));
  EXPECT_TRUE(valid("message.timestamp.type", "LogAppendTime"));
  EXPECT_FALSE(valid("message.timestamp.type", "createtime"));
}

TEST(TopicConfigDefs, CleanupPolicyIsAListOfTwo) {
  for (const std::string_view good :
       {"", " ", "compact", "delete", "compact,delete", " delete , compact ", "compact,compact"})
    EXPECT_TRUE(valid("cleanup.policy", good)) << good;
  for (const std::string_view bad :
       {"Compact", "compact,", ",compact", ",", "compact;delete", "foo"})
    EXPECT_FALSE(valid("cleanup.policy", bad)) << bad;
}

TEST(TopicConfigDefs, ThrottledReplicasAreKept) {
  for (const std::string_view name :
       {"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"}) {
    for (const std::string_view good : {"", "*", "0:1", "0:1,1:2", "0:1, 1:2", "0:1,"})
      EXPECT_TRUE(valid(name, good)) << good;
    for (const std::string_view bad : {"*,0:1", "none", "0-1", "-1:2", "0:", ":1", "0:1:2"})
      EXPECT_FALSE(valid(name, bad)) << bad;
  }
}

TEST(TopicConfigDefs, TieredStorageIsRefused) {
  for (const std::string_view name :
       {"remote.storage.enable", "remote.log.copy.disable", "remote.log.delete.on.disable"}) {
    EXPECT_TRUE(valid(name, "false"));
    EXPECT_FALSE(valid(name, "true"));
    EXPECT_FALSE(valid(name, "True"));
  }
  EXPECT_EQ(reason("remote.storage.enable", "true"),
            "topic config 'remote.storage.enable': 'true' cannot be had: spool has no tiered "
            "storage");
  EXPECT_TRUE(valid("preallocate", "true"));
  EXPECT_TRUE(valid("unclean.leader.election.enable", "true"));
}

TEST(TopicConfigDefs, MessagesNameTheConfigAndTheLimit) {
  EXPECT_EQ(reason("segment.bytes", "1048575"),
            "topic config 'segment.bytes': '1048575' is less than 1048576");
  EXPECT_EQ(reason("segment.bytes", "1G"),
            "topic config 'segment.bytes': '1G' is not an integer of 32 bits");
  EXPECT_EQ(reason("retention.ms", "7d"),
            "topic config 'retention.ms': '7d' is not an integer of 64 bits");
  EXPECT_EQ(reason("compression.gzip.level", "0"),
            "topic config 'compression.gzip.level': '0' is not from 1 to 9, nor -1");
  EXPECT_EQ(reason("cleanup.policy", "foo"),
            "topic config 'cleanup.policy': 'foo' is not a list of compact, delete");
  EXPECT_EQ(reason("preallocate", "yes"),
            "topic config 'preallocate': 'yes' is neither true nor false");
}

TEST(TopicConfigDefs, UnknownNamesGetTheNearestOne) {
  EXPECT_EQ(reason("retention.m", "1"),
            "topic config 'retention.m' is unknown, the nearest known one is 'retention.ms'");
  EXPECT_EQ(reason("cleanup_policy", "compact"),
            "topic config 'cleanup_policy' is unknown, the nearest known one is 'cleanup.policy'");
  EXPECT_EQ(reason("log.segment.bytes", "1"),
            "topic config 'log.segment.bytes' is a broker's; a topic's is 'segment.bytes'");
  EXPECT_EQ(reason("message.max.bytes", "1"),
            "topic config 'message.max.bytes' is a broker's; a topic's is 'max.message.bytes'");
  EXPECT_EQ(reason("message.format.version", "3.0"),
            "topic config 'message.format.version' is gone since Kafka 4.0: there is one format");
  EXPECT_EQ(reason("bogus", "1"), "topic config 'bogus' is unknown");
  EXPECT_EQ(reason("", "1"), "topic config '' is unknown");
  EXPECT_FALSE(valid("internal.segment.bytes", "1"));
  EXPECT_FALSE(valid(std::string(1'000'000, 'x'), "1"));
}

TEST(TopicConfig, DefaultsAreKafkas) {
  const TopicConfig config;
  EXPECT_EQ(config.segment_bytes(), 1'073'741'824);
  EXPECT_EQ(config.segment_ms(), 604'800'000);
  EXPECT_EQ(config.roll_ms(), 604'800'000);
  EXPECT_EQ(config.segment_jitter_ms(), 0);
  EXPECT_EQ(config.segment_index_bytes(), 10'485'760);
  EXPECT_EQ(config.index_interval_bytes(), 4096);
  EXPECT_EQ(config.flush_messages(), kLongMax);
  EXPECT_EQ(config.flush_ms(), kLongMax);
  EXPECT_EQ(config.max_message_bytes(), std::nullopt);
  EXPECT_EQ(config.text("max.message.bytes"), "1048588");
  EXPECT_FALSE(config.log_append_time());
  EXPECT_EQ(config.message_timestamp_before_max_ms(), kLongMax);
  EXPECT_EQ(config.message_timestamp_after_max_ms(), 3'600'000);
  EXPECT_EQ(config.compression_type(), std::nullopt);
  EXPECT_FALSE(config.compacts());
  EXPECT_TRUE(config.deletes());
  EXPECT_EQ(config.retention_ms(), 604'800'000);
  EXPECT_EQ(config.retention_bytes(), -1);
  EXPECT_EQ(config.file_delete_delay_ms(), 60'000);
  EXPECT_EQ(config.delete_retention_ms(), 86'400'000);
  EXPECT_EQ(config.min_compaction_lag_ms(), 0);
  EXPECT_EQ(config.max_compaction_lag_ms(), kLongMax);
  EXPECT_EQ(config.min_cleanable_dirty_ratio(), 0.5);
  EXPECT_EQ(config.min_insync_replicas(), 1);
  EXPECT_FALSE(config.unclean_leader_election());
}

TEST(TopicConfig, DefaultLevelsAreTheCodecs) {
  const TopicConfig config;
  for (const Codec codec :
       {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    EXPECT_EQ(config.compression_level(codec), codec_levels(codec).preset);
    EXPECT_TRUE(codec_levels(codec).allows(config.compression_level(codec)));
  }
}

TEST(TopicConfig, LevelBoundsAreTheCodecs) {
  const auto same = [](std::string_view name, Codec codec) {
    const TopicConfigDef* def = find_topic_config(name);
    const CodecLevels levels = codec_levels(codec);
    return def->min == levels.min && def->max == levels.max;
  };
  EXPECT_TRUE(same("compression.gzip.level", Codec::kGzip));
  EXPECT_TRUE(same("compression.lz4.level", Codec::kLz4));
  EXPECT_TRUE(same("compression.zstd.level", Codec::kZstd));
}

TEST(TopicConfig, SetValuesCount) {
  TopicConfig config;
  ASSERT_TRUE(config.set("segment.bytes", " +2097152 "));
  ASSERT_TRUE(config.set("max.message.bytes", "100"));
  ASSERT_TRUE(config.set("message.timestamp.type", "LogAppendTime"));
  ASSERT_TRUE(config.set("compression.type", "uncompressed"));
  ASSERT_TRUE(config.set("compression.zstd.level", "-5"));
  ASSERT_TRUE(config.set("min.cleanable.dirty.ratio", "0.25"));
  ASSERT_TRUE(config.set("unclean.leader.election.enable", "TRUE"));
  EXPECT_EQ(config.segment_bytes(), 2'097'152);
  EXPECT_EQ(config.text("segment.bytes"), " +2097152 ");
  EXPECT_EQ(config.max_message_bytes(), 100);
  EXPECT_TRUE(config.log_append_time());
  EXPECT_EQ(config.compression_type(), Codec::kNone);
  EXPECT_EQ(config.compression_level(Codec::kZstd), -5);
  EXPECT_EQ(config.min_cleanable_dirty_ratio(), 0.25);
  EXPECT_TRUE(config.unclean_leader_election());
  ASSERT_TRUE(config.set("compression.type", "zstd"));
  EXPECT_EQ(config.compression_type(), Codec::kZstd);
  EXPECT_EQ(config.values().size(), 7U);
  EXPECT_EQ(config.values().begin()->first, "compression.type");
}

TEST(TopicConfig, PoliciesCombine) {
  TopicConfig config;
  ASSERT_TRUE(config.set("cleanup.policy", "compact , delete"));
  EXPECT_TRUE(config.compacts() && config.deletes());
  ASSERT_TRUE(config.set("cleanup.policy", "compact"));
  EXPECT_TRUE(config.compacts() && !config.deletes());
  ASSERT_TRUE(config.set("cleanup.policy", ""));
  EXPECT_FALSE(config.compacts() || config.deletes());
}

TEST(TopicConfig, RefusedValueChangesNothing) {
  TopicConfig config;
  ASSERT_TRUE(config.set("retention.ms", "5"));
  EXPECT_FALSE(config.set("retention.ms", "-2"));
  EXPECT_FALSE(config.set("retention.hours", "1"));
  EXPECT_EQ(config.retention_ms(), 5);
  EXPECT_EQ(config.values().size(), 1U);
}

TEST(TopicConfig, EraseGoesBackToTheDefault) {
  TopicConfig config;
  ASSERT_TRUE(config.set("retention.ms", "-1"));
  EXPECT_TRUE(config.is_set("retention.ms"));
  EXPECT_TRUE(config.erase("retention.ms"));
  EXPECT_FALSE(config.erase("retention.ms"));
  EXPECT_EQ(config.retention_ms(), 604'800'000);
  EXPECT_EQ(config, TopicConfig());
}

TEST(TopicConfig, ForeignValuesAreKeptButDoNotCountWhenTheyDoNotFit) {
  TopicConfig config;
  config.keep("segment.bytes", "14");
  config.keep("cleanup.policy", "nonsense");
  config.keep("some.new.config", "1");
  config.keep("remote.storage.enable", "true");
  EXPECT_EQ(config.segment_bytes(), 1'073'741'824);
  EXPECT_TRUE(config.deletes());
  EXPECT_EQ(config.text("some.new.config"), "1");
  EXPECT_EQ(config.text("some.other.config"), std::nullopt);
  EXPECT_EQ(config.text("remote.storage.enable"), "true");
  EXPECT_EQ(config.values().size(), 4U);
}

TEST(TopicConfig, LagsMustFitTogether) {
  TopicConfig config;
  ASSERT_TRUE(config.set("min.compaction.lag.ms", "10"));
  EXPECT_TRUE(config.validate());
  ASSERT_TRUE(config.set("max.compaction.lag.ms", "10"));
  EXPECT_TRUE(config.validate());
  ASSERT_TRUE(config.set("max.compaction.lag.ms", "9"));
  const Result<void> result = config.validate();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::kUsage);
  EXPECT_EQ(result.error().message(),
            "topic config 'min.compaction.lag.ms' (10) is more than 'max.compaction.lag.ms' (9)");
}

TEST(TopicConfig, CompactionLagBoundsTheAgeOfASegment) {
  TopicConfig config;
  ASSERT_TRUE(config.set("max.compaction.lag.ms", "1000"));
  EXPECT_EQ(config.roll_ms(), 604'800'000);
  ASSERT_TRUE(config.set("cleanup.policy", "compact"));
  EXPECT_EQ(config.roll_ms(), 1000);
  ASSERT_TRUE(config.set("segment.ms", "500"));
  EXPECT_EQ(config.roll_ms(), 500);
}

}  // namespace
}  // namespace spool
