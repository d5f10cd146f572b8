#pragma once
/// The five codecs of record batches, by Kafka's attribute bits. Output is always bounded.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace spool {

/// Bits 0-2 of a batch's attributes.
enum class Codec : std::uint8_t { kNone = 0, kGzip = 1, kSnappy = 2, kLz4 = 3, kZstd = 4 };

/// Kafka's name of a codec, and back; nullopt for an unknown name.
[[nodiscard]] std::string_view codec_name(Codec codec);
[[nodiscard]] std::optional<Codec> codec_from_name(std::string_view name);

/// Lowest and highest level that `compress` takes for a codec, and the default one. Codecs without
/// levels (none, snappy) have 0, 0, 0. Kafka's ranges: gzip 1..9, lz4 1..17 (9), zstd -131072..22
/// (3).
struct CodecLevels {
  int min = 0;
  int max = 0;
  int preset = 0;
};
[[nodiscard]] CodecLevels codec_levels(Codec codec);

/// Compresses blocks one after the other and keeps the codec's state between them. Not thread-safe.
class Compressor {
 public:
  /// `level` must be within codec_levels(codec); nullopt takes the default.
  explicit Compressor(Codec codec, std::optional<int> level = std::nullopt);
  Compressor(Compressor&&) noexcept;
  Compressor& operator=(Compressor&&) noexcept;
  ~Compressor();

  /// Appends the compressed form of `in` to `out` (what is in `out` stays). Snappy in xerial
  /// framing, lz4 as a frame with independent 64 KiB blocks and a correct header checksum, as Java
  /// writes them.
  [[nodiscard]] Result<void> compress(Bytes in, std::vector<std::byte>& out);

 private:
  struct State;
  State* state_;
};

/// Decompresses blocks one after the other. Not thread-safe; one for each thread.
class Decompressor {
 public:
  Decompressor();
  Decompressor(Decompressor&&) noexcept;
  Decompressor& operator=(Decompressor&&) noexcept;
  ~Decompressor();

  /// Replaces `out` by the decompressed form of `in`. Memory grows with what really comes out,
  /// never by what a header claims. Errc::kTooLarge as soon as more than `bytes_max` would come
  /// out; Errc::kCorrupt for a malformed or truncated stream, or bytes behind its end. Takes
  /// concatenated gzip members, lz4 frames and zstd frames, xerial and raw snappy.
  [[nodiscard]] Result<void> decompress(Codec codec, Bytes in, std::size_t bytes_max,
                                        std::vector<std::byte>& out);

 private:
  struct State;
  State* state_;
};

}  // namespace spool
