#include "base/bytes.h"

#include <array>
#include <limits>

#include <gtest/gtest.h>

#include "base/crc32c.h"

namespace spool {
namespace {

TEST(Varint, RoundTripsAtEveryLength) {
  for (const std::int64_t n :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{63}, std::int64_t{64}, std::int64_t{-8193},
        std::int64_t{1} << 40, std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::min()}) {
    std::array<std::byte, kVarlongBytesMax> buf{};
    const std::byte* end = put_varint(buf.data(), n);
    EXPECT_EQ(static_cast<std::size_t>(end - buf.data()), varint_size(n)) << n;
    VarintReader in(buf.data(), end);
    EXPECT_EQ(in.varint(), n);
    EXPECT_TRUE(in.ok());
    EXPECT_EQ(in.left(), 0);
  }
}

TEST(Varint, TruncatedAndOverlongAreRefused) {
  std::array<std::byte, 11> buf{};
  buf.fill(std::byte{0xff});
  std::uint64_t u = 0;
  EXPECT_EQ(get_uvarint(buf.data(), buf.data() + 3, u), 0U);
  EXPECT_EQ(get_uvarint(buf.data(), buf.data() + 11, u), 0U);
  VarintReader in(buf.data(), buf.data() + 2);
  EXPECT_EQ(in.varint(), 0);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.varint(), 0);
}

TEST(Crc32c, KnownAnswers) {
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xe3069283U);
  EXPECT_EQ(crc32c({}), 0U);
}

/// Bit by bit.
std::uint32_t slow_crc32c(Bytes data) {
  std::uint32_t crc = 0xffffffffU;
  for (const std::byte b : data) {
    crc ^= std::to_integer<std::uint32_t>(b);
    for (int i = 0; i < 8; ++i)
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0);
  }
  return ~crc;
}

TEST(Crc32c, IsRightForEveryLengthPlaceAndSplit) {
  std::vector<std::byte> data(1500);
  std::uint32_t random = 1;
  for (std::byte& b : data) {
    random = random * 1664525 + 1013904223;
    b = static_cast<std::byte>(random >> 24);
  }
  const Bytes all(data);
  for (std::size_t size = 0; size < 1400; size += size < 600 ? 1 : 37) {
    const Bytes part = all.subspan(size % 17, size);
    const std::uint32_t expected = slow_crc32c(part);
    ASSERT_EQ(crc32c(part), expected) << size;
    const std::size_t split = size * 5 / 8;
    ASSERT_EQ(crc32c_extend(crc32c(part.first(split)), part.subspan(split)), expected) << size;
  }
}

}  // namespace
}  // namespace spool
