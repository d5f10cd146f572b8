#include "record/builder.h"

#include <random>

#include <gtest/gtest.h>

#include "support/log_fixture.h"

namespace spool::test {
namespace {

std::string sealed(BatchBuilder& b) {
  return std::string(as_text(must(b.seal(Codec::kNone, nullptr))));
}

/// The batch that add_value makes of the same pieces.
std::string one_by_one(const std::vector<std::string>& pieces, TimestampMs at) {
  BatchBuilder b;
  for (const std::string& p : pieces)
    b.add_value(at, p);
  return sealed(b);
}

TEST(BatchBuilder, AKnownBatchByteForByte) {
  BatchBuilder b;
  b.add_value(TimestampMs(1), "hi");
  const std::string got = sealed(b);
  EXPECT_EQ(got.substr(0, 17), std::string("\0\0\0\0\0\0\0\0\0\0\0\x3a\xff\xff\xff\xff\2", 17));
  EXPECT_EQ(got.substr(21, 40),
            std::string("\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1"
                        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\1",
                        40));
  EXPECT_EQ(got.substr(61), std::string("\x10\0\0\0\1\4hi\0", 9));
}

TEST(BatchBuilder, AddValueIsAddWithoutKeyAndHeaders) {
  for (const std::size_t size : {0U, 1U, 58U, 63U, 64U, 8184U, 8191U, 8192U, 1048576U}) {
    const std::string value(size, 'v');
    BatchBuilder a;
    BatchBuilder b;
    for (int i = 0; i < 70; ++i) {
      a.add_value(kStart + i % 3, i == 5 ? value : "x");
      b.add(kStart + i % 3, std::nullopt, i == 5 ? value : "x");
    }
    EXPECT_EQ(sealed(a), sealed(b)) << size;
  }
}

TEST(BatchBuilder, DelimitedIsTheSameAsOneByOneAtEverySize) {
  for (const std::size_t center : {0U, 16U, 32U, 56U, 63U, 64U, 128U, 8184U, 8191U, 8192U}) {
    for (std::size_t size = center < 12 ? 0 : center - 12; size <= center + 12; ++size) {
      const std::vector<std::string> pieces{"", std::string(size, 'v'), "abc",
                                            std::string(size, 'w'), std::string(size + 1, 'x')};
      std::string text;
      for (const std::string& p : pieces)
        text += p + '\n';
      BatchBuilder b;
      const auto taken = b.add_delimited(kStart, text, '\n', SIZE_MAX, 1 << 20);
      EXPECT_EQ(taken.bytes, text.size());
      EXPECT_EQ(taken.records, 5);
      ASSERT_EQ(sealed(b), one_by_one(pieces, kStart)) << size;
    }
  }
}

TEST(BatchBuilder, DelimitedOverTheVarintBordersOfTheCount) {
  std::vector<std::string> pieces;
  std::string text;
  for (int i = 0; i < 9000; ++i) {
    pieces.push_back(std::to_string(i % 7));
    text += pieces.back() + '\0';
  }
  BatchBuilder b;
  const auto taken = b.add_delimited(kStart, text, '\0', SIZE_MAX, 1 << 20);
  EXPECT_EQ(taken.records, 9000);
  EXPECT_EQ(sealed(b), one_by_one(pieces, kStart));
}

TEST(BatchBuilder, DelimitedLeavesWhatHasNoDelimiter) {
  BatchBuilder b;
  const auto nothing = b.add_delimited(kStart, "no end", '\n', SIZE_MAX, 1000);
  EXPECT_EQ(nothing.bytes, 0U);
  EXPECT_EQ(nothing.records, 0);
  EXPECT_TRUE(b.empty());
  EXPECT_EQ(b.add_delimited(kStart, "", '\n', SIZE_MAX, 1000).bytes, 0U);
  const auto some = b.add_delimited(kStart, "a\nbb\nccc", '\n', SIZE_MAX, 1000);
  EXPECT_EQ(some.bytes, 5U);
  EXPECT_EQ(some.records, 2);
  EXPECT_EQ(sealed(b), one_by_one({"a", "bb"}, kStart));
}

TEST(BatchBuilder, DelimitedStopsAtAPieceThatIsTooLong) {
  BatchBuilder b;
  const std::string text = "1234\n12345\n123456\n1\n";
  const auto taken = b.add_delimited(kStart, text, '\n', 5, 1000);
  EXPECT_EQ(taken.bytes, 11U);
  EXPECT_EQ(taken.records, 2);
  EXPECT_EQ(b.add_delimited(kStart, text.substr(11), '\n', 5, 1000).records, 0);
  EXPECT_EQ(b.add_delimited(kStart, text.substr(11), '\n', 6, 1000).records, 2);
}

TEST(BatchBuilder, DelimitedStopsWhenTheBatchIsFull) {
  std::string text;
  for (int i = 0; i < 100; ++i)
    text += "0123456789\n";
  BatchBuilder b;
  // 61 bytes of header and 17 a record: the one that reaches the limit is still taken.
  const auto taken = b.add_delimited(kStart, text, '\n', SIZE_MAX, 61 + 17 * 3 + 1);
  EXPECT_EQ(taken.records, 4);
  EXPECT_EQ(b.size(), 61U + 17 * 4);
  EXPECT_EQ(b.add_delimited(kStart, text, '\n', SIZE_MAX, 61 + 17 * 4).records, 0);
  EXPECT_EQ(b.add_delimited(kStart, text, '\n', SIZE_MAX, 61 + 17 * 4 + 1).records, 1);
}

TEST(BatchBuilder, DelimitedInAnyPiecesAndTimesIsTheSame) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    BatchBuilder fast;
    BatchBuilder slow;
    for (int part = 0; part < 5; ++part) {
      const TimestampMs at = kStart + static_cast<std::int64_t>(random() % 100000) - 50000;
      std::string text;
      for (auto i = random() % 9; i > 0; --i) {
        std::string piece(random() % (round % 2 == 0 ? 40 : 9000), 'a');
        for (char& c : piece)
          c = static_cast<char>('a' + random() % 26);
        slow.add_value(at, piece);
        text += piece + '|';
      }
      // An own copy of just this size: reading behind it would be seen.
      const std::vector<char> exact(text.begin(), text.end());
      const auto taken =
          fast.add_delimited(at, {exact.data(), exact.size()}, '|', SIZE_MAX, 1 << 24);
      ASSERT_EQ(taken.bytes, text.size());
    }
    ASSERT_EQ(fast.count(), slow.count());
    if (!slow.empty()) {
      ASSERT_EQ(sealed(fast), sealed(slow));
    }
  }
}

TEST(BatchBuilder, AVeryLongPieceIsTakenWhole) {
  const std::string piece(5 << 20, 'p');
  BatchBuilder b;
  EXPECT_EQ(b.add_delimited(kStart, "a\n" + piece + "\nb\n", '\n', SIZE_MAX, 1 << 20).records, 2);
  EXPECT_EQ(sealed(b), one_by_one({"a", piece}, kStart));
}

TEST(BatchBuilder, IsUsedAgainAfterResetAndShrink) {
  BatchBuilder b;
  b.add_value(kStart, std::string(100000, 'x'));
  (void)sealed(b);
  b.shrink(1000);
  EXPECT_TRUE(b.empty());
  b.add_value(kStart + 1, "y");
  EXPECT_EQ(sealed(b), one_by_one({"y"}, kStart + 1));
  b.reset();
  b.add_value(kStart, "z");
  EXPECT_EQ(sealed(b), one_by_one({"z"}, kStart));
}

TEST(BatchBuilder, RecordsAreThoseThatWereAdded) {
  BatchBuilder b;
  b.add(kStart, "k", "v");
  b.add_value(kStart + 1, "w");
  auto it = b.records(Offset(40));
  EXPECT_EQ(seen(*it.next()), (Seen{40, kStart.value(), "k", "v", {}}));
  EXPECT_EQ(seen(*it.next()), (Seen{41, kStart.value() + 1, std::nullopt, "w", {}}));
  EXPECT_EQ(it.next(), nullptr);
}

}  // namespace
}  // namespace spool::test
