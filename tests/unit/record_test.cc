#include "record/record.h"

#include <gtest/gtest.h>

#include "record/batch.h"
#include "record/builder.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

/// The block of a batch of three records with keys, nulls and headers.
std::string block() {
  BatchBuilder b;
  const HeaderView headers[] = {{"name", "value"}, {"", std::nullopt}};
  b.add(kStart, "key", "value", headers);
  b.add(kStart + 300, std::nullopt, std::string(200, 'x'));
  b.add(kStart, "k", std::nullopt);
  return std::string(as_text(must(b.seal(Codec::kNone, nullptr))).substr(kBatchHeaderBytes));
}

RecordIterator over(std::string_view bytes, std::int32_t count) {
  return {as_bytes(bytes), count, Offset(10), count - 1, kStart, kStart + 300, false};
}

struct Walk {
  std::vector<Seen> records;
  bool ok = false;
};
Walk walk(std::string_view bytes, std::int32_t count) {
  Walk out;
  auto it = over(bytes, count);
  while (const RecordView* r = it.next())
    out.records.push_back(seen(*r));
  EXPECT_EQ(it.next(), nullptr);
  out.ok = it.ok();
  return out;
}
/// The same by next_value(), which has a faster way for plain records.
std::pair<std::vector<std::string>, bool> values(std::string_view bytes, std::int32_t count) {
  std::vector<std::string> out;
  auto it = over(bytes, count);
  std::optional<std::string_view> value;
  while (it.next_value(value))
    out.emplace_back(value.value_or("null"));
  return {out, it.ok()};
}

/// varint(length) and the body.
std::string record(std::string_view body) {
  std::string out(kVarintBytesMax, '\0');
  auto* at = reinterpret_cast<std::byte*>(out.data());
  out.resize(static_cast<std::size_t>(put_varint(at, static_cast<std::int64_t>(body.size())) - at));
  return out + std::string(body);
}

TEST(RecordIterator, GivesAllFields) {
  const Walk w = walk(block(), 3);
  ASSERT_TRUE(w.ok);
  ASSERT_EQ(w.records.size(), 3U);
  EXPECT_EQ(w.records[0],
            (Seen{10, kStart.value(), "key", "value", {{"name", "value"}, {"", std::nullopt}}}));
  EXPECT_EQ(w.records[1],
            (Seen{11, kStart.value() + 300, std::nullopt, std::string(200, 'x'), {}}));
  EXPECT_EQ(w.records[2], (Seen{12, kStart.value(), "k", std::nullopt, {}}));
  EXPECT_EQ(values(block(), 3).first,
            (std::vector<std::string>{"value", std::string(200, 'x'), "null"}));
}

TEST(RecordIterator, EveryTruncationIsSeen) {
  const std::string whole = block();
  for (std::size_t n = 0; n < whole.size(); ++n) {
    // Freshly allocated, so that the address sanitizer sees a byte too far.
    const std::string cut = whole.substr(0, n);
    const std::vector<char> exact(cut.begin(), cut.end());
    const std::string_view view(exact.data(), exact.size());
    EXPECT_FALSE(walk(view, 3).ok) << n;
    EXPECT_FALSE(values(view, 3).second) << n;
    EXPECT_LT(walk(view, 3).records.size(), 3U) << n;
  }
}

TEST(RecordIterator, BytesOrRecordsTooManyAreSeen) {
  EXPECT_FALSE(walk(block() + '\0', 3).ok);
  EXPECT_FALSE(walk(block(), 2).ok);
  EXPECT_FALSE(walk(block(), 4).ok);
  EXPECT_TRUE(walk("", 0).ok);
  EXPECT_FALSE(walk("x", 0).ok);
  EXPECT_FALSE(walk(block(), -1).ok);
}

TEST(RecordIterator, MalformedRecordsAreSeen) {
  // attributes, time delta, offset delta, key length, value length, header count
  ASSERT_TRUE(walk(record({"\0\0\0\1\1\0", 6}), 1).ok);
  const std::vector<std::string> bad{
      record({"", 0}),
      record({"\0", 1}),
      record({"\0\0\0\1\1", 5}),                       // no header count
      record({"\0\0\0\1\1\0\0", 7}),                   // a byte too many
      record({"\0\0\0\3\1\0", 6}),                     // key length -2
      record({"\0\0\0\1\3\0", 6}),                     // value length -2
      record({"\0\0\0\x14\1\0", 6}),                   // a key longer than the record
      record({"\0\0\0\1\x14\0", 6}),                   // a value longer than the record
      record({"\0\0\1\1\1\0", 6}),                     // offset delta -1
      record({"\0\0\0\1\1\1", 6}),                     // header count -1
      record({"\0\0\0\1\1\2", 6}),                     // one header, and none there
      record({"\0\0\0\1\1\2\1\1", 8}),                 // a header without a name
      record({"\0\0\0\1\1\2\0\3", 8}),                 // header value length -2
      record({"\0\0\0\1\1\xfe\xff\xff\xff\x0f", 10}),  // two billion headers
      record({"\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\1\1\0", 15}),  // a huge offset delta
      record({"\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\1\1\0", 16}),  // overlong varint
      std::string("\1\0\0\1\1\0", 6),                                          // length -1
      std::string("\xff\xff\xff\xff\x0f", 5),
  };
  for (std::size_t i = 0; i < bad.size(); ++i) {
    EXPECT_FALSE(walk(bad[i], 1).ok) << i;
    EXPECT_TRUE(walk(bad[i], 1).records.empty()) << i;
  }
}

TEST(RecordIterator, AnyFlippedBitEndsOrGivesSomethingButNeverReadsBeyond) {
  const std::string whole = block();
  for (std::size_t byte = 0; byte < whole.size(); ++byte) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::vector<char> bad(whole.begin(), whole.end());
      bad[byte] = static_cast<char>(static_cast<unsigned char>(bad[byte]) ^ (1U << bit));
      const std::string_view view(bad.data(), bad.size());
      EXPECT_LE(walk(view, 3).records.size(), 3U);
      EXPECT_LE(values(view, 3).first.size(), 3U);
    }
  }
}

TEST(RecordIterator, ATimeThatOverflowsIsMalformed) {
  const std::string body = record({"\0\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1\0\1\1\0", 15});
  EXPECT_FALSE(walk(body, 1).ok);
}

}  // namespace
}  // namespace spool::test
