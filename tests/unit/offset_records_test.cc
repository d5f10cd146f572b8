#include "group/offset_records.h"

#include <map>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "support/golden.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

/// Bytes from hexadecimal; blanks are for the reader.
std::string raw(std::string_view hex) {
  std::string out;
  int high = -1;
  for (const char c : hex) {
    if (c == ' ') continue;
    const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
    if (high < 0) {
      high = digit;
    } else {
      out += static_cast<char>(high * 16 + digit);
      high = -1;
    }
  }
  return out;
}

GroupValue a_group() {
  GroupValue g;
  g.protocol_type = "consumer";
  g.generation = 7;
  g.protocol = "range";
  g.leader = "m-1";
  g.state_time = TimestampMs(1'700'000'000'000);
  g.members.push_back({"m-1", "static-1", "client", "/127.0.0.1", 300000, 45000, "sub", "asg"});
  g.members.push_back({"m-2", std::nullopt, "", "", 1, 2, "", std::string("\0\1", 2)});
  return g;
}

TEST(OffsetRecords, HashIsJavasOverUtf16Units) {
  const std::map<std::string, std::int32_t> known{
      {"", 0},
      {"g-all", 96559931},
      {"g-half", -1301411367},
      {"console-consumer-12345", 158455506},
      {"gr\xc3\xbcppe", -1233264812},
      {"\xf0\x9f\x98\x80 group", -1570619006},
      {"polygenelubricants", std::numeric_limits<std::int32_t>::min()},
  };
  for (const auto& [text, hash] : known)
    EXPECT_EQ(java_hash(text), hash) << text;
}

TEST(OffsetRecords, BytesThatAreNotUtf8HashAsTheReplacementCharacter) {
  const std::int32_t two = 65008856;  // U+FFFD twice, then x
  EXPECT_EQ(java_hash("\xff\xfex"), two);
  EXPECT_EQ(java_hash("\xe2\x82\xf0\x9f\x98x"), two) << "two beginnings of longer ones";
  EXPECT_EQ(java_hash("\xef\xbf\xbd\x80x"), two);
  EXPECT_EQ(java_hash("\xc0\xafx"), two) << "a long form is two errors";
}

TEST(OffsetRecords, PartitionIsTheAbsoluteHashAndZeroForTheOneWithoutCounterpart) {
  EXPECT_EQ(offsets_partition("g-all", 50), PartitionId(31));
  EXPECT_EQ(offsets_partition("g-half", 50), PartitionId(17));
  EXPECT_EQ(offsets_partition("polygenelubricants", 50), PartitionId(0));
  EXPECT_EQ(offsets_partition("g-half", 1), PartitionId(0));
}

TEST(OffsetRecords, OffsetsAreWrittenAsABrokerWritesThem) {
  EXPECT_EQ(encode_offset_key("g", "top", PartitionId(258)),
            raw("0001 0001 67 0003 746f70 00000102"));
  OffsetValue v;
  v.offset = Offset(100);
  v.metadata = "m";
  v.commit_time = TimestampMs(0x18bcfe56800);
  EXPECT_EQ(encode_offset_value(v), raw("0003 0000000000000064 ffffffff 0001 6d 0000018bcfe56800"));
  const OffsetValue back = must(decode_offset_value(encode_offset_value(v)));
  EXPECT_EQ(back, v);
}

TEST(OffsetRecords, EveryVersionOfAnOffsetReads) {
  OffsetValue v;
  v.offset = Offset(5);
  v.metadata = "ab";
  v.commit_time = TimestampMs(9);
  const std::string offset = "0000000000000005";
  const std::string time = "0000000000000009";
  EXPECT_EQ(must(decode_offset_value(raw("0000" + offset + "0002 6162" + time))), v);
  EXPECT_EQ(must(decode_offset_value(raw("0002" + offset + "0002 6162" + time))), v);
  v.expire_time = TimestampMs(10);
  EXPECT_EQ(
      must(decode_offset_value(raw("0001" + offset + "0002 6162" + time + "000000000000000a"))), v);
  v.expire_time = kNoTimestamp;
  v.leader_epoch = Epoch(3);
  EXPECT_EQ(must(decode_offset_value(raw("0003" + offset + "00000003 0002 6162" + time))), v);
  const std::string flexible = "0004" + offset + "00000003 03 6162" + time;
  EXPECT_EQ(must(decode_offset_value(raw(flexible + "00"))), v);
  v.topic_id = raw("00112233445566778899aabbccddeeff");
  // Tag 0 is the topic's id; a tag that is not known is passed over.
  EXPECT_EQ(must(decode_offset_value(
                raw(flexible + "02 00 10 00112233445566778899aabbccddeeff 05 02 abcd"))),
            v);
}

TEST(OffsetRecords, GroupsRoundTripAndEveryVersionReads) {
  const GroupValue g = a_group();
  EXPECT_EQ(must(decode_group_value(encode_group_value(g))), g);
  GroupValue none;
  EXPECT_EQ(must(decode_group_value(encode_group_value(none))), none);
  EXPECT_EQ(encode_group_key("gg"), raw("0002 0002 6767"));

  GroupValue old;
  old.protocol_type = "c";
  old.generation = 2;
  old.members.push_back({"m", std::nullopt, "i", "h", -1, 4, "s", ""});
  const std::string head = "0001 63 00000002 ffff ffff";
  const std::string member = "0001 6d 0001 69 0001 68";
  const std::string rest = "00000004 00000001 73 00000000";
  EXPECT_EQ(must(decode_group_value(raw("0000" + head + "00000001" + member + rest))), old);
  old.members[0].rebalance_timeout_ms = 3;
  EXPECT_EQ(must(decode_group_value(raw("0001" + head + "00000001" + member + "00000003" + rest))),
            old);
  old.state_time = TimestampMs(8);
  EXPECT_EQ(must(decode_group_value(
                raw("0002" + head + "0000000000000008 00000001" + member + "00000003" + rest))),
            old);
  old.members[0].instance_id = "x";
  const std::string flexible =
      "0004 02 63 00000002 00 00 0000000000000008 02 02 6d 02 78 02 69 02 68 00000003 00000004 "
      "02 73 01 00 00";
  EXPECT_EQ(must(decode_group_value(raw(flexible))), old);
}

TEST(OffsetRecords, ANewerGroupShowsItsEpoch) {
  EXPECT_EQ(must(decode_consumer_group_epoch(raw("0000 00000011 00"))), 17);
  EXPECT_EQ(must(decode_consumer_group_epoch(raw("0000 00000011 01 00 08 0000000000000001"))), 17);
  EXPECT_FALSE(decode_consumer_group_epoch(raw("0000 000000")));
  const std::string epoch_key = raw("0003 0001 67");
  const OffsetsKey key = must(decode_offsets_key(epoch_key));
  EXPECT_EQ(key.kind, OffsetsKeyKind::kConsumerGroup);
  EXPECT_EQ(key.group, "g");
}

TEST(OffsetRecords, UnknownKeysAreSkippedAndBrokenOnesAreErrors) {
  for (const int type : {4, 8, 12, 23, 99, 32767}) {
    const std::string key = raw(fmt::format("{:04x}0001 67 0a0b0c", type));
    const OffsetsKey decoded = must(decode_offsets_key(key));
    EXPECT_EQ(decoded.kind, OffsetsKeyKind::kOther);
    EXPECT_EQ(decoded.type, type);
    EXPECT_EQ(decoded.group, "g");
  }
  EXPECT_EQ(must(decode_offsets_key(raw("0063"))).group, "");
  for (const char* key : {"", "00", "0001", "0001 0002 67", "0001 0001 67 0001 74 0000",
                          "0001 0001 67 0001 74 00000000 00", "0002 ffff", "0002 0001 67 00"})
    EXPECT_FALSE(decode_offsets_key(raw(key))) << key;
}

TEST(OffsetRecords, EveryCutAndEveryNewerVersionIsRefused) {
  OffsetValue v;
  v.metadata = "meta";
  for (const std::string& whole :
       {encode_offset_value(v), raw("0004 0000000000000005 00000003 01 0000000000000009 00")}) {
    for (std::size_t n = 0; n < whole.size(); ++n)
      EXPECT_FALSE(decode_offset_value(std::string_view(whole).substr(0, n))) << n;
    EXPECT_FALSE(decode_offset_value(whole + '\0'));
  }
  const std::string whole = encode_group_value(a_group());
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_FALSE(decode_group_value(std::string_view(whole).substr(0, n))) << n;
  EXPECT_EQ(decode_group_value(raw("0005") + whole.substr(2)).error().code, Errc::kUnsupported);
  EXPECT_EQ(decode_offset_value(raw("0005")).error().code, Errc::kUnsupported);
  // A count that the bytes cannot bear out.
  EXPECT_FALSE(decode_group_value(raw("0000 0001 63 00000002 ffff ffff 7fffffff")));
}

TEST(OffsetRecords, AssignmentsOfClassicConsumers) {
  const auto got =
      must(decode_assignment(raw("0001 00000001 0001 74 00000002 00000000 00000003 ffffffff")));
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].topic, "t");
  EXPECT_EQ(got[0].partitions, (std::vector<PartitionId>{PartitionId(0), PartitionId(3)}));
  EXPECT_TRUE(must(decode_assignment("")).empty());
  EXPECT_FALSE(decode_assignment(raw("0001 00000001 0001 74 00000002 00000000")));
}

TEST(OffsetRecords, WhatABrokerWroteReadsAndIsWrittenTheSame) {
  ManualClock clock(kStart);
  const Store::Options options{fast_fs(), clock, {}, "", true};
  const auto store = must(Store::open(options, golden_data()));
  const TopicInfo topic = must(store->find_topic(std::string(kOffsetsTopic)));
  std::map<std::string, std::int64_t> committed;
  std::map<std::string, GroupValue> groups;
  int offsets = 0;
  for (const PartitionId p : topic.partitions) {
    const PartitionPlace place = store->place(topic, p);
    RecordStream stream(store->env(), place, Offset(0), {.read_committed = false});
    while (must(stream.next()) == RecordStream::Step::kRecord) {
      const RecordView& r = stream.record();
      const OffsetsKey key = must(decode_offsets_key(r.key.value()));
      EXPECT_EQ(offsets_partition(key.group, static_cast<std::int32_t>(topic.partitions.size())), p)
          << key.group;
      if (key.kind == OffsetsKeyKind::kOffset) {
        EXPECT_EQ(encode_offset_key(key.group, key.topic, key.partition), *r.key);
        const OffsetValue v = must(decode_offset_value(r.value.value()));
        EXPECT_EQ(encode_offset_value(v), *r.value);
        EXPECT_EQ(key.topic, "codec-zstd");
        committed[std::string(key.group)] = v.offset.value();
        ++offsets;
      } else if (key.kind == OffsetsKeyKind::kGroup) {
        EXPECT_EQ(encode_group_key(key.group), *r.key);
        const GroupValue v = must(decode_group_value(r.value.value()));
        EXPECT_EQ(encode_group_value(v), *r.value);
        groups[std::string(key.group)] = v;
      }
    }
  }
  EXPECT_EQ(committed, (std::map<std::string, std::int64_t>{{"g-all", 100}, {"g-half", 50}}));
  EXPECT_GE(offsets, 2);
  ASSERT_EQ(groups.size(), 2U);
  for (const auto& [name, g] : groups) {
    EXPECT_EQ(g.protocol_type, "consumer") << name;
    EXPECT_TRUE(g.members.empty()) << name;
  }
}

}  // namespace
}  // namespace spool::test
