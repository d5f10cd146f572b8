#pragma once
/// The five codecs of record batches, by Kafka's attribute bits. Output is always bounded.

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/result.h"

namespace spool {

/// Bits 0-2 of a batch's attributes.
enum class Codec : std::uint8_t { kNone = 0, kGzip = 1, kSnappy = 2, kLz4 = 3, kZstd = 4 };

/// Kafka's name of a codec, "unknown" for the bits 5 to 7; and back, nullopt for an unknown name.
[[nodiscard]] std::string_view codec_name(Codec codec);
[[nodiscard]] std::optional<Codec> codec_from_name(std::string_view name);

/// Lowest and highest level that a Compressor takes for a codec, and the default one, which is
/// taken too where it is outside the range. Codecs without levels (none, snappy) have 0, 0, 0.
/// Kafka's numbers: gzip 1..9 (-1: zlib decides), lz4 1..17 (9), zstd -131072..22 (3). As in Java,
/// lz4's default is the fast compressor; liblz4 treats 13..17 as 12, and 1 and 2 as the fast one.
struct CodecLevels {
  int min = 0;
  int max = 0;
  int preset = 0;

  [[nodiscard]] constexpr bool allows(int level) const {
    return level == preset || (level >= min && level <= max);
  }
};
[[nodiscard]] CodecLevels codec_levels(Codec codec);

/// The longest block taken or given: a batch's length is an int32.
inline constexpr std::size_t kBlockBytesMax = 0x7fffffff;

/// Compresses blocks one after the other and keeps the codec's state between them. Not thread-safe.
class Compressor {
 public:
  /// codec_levels(codec) must allow `level`; nullopt takes the default.
  explicit Compressor(Codec codec, std::optional<int> level = std::nullopt);
  Compressor(Compressor&&) noexcept;
  Compressor& operator=(Compressor&&) noexcept;
  ~Compressor();

  /// Appends the compressed form of `in` to `out` (what is in `out` stays). Snappy in xerial
  /// framing, lz4 as a frame with independent 64 KiB blocks and a correct header checksum, as Java
  /// writes them. Errc::kTooLarge when `in` is over kBlockBytesMax; then `out` is as it was.
  [[nodiscard]] Result<void> compress(Bytes in, Buffer& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Decompresses blocks one after the other. Not thread-safe; one for each thread.
class Decompressor {
 public:
  Decompressor();
  Decompressor(Decompressor&&) noexcept;
  Decompressor& operator=(Decompressor&&) noexcept;
  ~Decompressor();

  /// Replaces `out` by the decompressed form of `in`. Memory grows with what really comes out,
  /// never by what a header claims (snappy: a claim is believed up to what so many bytes can give),
  /// and the capacity of `out` never grows beyond `bytes_max`. Errc::kTooLarge as soon as more than
  /// `bytes_max` would come out, or for a zstd window over 128 MiB; Errc::kCorrupt for a malformed
  /// or truncated stream, or bytes behind its end. Takes concatenated gzip members, lz4 frames and
  /// zstd frames, xerial and raw snappy. Xerial framing has no end mark: cut between two blocks it
  /// is whole, and only the batch's record count tells. After an error `out` holds nothing useful.
  [[nodiscard]] Result<void> decompress(Codec codec, Bytes in, std::size_t bytes_max, Buffer& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace spool
