#include "record/batch.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "record/builder.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

std::vector<std::byte> sample() {
  BatchBuilder b;
  const HeaderView headers[] = {{"h", "1"}, {"h", std::nullopt}};
  b.add(kStart, "key", "value", headers);
  b.add(kStart + 5, std::nullopt, std::nullopt);
  b.add(kStart - 5, "", "");
  const MutableBytes sealed = must(b.seal(Codec::kNone, nullptr));
  return {sealed.begin(), sealed.end()};
}

void renew_crc(std::vector<std::byte>& batch) {
  store_be<std::uint32_t>(batch.data() + batch_field::kCrc,
                          crc32c(Bytes(batch).subspan(batch_field::kAttributes)));
}

TEST(Batch, HeaderSaysWhatWasBuilt) {
  const auto raw = sample();
  BatchHeader h;
  ASSERT_EQ(check_batch(raw, h), BatchState::kWhole);
  EXPECT_EQ(h.base_offset, Offset(0));
  EXPECT_EQ(h.size(), static_cast<std::int64_t>(raw.size()));
  EXPECT_EQ(h.leader_epoch, Epoch(-1));
  EXPECT_EQ(h.magic, 2);
  EXPECT_EQ(h.attributes, 0);
  EXPECT_EQ(h.last_offset_delta, 2);
  EXPECT_EQ(h.base_timestamp, kStart);
  EXPECT_EQ(h.max_timestamp, kStart + 5);
  EXPECT_EQ(h.producer_id, -1);
  EXPECT_EQ(h.producer_epoch, -1);
  EXPECT_EQ(h.base_sequence, -1);
  EXPECT_EQ(h.count, 3);
  EXPECT_EQ(h.next_offset(), Offset(3));
}

TEST(Batch, EveryTruncationIsPartial) {
  const auto raw = sample();
  BatchHeader h;
  for (std::size_t n = 0; n < raw.size(); ++n)
    EXPECT_EQ(check_batch(Bytes(raw).first(n), h), BatchState::kPartial) << n;
  auto longer = raw;
  longer.push_back(std::byte{7});
  EXPECT_EQ(check_batch(longer, h), BatchState::kWhole);
}

TEST(Batch, EveryFlippedBitUnderTheCrcIsSeen) {
  const auto raw = sample();
  for (std::size_t byte = 0; byte < raw.size(); ++byte) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      auto bad = raw;
      bad[byte] ^= static_cast<std::byte>(1U << bit);
      BatchHeader h;
      const BatchState state = check_batch(bad, h);
      const bool epoch = byte >= batch_field::kLeaderEpoch && byte < batch_field::kMagic;
      const bool offset = byte < batch_field::kLength;
      if (epoch || (offset && !(byte == 0 && bit == 7))) {
        EXPECT_EQ(state, BatchState::kWhole) << byte << '.' << bit;  // the log sets these
      } else {
        EXPECT_NE(state, BatchState::kWhole) << byte << '.' << bit;
      }
    }
  }
}

TEST(Batch, FieldsThatMakeNoSenseAreBadWhateverTheCrcSays) {
  const auto bad = [](std::size_t at, auto value) {
    auto raw = sample();
    store_be(raw.data() + at, value);
    renew_crc(raw);
    BatchHeader h;
    return check_batch(raw, h) == BatchState::kBad;
  };
  using namespace batch_field;
  EXPECT_TRUE(bad(kMagic, std::int8_t{1}));
  EXPECT_TRUE(bad(kMagic, std::int8_t{3}));
  EXPECT_TRUE(bad(kLength, std::int32_t{48}));
  EXPECT_TRUE(bad(kLength, std::int32_t{-1}));
  EXPECT_TRUE(bad(kBaseOffset, std::int64_t{-1}));
  EXPECT_TRUE(bad(kBaseOffset, std::int64_t{0x7fffffffffffffff}));
  EXPECT_TRUE(bad(kBaseOffset, std::int64_t{0x7fffffffffffffff - 2}));
  EXPECT_FALSE(bad(kBaseOffset, std::int64_t{0x7fffffffffffffff - 3}));
  EXPECT_TRUE(bad(kLastOffsetDelta, std::int32_t{-1}));
  EXPECT_TRUE(bad(kLastOffsetDelta, std::int32_t{1}));   // three records in two offsets
  EXPECT_FALSE(bad(kLastOffsetDelta, std::int32_t{9}));  // compacted
  EXPECT_TRUE(bad(kCount, std::int32_t{-1}));
  EXPECT_FALSE(bad(kCount, std::int32_t{0}));
  for (std::uint16_t codec = 5; codec < 8; ++codec)
    EXPECT_TRUE(bad(kAttributes, codec));
}

TEST(Batch, PlacingKeepsTheCrcRight) {
  auto raw = sample();
  place_batch(raw, Offset(1234567890123), Epoch(17));
  BatchHeader h;
  ASSERT_EQ(check_batch(raw, h), BatchState::kWhole);
  EXPECT_EQ(h.base_offset, Offset(1234567890123));
  EXPECT_EQ(h.last_offset(), Offset(1234567890125));
  EXPECT_EQ(h.leader_epoch, Epoch(17));
}

TEST(Batch, AppendTimeIsTheTimeOfEveryRecord) {
  auto raw = sample();
  set_append_time(raw, TimestampMs(99));
  BatchView view;
  ASSERT_EQ(check_batch(raw, view.header), BatchState::kWhole);
  view.bytes = raw;
  Decompressor decompressor;
  Buffer scratch;
  auto records = must(open_records(view, decompressor, 1 << 20, scratch));
  int n = 0;
  while (const RecordView* r = records.next()) {
    EXPECT_EQ(r->timestamp, TimestampMs(99));
    ++n;
  }
  EXPECT_EQ(n, 3);
  EXPECT_TRUE(records.ok());
}

TEST(Batch, RecordsReadBackInEveryCodec) {
  for (const Codec codec :
       {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    BatchBuilder b;
    Compressor compressor(codec);
    for (int i = 0; i < 100; ++i)
      b.add(kStart + i, std::to_string(i), std::string(static_cast<std::size_t>(i), 'v'));
    const MutableBytes raw = must(b.seal(codec, codec == Codec::kNone ? nullptr : &compressor));
    place_batch(raw, Offset(1000), Epoch(1));
    BatchView view;
    ASSERT_EQ(check_batch(raw, view.header), BatchState::kWhole);
    EXPECT_EQ(view.header.codec(), codec);
    view.bytes = raw;
    Decompressor decompressor;
    Buffer scratch;
    auto records = must(open_records(view, decompressor, 1 << 20, scratch));
    for (int i = 0; i < 100; ++i) {
      const RecordView* r = records.next();
      ASSERT_NE(r, nullptr);
      EXPECT_EQ(r->offset, Offset(1000 + i));
      EXPECT_EQ(r->timestamp, kStart + i);
      EXPECT_EQ(*r->key, std::to_string(i));
      EXPECT_EQ(r->value->size(), static_cast<std::size_t>(i));
    }
    EXPECT_EQ(records.next(), nullptr);
    EXPECT_TRUE(records.ok());
    if (codec != Codec::kNone) {
      EXPECT_FALSE(open_records(view, decompressor, 100, scratch)) << "above the limit";
    }
  }
}

/// A control record: key int16 version 0, int16 type.
std::vector<std::byte> control(std::string_view key) {
  BatchBuilder b;
  b.add(kStart, key, std::string("\0\0\0\0\0\1", 6));
  const MutableBytes sealed = must(b.seal(Codec::kNone, nullptr));
  return {sealed.begin(), sealed.end()};
}

TEST(Batch, ControlTypeIsInTheKey) {
  const auto type = [](std::string_view key) {
    const auto raw = control(key);
    return control_type({BatchHeader::decode(raw.data()), raw});
  };
  EXPECT_EQ(must(type(std::string_view("\0\0\0\0", 4))), kControlAbort);
  EXPECT_EQ(must(type(std::string_view("\0\0\0\1", 4))), kControlCommit);
  EXPECT_EQ(must(type(std::string_view("\0\0\1\2", 4))), 258);
  EXPECT_EQ(type(std::string_view("\0\0\1", 3)).error().code, Errc::kCorrupt);
}

}  // namespace
}  // namespace spool::test
