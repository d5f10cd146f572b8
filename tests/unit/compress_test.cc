#include "record/compress.h"

#include <array>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

namespace spool {
namespace {

using Vector = std::vector<std::byte>;

/// A vector of the buffer's bytes, and of its capacity, which tests look at.
void take(const Buffer& from, Vector& to) {
  to = Vector();
  to.reserve(from.capacity());
  to.insert(to.end(), from.bytes().begin(), from.bytes().end());
}
Result<void> compress(Compressor& compressor, Bytes in, Vector& out) {
  Buffer buffer;
  buffer.append(out);
  auto done = compressor.compress(in, buffer);
  take(buffer, out);
  return done;
}
Result<void> decompress(Decompressor& decompressor, Codec codec, Bytes in, std::size_t bytes_max,
                        Vector& out) {
  Buffer buffer;
  buffer.append(out);
  auto done = decompressor.decompress(codec, in, bytes_max, buffer);
  take(buffer, out);
  return done;
}

constexpr std::size_t kMiB = 1024 * 1024;
constexpr std::array kAllCodecs{Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4,
                                Codec::kZstd};
constexpr std::array kRealCodecs{Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd};

Vector buffer(std::string_view text) {
  const Bytes bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

Vector random_bytes(std::size_t n) {
  std::mt19937 random(7);
  Vector out(n);
  for (std::byte& b : out)
    b = static_cast<std::byte>(random());
  return out;
}

Vector words(std::size_t n) {
  constexpr std::array<std::string_view, 6> kWords{"offset ", "log ",     "segment ",
                                                   "epoch ",  "record\n", "12345 "};
  std::mt19937 random(7);
  std::string out;
  while (out.size() < n)
    out += kWords[random() % kWords.size()];
  out.resize(n);
  return buffer(out);
}

Vector compressed(Codec codec, Bytes in, std::optional<int> level = std::nullopt) {
  Compressor compressor(codec, level);
  Vector out;
  EXPECT_TRUE(compress(compressor, in, out));
  return out;
}

Vector hex(std::string_view digits) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  Vector out;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    out.push_back(static_cast<std::byte>(digit(digits[i]) * 16 + digit(digits[i + 1])));
  return out;
}

void append(Vector& to, Bytes more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// The code of the failure, or nullopt when it worked.
std::optional<Errc> decompress_code(Codec codec, Bytes in, std::size_t bytes_max, Vector& out) {
  Decompressor decompressor;
  const Result<void> result = decompress(decompressor, codec, in, bytes_max, out);
  if (result) return std::nullopt;
  return result.error().code;
}

TEST(Codec, NamesAreKafkas) {
  for (const Codec codec : kAllCodecs)
    EXPECT_EQ(codec_from_name(codec_name(codec)), codec);
  EXPECT_EQ(codec_from_name("zstd"), Codec::kZstd);
  EXPECT_EQ(codec_from_name("none"), Codec::kNone);
  EXPECT_EQ(codec_from_name("ZSTD"), std::nullopt);
  EXPECT_EQ(codec_name(static_cast<Codec>(7)), "unknown");
}

TEST(Codec, LevelsAreKafkas) {
  EXPECT_FALSE(codec_levels(Codec::kGzip).allows(0));
  EXPECT_TRUE(codec_levels(Codec::kGzip).allows(-1));
  EXPECT_TRUE(codec_levels(Codec::kGzip).allows(9));
  EXPECT_FALSE(codec_levels(Codec::kGzip).allows(10));
  EXPECT_FALSE(codec_levels(Codec::kLz4).allows(18));
  EXPECT_EQ(codec_levels(Codec::kLz4).preset, 9);
  EXPECT_TRUE(codec_levels(Codec::kZstd).allows(-131072));
  EXPECT_FALSE(codec_levels(Codec::kZstd).allows(23));
  EXPECT_EQ(codec_levels(Codec::kZstd).preset, 3);
  EXPECT_FALSE(codec_levels(Codec::kSnappy).allows(1));
}

TEST(Compress, RoundTripsAtEveryLevelBound) {
  const std::array<Vector, 5> inputs{Vector{}, buffer("x"), random_bytes(kMiB), words(kMiB),
                                     words(32 * 1024)};
  Decompressor decompressor;
  for (const Codec codec : kAllCodecs) {
    const CodecLevels levels = codec_levels(codec);
    for (const int level : {levels.min, levels.max, levels.preset}) {
      Compressor compressor(codec, level);
      for (const Vector& in : inputs) {
        Vector packed = buffer("kept");
        ASSERT_TRUE(compress(compressor, in, packed));
        ASSERT_EQ(as_text(packed).substr(0, 4), "kept");
        Vector out = buffer("replaced");
        ASSERT_TRUE(decompress(decompressor, codec, Bytes(packed).subspan(4), in.size(), out))
            << codec_name(codec) << level;
        ASSERT_TRUE(out == in) << codec_name(codec) << level << ' ' << in.size();
      }
    }
  }
}

TEST(Compress, DefaultsDoCompress) {
  const Vector in = words(kMiB);
  for (const Codec codec : kRealCodecs)
    EXPECT_LT(compressed(codec, in).size(), in.size() * 6 / 10) << codec_name(codec);
}

TEST(Compress, WritesTheHeadersThatJavaWrites) {
  EXPECT_EQ(compressed(Codec::kSnappy, {}), hex("82534e41505059000000000100000001"));
  // 1 byte: block length 3, then the raw stream: length 1, literal of 1.
  EXPECT_EQ(compressed(Codec::kSnappy, as_bytes("x")),
            hex("82534e4150505900000000010000000100000003010078"));
  // Version 1, independent blocks of 64 KiB, no sizes or checksums of content; header checksum.
  EXPECT_EQ(compressed(Codec::kLz4, {}), hex("04224d18604082"
                                             "00000000"));
}

TEST(Compress, SnappyBlocksAreOf32KiB) {
  const Vector packed = compressed(Codec::kSnappy, random_bytes(32 * 1024 + 1));
  const auto first = load_be<std::uint32_t>(packed.data() + 16);
  EXPECT_GT(first, 32U * 1024);
  EXPECT_EQ(load_be<std::uint32_t>(packed.data() + 20 + first), 3U);
}

TEST(Decompress, LimitIsExact) {
  const Vector in = words(100'000);
  for (const Codec codec : kAllCodecs) {
    const Vector packed = compressed(codec, in);
    Vector out;
    EXPECT_EQ(decompress_code(codec, packed, in.size(), out), std::nullopt) << codec_name(codec);
    EXPECT_EQ(out, in);
    EXPECT_EQ(decompress_code(codec, packed, in.size() - 1, out), Errc::kTooLarge);
    EXPECT_EQ(decompress_code(codec, packed, 0, out), Errc::kTooLarge);
    EXPECT_EQ(decompress_code(codec, compressed(codec, {}), 0, out), std::nullopt);
    EXPECT_TRUE(out.empty());
  }
}

TEST(Decompress, BombIsStoppedAtTheLimit) {
  const Vector zeros(16 * kMiB);
  for (const Codec codec : kRealCodecs) {
    const Vector frame = compressed(codec, zeros);
    Vector bomb;
    for (int i = 0; i < 64; ++i)
      append(bomb, frame);  // 1 GiB
    for (const Bytes in : {Bytes(bomb), Bytes(frame)}) {
      Vector out;
      EXPECT_EQ(decompress_code(codec, in, kMiB, out), Errc::kTooLarge) << codec_name(codec);
      EXPECT_LE(out.capacity(), kMiB);
    }
  }
}

TEST(Decompress, ClaimsTakeNoMemory) {
  Vector out;
  // Raw snappy, 4 GiB - 1 claimed by a handful of bytes.
  EXPECT_EQ(decompress_code(Codec::kSnappy, hex("ffffffff0f0078"), std::size_t{1} << 40, out),
            Errc::kCorrupt);
  EXPECT_EQ(out.capacity(), 0U);
  // zstd, single segment, 8 bytes of content size: 2^62 claimed, one raw block of one byte.
  EXPECT_EQ(decompress_code(Codec::kZstd, hex("28b52ffde0000000000000004009000078"),
                            std::size_t{1} << 40, out),
            Errc::kTooLarge);
  // zstd, window of 1 GiB.
  EXPECT_EQ(decompress_code(Codec::kZstd, hex("28b52ffd00a009000078"), kMiB, out), Errc::kTooLarge);
  EXPECT_LE(out.capacity(), kMiB);
}

TEST(Decompress, EveryTruncationIsRefused) {
  const Vector in = words(300);
  for (const Codec codec : kRealCodecs) {
    const Vector packed = compressed(codec, in);
    Decompressor decompressor;
    for (std::size_t n = 0; n < packed.size(); ++n) {
      Vector out;
      const Result<void> result =
          decompress(decompressor, codec, Bytes(packed).first(n), kMiB, out);
      if (codec == Codec::kSnappy && n == 16) {  // a xerial stream of no blocks is whole
        EXPECT_TRUE(result && out.empty());
        continue;
      }
      ASSERT_FALSE(result) << codec_name(codec) << n;
      EXPECT_EQ(result.error().code, Errc::kCorrupt) << codec_name(codec) << n;
    }
    Vector out;  // and the decompressor is as good as new
    ASSERT_TRUE(decompress(decompressor, codec, packed, kMiB, out));
    EXPECT_EQ(out, in);
  }
}

TEST(Decompress, FlippedBitsNeverPassTheLimit) {
  const Vector in = words(2000);
  Decompressor decompressor;
  for (const Codec codec : kRealCodecs) {
    const Vector packed = compressed(codec, in);
    for (std::size_t bit = 0; bit < packed.size() * 8; ++bit) {
      Vector flipped = packed;
      flipped[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      Vector out;
      const Result<void> result = decompress(decompressor, codec, flipped, 2500, out);
      EXPECT_LE(out.capacity(), 2500U);
      if (!result) {
        const Errc code = result.error().code;
        EXPECT_TRUE(code == Errc::kCorrupt || code == Errc::kTooLarge);
      }
    }
  }
}

TEST(Decompress, ConcatenatedStreamsAreOne) {
  const Vector first = words(5000);
  const Vector second = random_bytes(70'000);
  Vector both = first;
  append(both, second);
  for (const Codec codec : kRealCodecs) {
    Vector packed = compressed(codec, first);
    append(packed, compressed(codec, {}));
    append(packed, compressed(codec, second));
    Vector out;
    EXPECT_EQ(decompress_code(codec, packed, both.size(), out), std::nullopt) << codec_name(codec);
    EXPECT_EQ(out, both);
  }
}

TEST(Decompress, BytesBehindTheEndAreRefused) {
  for (const Codec codec : kRealCodecs) {
    for (const std::string_view tail : {std::string_view("\0", 1), std::string_view("garbage"),
                                        std::string_view("\0\0\0\0\0\0\0\0", 8)}) {
      Vector packed = compressed(codec, as_bytes("some text"));
      append(packed, as_bytes(tail));
      Vector out;
      EXPECT_EQ(decompress_code(codec, packed, kMiB, out), Errc::kCorrupt) << codec_name(codec);
    }
  }
}

TEST(Decompress, RawSnappyIsRead) {
  Vector out;
  EXPECT_EQ(decompress_code(Codec::kSnappy, hex("00"), 0, out), std::nullopt);
  EXPECT_TRUE(out.empty());
  // 20 bytes: literal "ab", copy of 18 from 2 back.
  const Vector raw =
      hex("140461624602"
          "00");
  EXPECT_EQ(decompress_code(Codec::kSnappy, raw, 20, out), std::nullopt);
  EXPECT_EQ(as_text(out), "abababababababababab");
  EXPECT_EQ(decompress_code(Codec::kSnappy, raw, 19, out), Errc::kTooLarge);
  for (std::size_t n = 0; n < raw.size(); ++n)
    EXPECT_EQ(decompress_code(Codec::kSnappy, Bytes(raw).first(n), 20, out), Errc::kCorrupt) << n;
  Vector longer = raw;
  longer.push_back(std::byte{0});
  EXPECT_EQ(decompress_code(Codec::kSnappy, longer, 20, out), Errc::kCorrupt);
  EXPECT_EQ(decompress_code(Codec::kSnappy, hex("000078"), 20, out), Errc::kCorrupt);
}

TEST(Decompress, XerialVersionAndLengthsAreChecked) {
  Vector out;
  const auto code = [&out](std::string_view digits) {
    return decompress_code(Codec::kSnappy, hex(digits), kMiB, out);
  };
  EXPECT_EQ(code("82534e41505059000000000100000001"
                 "00000003010078"),
            std::nullopt);
  EXPECT_EQ(code("82534e41505059000000000000000001"
                 "00000003010078"),
            Errc::kCorrupt);
  EXPECT_EQ(code("82534e41505059000000000100000001"
                 "00000000"),
            Errc::kCorrupt);
  EXPECT_EQ(code("82534e41505059000000000100000001"
                 "ffffffff010078"),
            Errc::kCorrupt);
}

TEST(Decompress, Lz4WithLinkedBlocksAndContentChecksumIsRead) {
  // Written by liblz4 1.9.4: 64 KiB linked blocks, size and checksum of the content, of
  // "0123456789" 13,200 times (three blocks).
  Vector packed = hex("04224d184c40a003020000000000c514010000af303132333435363738390a00");
  packed.insert(packed.end(), 256, std::byte{0xff});
  append(packed, hex("de5031323334350a0100000f0a00"));
  packed.insert(packed.end(), 256, std::byte{0xff});
  append(packed, hex("e85037383930310d0000000f0a00ffffff8b50353637383900000000c1be3d4e"));
  std::string want;
  for (int i = 0; i < 13'200; ++i)
    want += "0123456789";
  Vector out;
  EXPECT_EQ(decompress_code(Codec::kLz4, packed, want.size(), out), std::nullopt);
  EXPECT_EQ(as_text(out), want);
}

TEST(Decompress, ZstdWithoutContentSizeIsRead) {
  const Vector in = words(3 * kMiB);
  ZSTD_CStream* stream = ZSTD_createCStream();
  Vector packed(ZSTD_compressBound(in.size()));
  ZSTD_outBuffer to{packed.data(), packed.size(), 0};
  for (std::size_t at = 0; at < in.size(); at += 16'384) {
    ZSTD_inBuffer from{in.data() + at, std::min<std::size_t>(16'384, in.size() - at), 0};
    while (from.pos < from.size)
      ASSERT_FALSE(ZSTD_isError(ZSTD_compressStream2(stream, &to, &from, ZSTD_e_continue)));
  }
  ZSTD_inBuffer none{nullptr, 0, 0};
  ASSERT_EQ(ZSTD_compressStream2(stream, &to, &none, ZSTD_e_end), 0U);
  ZSTD_freeCStream(stream);
  packed.resize(to.pos);
  ASSERT_EQ(ZSTD_getFrameContentSize(packed.data(), packed.size()), ZSTD_CONTENTSIZE_UNKNOWN);
  Vector out;
  EXPECT_EQ(decompress_code(Codec::kZstd, packed, in.size(), out), std::nullopt);
  EXPECT_TRUE(out == in);
  EXPECT_EQ(decompress_code(Codec::kZstd, packed, in.size() - 1, out), Errc::kTooLarge);
}

TEST(Decompress, UnknownCodecIsUnsupported) {
  Vector out;
  EXPECT_EQ(decompress_code(static_cast<Codec>(5), as_bytes("x"), kMiB, out), Errc::kUnsupported);
}

}  // namespace
}  // namespace spool
