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

}  // namespace
}  // namespace spool
