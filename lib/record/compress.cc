#include "record/compress.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>

#include <lz4frame.h>
#include <snappy.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/check.h"

namespace spool {
namespace {

struct CodecFacts {
  Codec codec;
  std::string_view name;
  CodecLevels levels;
};

constexpr std::array<CodecFacts, 5> kCodecs{{
    {Codec::kNone, "none", {}},
    {Codec::kGzip, "gzip", {1, 9, Z_DEFAULT_COMPRESSION}},
    {Codec::kSnappy, "snappy", {}},
    {Codec::kLz4, "lz4", {1, 17, 9}},
    {Codec::kZstd, "zstd", {-131072, 22, 3}},
}};

const CodecFacts& facts(Codec codec) {
  const auto i = static_cast<std::size_t>(codec);
  CHECK(i < kCodecs.size());
  return kCodecs[i];
}

// zlib's window bits for a gzip wrapper (15 + 16); 15 is the largest window, which every reader
// has.
constexpr int kGzipWindowBits = 15 + 16;
constexpr int kGzipMemLevel = 8;  // zlib's default

// What Kafka's own clients accept, being zstd's default. The window is allocated at once but only
// touched as output comes, so a small frame with a large window costs address space, not memory.
constexpr int kZstdWindowLogMax = 27;

// Xerial: the magic, int32 version, int32 lowest version of a reader; then blocks, each an int32
// length and one raw snappy stream. All big-endian.
constexpr std::string_view kXerialMagic{"\x82SNAPPY\0", 8};
constexpr std::size_t kXerialHeaderBytes = 16;
constexpr std::size_t kXerialBlockBytes = 32 * 1024;
constexpr std::int32_t kXerialVersion = 1;

// A snappy copy takes 3 bytes for at most 64; nothing in the format gives more.
constexpr std::size_t kSnappyCopyBytes = 3;
constexpr std::size_t kSnappyCopyGives = 64;

struct ZstdCCtxFree {
  void operator()(ZSTD_CCtx* ctx) const { ZSTD_freeCCtx(ctx); }
};
struct ZstdDCtxFree {
  void operator()(ZSTD_DCtx* ctx) const { ZSTD_freeDCtx(ctx); }
};
struct Lz4DCtxFree {
  void operator()(LZ4F_dctx* ctx) const { LZ4F_freeDecompressionContext(ctx); }
};
struct DeflateEnd {
  void operator()(z_stream* stream) const {
    deflateEnd(stream);
    delete stream;
  }
};
struct InflateEnd {
  void operator()(z_stream* stream) const {
    inflateEnd(stream);
    delete stream;
  }
};

// zlib's next_in is not const for old callers' sake; it only reads.
Bytef* zlib_in(Bytes in) {
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data()));
}
const char* chars(Bytes in) {
  return reinterpret_cast<const char*>(in.data());
}

tl::unexpected<Error> corrupt(Codec codec, std::string_view what) {
  return fail(Errc::kCorrupt, std::string(codec_name(codec)).append(" block: ").append(what));
}
tl::unexpected<Error> too_large(std::size_t bytes_max) {
  return fail(Errc::kTooLarge,
              "block gives more than " + std::to_string(bytes_max) + " bytes when decompressed");
}

/// Hands out room in a buffer that grows by doubling and never beyond `bytes_max`. At the limit the
/// room is one spare byte outside the buffer: whoever writes there has shown that more comes out.
class BoundedOutput {
 public:
  BoundedOutput(Buffer& out, std::size_t bytes_in, std::size_t bytes_max)
      : out_(out), bytes_max_(bytes_max) {
    // Batches shrink to a quarter often enough that most are done without growing.
    constexpr std::size_t kFirstBytesMin = 1024;
    out_.clear();
    grow(std::max(kFirstBytesMin, bytes_in * 4));
  }

  /// Never empty.
  [[nodiscard]] MutableBytes room() {
    if (used_ == out_.size() && used_ < bytes_max_) grow(out_.size() * 2);
    if (used_ == out_.size()) return {&spare_, 1};
    return out_.mutable_bytes().subspan(used_);
  }
  /// `n` bytes of the room were written; false when they are beyond the limit.
  [[nodiscard]] bool took(std::size_t n) {
    if (used_ == bytes_max_) return n == 0;
    used_ += n;
    return true;
  }
  void finish() { out_.resize(used_); }

 private:
  void grow(std::size_t bytes) {
    const std::size_t size = std::min(bytes, bytes_max_);
    out_.reserve(size);
    out_.resize(size);
  }

  Buffer& out_;
  std::size_t bytes_max_;
  std::size_t used_ = 0;
  std::byte spare_{};
};

enum class StepEnd { kMore, kFrameEnd, kCorrupt, kTooLarge };

/// What one call of a library did.
struct Step {
  std::size_t read = 0;
  std::size_t written = 0;
  StepEnd end = StepEnd::kMore;
};

/// Calls `step(in, room)` until the input is used up at the end of a frame.
template <class StepFunction>
Result<void> run_frames(Codec codec, Bytes in, std::size_t bytes_max, Buffer& out,
                        StepFunction step) {
  BoundedOutput output(out, in.size(), bytes_max);
  while (true) {
    const Step done = step(in, output.room());
    if (done.end == StepEnd::kCorrupt) return corrupt(codec, "malformed");
    if (done.end == StepEnd::kTooLarge)
      return fail(Errc::kTooLarge, "zstd block: needs a window of more than 128 MiB");
    if (!output.took(done.written)) return too_large(bytes_max);
    in = in.subspan(done.read);
    if (done.end == StepEnd::kFrameEnd) {
      if (in.empty()) break;
    } else if (done.read == 0 && done.written == 0) {
      return corrupt(codec, "truncated");
    }
  }
  output.finish();
  return {};
}

Step inflate_step(z_stream& stream, Bytes in, MutableBytes room) {
  const auto room_bytes = static_cast<uInt>(std::min(room.size(), kBlockBytesMax));
  stream.next_in = zlib_in(in);
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(room.data());
  stream.avail_out = room_bytes;
  const int rc = inflate(&stream, Z_NO_FLUSH);
  Step done{in.size() - stream.avail_in, room_bytes - stream.avail_out, StepEnd::kMore};
  if (rc == Z_STREAM_END) {
    done.end = StepEnd::kFrameEnd;
    CHECK(inflateReset(&stream) == Z_OK);
  } else if (rc != Z_OK && rc != Z_BUF_ERROR) {
    done.end = StepEnd::kCorrupt;
  }
  return done;
}

Step lz4_step(LZ4F_dctx* ctx, Bytes in, MutableBytes room) {
  std::size_t read = in.size();
  std::size_t written = room.size();
  const std::size_t rc = LZ4F_decompress(ctx, room.data(), &written, in.data(), &read, nullptr);
  if (LZ4F_isError(rc)) return {0, 0, StepEnd::kCorrupt};
  return {read, written, rc == 0 && read != 0 ? StepEnd::kFrameEnd : StepEnd::kMore};
}

Step zstd_step(ZSTD_DCtx* ctx, Bytes in, MutableBytes room) {
  ZSTD_inBuffer input{in.data(), in.size(), 0};
  ZSTD_outBuffer output{room.data(), room.size(), 0};
  const std::size_t rc = ZSTD_decompressStream(ctx, &output, &input);
  if (ZSTD_isError(rc)) {
    const ZSTD_ErrorCode code = ZSTD_getErrorCode(rc);
    const bool large =
        code == ZSTD_error_frameParameter_windowTooLarge || code == ZSTD_error_memory_allocation;
    return {0, 0, large ? StepEnd::kTooLarge : StepEnd::kCorrupt};
  }
  return {input.pos, output.pos, rc == 0 ? StepEnd::kFrameEnd : StepEnd::kMore};
}

/// The length that a raw snappy stream claims; nullopt when there is none, or when the stream is
/// too short to give so much.
std::optional<std::size_t> snappy_length(Bytes in) {
  std::size_t claimed = 0;
  if (!snappy::GetUncompressedLength(chars(in), in.size(), &claimed)) return std::nullopt;
  if (claimed / kSnappyCopyGives > in.size() / kSnappyCopyBytes) return std::nullopt;
  return claimed;
}

bool starts_xerial(Bytes in) {
  return in.size() >= kXerialHeaderBytes &&
         std::memcmp(in.data(), kXerialMagic.data(), kXerialMagic.size()) == 0;
}

/// Takes the next raw snappy stream off the front of a xerial stream; nullopt when it is malformed.
/// Headers may come again in between: that is what concatenated streams look like.
std::optional<Bytes> next_xerial_block(Bytes& in) {
  while (starts_xerial(in)) {
    if (load_be<std::int32_t>(in.data() + kXerialMagic.size()) < kXerialVersion)
      return std::nullopt;
    in = in.subspan(kXerialHeaderBytes);
  }
  if (in.empty()) return Bytes{};
  if (in.size() < sizeof(std::int32_t)) return std::nullopt;
  const auto length = load_be<std::uint32_t>(in.data());
  in = in.subspan(sizeof(std::int32_t));
  if (length == 0 || length > in.size()) return std::nullopt;
  const Bytes block = in.first(length);
  in = in.subspan(length);
  return block;
}

/// Two passes over the lengths, so that memory is taken once and only for what can come out.
Result<void> xerial_decompress(Bytes in, std::size_t bytes_max, Buffer& out) {
  std::size_t total = 0;
  for (Bytes rest = in; !rest.empty();) {
    const std::optional<Bytes> block = next_xerial_block(rest);
    if (!block) return corrupt(Codec::kSnappy, "malformed framing");
    if (block->empty()) break;
    const std::optional<std::size_t> length = snappy_length(*block);
    if (!length) return corrupt(Codec::kSnappy, "malformed length");
    if (*length > bytes_max - total) return too_large(bytes_max);
    total += *length;
  }
  out.clear();
  out.reserve(total);
  out.resize(total);
  char* at = reinterpret_cast<char*>(out.data());
  for (Bytes rest = in; !rest.empty();) {
    const std::optional<Bytes> block = next_xerial_block(rest);
    if (!block || block->empty()) break;
    const std::optional<std::size_t> length = snappy_length(*block);
    if (!snappy::RawUncompress(chars(*block), block->size(), at))
      return corrupt(Codec::kSnappy, "malformed");
    at += *length;
  }
  return {};
}

Result<void> snappy_decompress(Bytes in, std::size_t bytes_max, Buffer& out) {
  // A raw stream cannot start like the xerial magic: its first element would copy from nothing.
  if (starts_xerial(in)) return xerial_decompress(in, bytes_max, out);
  const std::optional<std::size_t> length = snappy_length(in);
  if (!length) return corrupt(Codec::kSnappy, "malformed length");
  if (*length > bytes_max) return too_large(bytes_max);
  out.clear();
  out.reserve(*length);
  out.resize(*length);
  if (!snappy::RawUncompress(chars(in), in.size(), reinterpret_cast<char*>(out.data())))
    return corrupt(Codec::kSnappy, "malformed");
  return {};
}

/// Appends what `write(room)` gives, for which `bytes_max` is enough room.
template <class Write>
void append(Buffer& out, std::size_t bytes_max, Write write) {
  const std::size_t start = out.size();
  out.resize(start + bytes_max);
  const std::size_t written = write(out.mutable_bytes().subspan(start));
  CHECK(written <= bytes_max);
  out.resize(start + written);
}

void snappy_compress(Bytes in, Buffer& out) {
  const std::size_t blocks = (in.size() + kXerialBlockBytes - 1) / kXerialBlockBytes;
  const std::size_t block_bytes_max =
      sizeof(std::int32_t) + snappy::MaxCompressedLength(std::min(in.size(), kXerialBlockBytes));
  append(out, kXerialHeaderBytes + blocks * block_bytes_max, [&](MutableBytes room) {
    std::byte* at = room.data();
    std::memcpy(at, kXerialMagic.data(), kXerialMagic.size());
    store_be(at + 8, kXerialVersion);
    store_be(at + 12, kXerialVersion);
    at += kXerialHeaderBytes;
    for (Bytes rest = in; !rest.empty();) {
      const Bytes block = rest.first(std::min(rest.size(), kXerialBlockBytes));
      rest = rest.subspan(block.size());
      std::size_t length = 0;
      snappy::RawCompress(chars(block), block.size(), reinterpret_cast<char*>(at + 4), &length);
      store_be(at, static_cast<std::int32_t>(length));
      at += sizeof(std::int32_t) + length;
    }
    return static_cast<std::size_t>(at - room.data());
  });
}

void lz4_compress(Bytes in, int level, Buffer& out) {
  LZ4F_preferences_t how{};
  how.frameInfo.blockSizeID = LZ4F_max64KB;
  how.frameInfo.blockMode = LZ4F_blockIndependent;
  how.autoFlush = 1;
  // Java means its fast compressor by level 9, and the high compression one by every other level.
  how.compressionLevel = level == facts(Codec::kLz4).levels.preset ? 0 : level;
  append(out, LZ4F_compressFrameBound(in.size(), &how), [&](MutableBytes room) {
    const std::size_t n = LZ4F_compressFrame(room.data(), room.size(), in.data(), in.size(), &how);
    CHECK(!LZ4F_isError(n));
    return n;
  });
}

}  // namespace

std::string_view codec_name(Codec codec) {
  const auto i = static_cast<std::size_t>(codec);
  return i < kCodecs.size() ? kCodecs[i].name : "unknown";
}

std::optional<Codec> codec_from_name(std::string_view name) {
  for (const CodecFacts& codec : kCodecs)
    if (codec.name == name) return codec.codec;
  return std::nullopt;
}

CodecLevels codec_levels(Codec codec) {
  return facts(codec).levels;
}

struct Compressor::State {
  Codec codec = Codec::kNone;
  int level = 0;
  std::unique_ptr<z_stream, DeflateEnd> deflate;
  std::unique_ptr<ZSTD_CCtx, ZstdCCtxFree> zstd;

  void gzip_compress(Bytes in, Buffer& out);
  void zstd_compress(Bytes in, Buffer& out);
};

void Compressor::State::gzip_compress(Bytes in, Buffer& out) {
  z_stream* stream = deflate.get();
  CHECK(deflateReset(stream) == Z_OK);
  append(out, deflateBound(stream, in.size()), [&](MutableBytes room) {
    const auto room_bytes =
        static_cast<uInt>(std::min<std::size_t>(room.size(), std::numeric_limits<uInt>::max()));
    stream->next_in = zlib_in(in);
    stream->avail_in = static_cast<uInt>(in.size());
    stream->next_out = reinterpret_cast<Bytef*>(room.data());
    stream->avail_out = room_bytes;
    CHECK(::deflate(stream, Z_FINISH) == Z_STREAM_END);
    return std::size_t{room_bytes - stream->avail_out};
  });
}

void Compressor::State::zstd_compress(Bytes in, Buffer& out) {
  append(out, ZSTD_compressBound(in.size()), [&](MutableBytes room) {
    const std::size_t n =
        ZSTD_compress2(zstd.get(), room.data(), room.size(), in.data(), in.size());
    CHECK(!ZSTD_isError(n));
    return n;
  });
}

Compressor::Compressor(Codec codec, std::optional<int> level) : state_(std::make_unique<State>()) {
  const CodecLevels levels = codec_levels(codec);
  state_->codec = codec;
  state_->level = level.value_or(levels.preset);
  CHECK(levels.allows(state_->level));
  if (codec == Codec::kGzip) {
    auto stream = std::make_unique<z_stream>();
    CHECK(deflateInit2(stream.get(), state_->level, Z_DEFLATED, kGzipWindowBits, kGzipMemLevel,
                       Z_DEFAULT_STRATEGY) == Z_OK);
    state_->deflate.reset(stream.release());
  }
  if (codec == Codec::kZstd) {
    state_->zstd.reset(ZSTD_createCCtx());
    CHECK(state_->zstd);
    CHECK(!ZSTD_isError(
        ZSTD_CCtx_setParameter(state_->zstd.get(), ZSTD_c_compressionLevel, state_->level)));
  }
}

Compressor::Compressor(Compressor&&) noexcept = default;
Compressor& Compressor::operator=(Compressor&&) noexcept = default;
Compressor::~Compressor() = default;

Result<void> Compressor::compress(Bytes in, Buffer& out) {
  if (in.size() > kBlockBytesMax)
    return fail(Errc::kTooLarge, "block of " + std::to_string(in.size()) + " bytes");
  switch (state_->codec) {
    case Codec::kNone:
      out.append(in);
      break;
    case Codec::kGzip:
      state_->gzip_compress(in, out);
      break;
    case Codec::kSnappy:
      snappy_compress(in, out);
      break;
    case Codec::kLz4:
      lz4_compress(in, state_->level, out);
      break;
    case Codec::kZstd:
      state_->zstd_compress(in, out);
      break;
  }
  return {};
}

/// Contexts are made at first use: most directories hold one codec.
struct Decompressor::State {
  std::unique_ptr<z_stream, InflateEnd> inflate;
  std::unique_ptr<LZ4F_dctx, Lz4DCtxFree> lz4;
  std::unique_ptr<ZSTD_DCtx, ZstdDCtxFree> zstd;

  z_stream& fresh_inflate();
  LZ4F_dctx* fresh_lz4();
  ZSTD_DCtx* fresh_zstd();
};

z_stream& Decompressor::State::fresh_inflate() {
  if (inflate) {
    CHECK(inflateReset(inflate.get()) == Z_OK);
    return *inflate;
  }
  auto stream = std::make_unique<z_stream>();
  CHECK(inflateInit2(stream.get(), kGzipWindowBits) == Z_OK);
  inflate.reset(stream.release());
  return *inflate;
}

LZ4F_dctx* Decompressor::State::fresh_lz4() {
  if (!lz4) {
    LZ4F_dctx* ctx = nullptr;
    CHECK(!LZ4F_isError(LZ4F_createDecompressionContext(&ctx, LZ4F_VERSION)));
    lz4.reset(ctx);
  }
  LZ4F_resetDecompressionContext(lz4.get());
  return lz4.get();
}

ZSTD_DCtx* Decompressor::State::fresh_zstd() {
  if (!zstd) {
    zstd.reset(ZSTD_createDCtx());
    CHECK(zstd);
    CHECK(
        !ZSTD_isError(ZSTD_DCtx_setParameter(zstd.get(), ZSTD_d_windowLogMax, kZstdWindowLogMax)));
  }
  CHECK(!ZSTD_isError(ZSTD_DCtx_reset(zstd.get(), ZSTD_reset_session_only)));
  return zstd.get();
}

Decompressor::Decompressor() : state_(std::make_unique<State>()) {}
Decompressor::Decompressor(Decompressor&&) noexcept = default;
Decompressor& Decompressor::operator=(Decompressor&&) noexcept = default;
Decompressor::~Decompressor() = default;

Result<void> Decompressor::decompress(Codec codec, Bytes in, std::size_t bytes_max, Buffer& out) {
  if (in.size() > kBlockBytesMax)
    return fail(Errc::kTooLarge, "block of " + std::to_string(in.size()) + " bytes");
  switch (codec) {
    case Codec::kNone:
      if (in.size() > bytes_max) return too_large(bytes_max);
      out.clear();
      out.append(in);
      return {};
    case Codec::kGzip:
      return run_frames(codec, in, bytes_max, out,
                        [&stream = state_->fresh_inflate()](Bytes from, MutableBytes room) {
                          return inflate_step(stream, from, room);
                        });
    case Codec::kSnappy:
      return snappy_decompress(in, bytes_max, out);
    case Codec::kLz4:
      return run_frames(codec, in, bytes_max, out,
                        [ctx = state_->fresh_lz4()](Bytes from, MutableBytes room) {
                          return lz4_step(ctx, from, room);
                        });
    case Codec::kZstd:
      return run_frames(codec, in, bytes_max, out,
                        [ctx = state_->fresh_zstd()](Bytes from, MutableBytes room) {
                          return zstd_step(ctx, from, room);
                        });
  }
  return fail(Errc::kUnsupported, "unknown codec " + std::to_string(static_cast<int>(codec)));
}

}  // namespace spool
