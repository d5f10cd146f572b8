#pragma once
/// Big-endian fields, varints and zigzag over borrowed bytes. Nothing here allocates or fails by
/// exception; readers return how many bytes they took, 0 for malformed or truncated input.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace spool {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

[[nodiscard]] inline Bytes as_bytes(std::string_view s) {
  return {reinterpret_cast<const std::byte*>(s.data()), s.size()};
}
[[nodiscard]] inline std::string_view as_text(Bytes b) {
  return {reinterpret_cast<const char*>(b.data()), b.size()};
}

template <class T>
[[nodiscard]] constexpr T byte_swap(T v) {
  if constexpr (sizeof(T) == 1) return v;
  if constexpr (sizeof(T) == 2)
    return static_cast<T>(__builtin_bswap16(static_cast<std::uint16_t>(v)));
  if constexpr (sizeof(T) == 4)
    return static_cast<T>(__builtin_bswap32(static_cast<std::uint32_t>(v)));
  if constexpr (sizeof(T) == 8)
    return static_cast<T>(__builtin_bswap64(static_cast<std::uint64_t>(v)));
}

/// Reads a big-endian integer at `p`; the caller has checked that sizeof(T) bytes are there.
template <class T>
[[nodiscard]] inline T load_be(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  if constexpr (std::endian::native == std::endian::little) v = byte_swap(v);
  return v;
}

template <class T>
inline void store_be(std::byte* p, T v) {
  if constexpr (std::endian::native == std::endian::little) v = byte_swap(v);
  std::memcpy(p, &v, sizeof v);
}

inline constexpr std::size_t kVarintBytesMax = 5;
inline constexpr std::size_t kVarlongBytesMax = 10;

[[nodiscard]] constexpr std::uint64_t zigzag(std::int64_t n) {
  return (static_cast<std::uint64_t>(n) << 1) ^ static_cast<std::uint64_t>(n >> 63);
}
[[nodiscard]] constexpr std::int64_t unzigzag(std::uint64_t u) {
  return static_cast<std::int64_t>(u >> 1) ^ -static_cast<std::int64_t>(u & 1);
}

[[nodiscard]] constexpr std::size_t uvarint_size(std::uint64_t u) {
  return (static_cast<std::size_t>(std::bit_width(u | 1)) + 6) / 7;
}
[[nodiscard]] constexpr std::size_t varint_size(std::int64_t n) {
  return uvarint_size(zigzag(n));
}

/// Writes `u`, at most kVarlongBytesMax bytes; returns the end.
inline std::byte* put_uvarint(std::byte* p, std::uint64_t u) {
  while (u >= 0x80) {
    *p++ = static_cast<std::byte>(u | 0x80);
    u >>= 7;
  }
  *p++ = static_cast<std::byte>(u);
  return p;
}
inline std::byte* put_varint(std::byte* p, std::int64_t n) {
  return put_uvarint(p, zigzag(n));
}

/// Reads an unsigned varint from [p, end) into `out`; returns the bytes taken, 0 when malformed.
[[nodiscard]] inline std::size_t get_uvarint(const std::byte* p, const std::byte* end,
                                             std::uint64_t& out) {
  std::uint64_t value = 0;
  unsigned shift = 0;
  const std::byte* at = p;
  while (at < end && shift < 70) {
    const auto b = std::to_integer<std::uint64_t>(*at++);
    value |= (b & 0x7f) << shift;
    if (b < 0x80) {
      if (shift == 63 && b > 1) return 0;
      out = value;
      return static_cast<std::size_t>(at - p);
    }
    shift += 7;
  }
  return 0;
}

/// A reader of varints that remembers the first malformed one: later reads give 0, `ok` is asked
/// once.
class VarintReader {
 public:
  VarintReader(const std::byte* begin, const std::byte* end) : at_(begin), end_(end) {}
  [[nodiscard]] std::int64_t varint() {
    if (end_ - at_ >= 2) [[likely]] {  // one byte or two: nearly always
      const auto low = std::to_integer<std::uint64_t>(at_[0]);
      if (low < 0x80) {
        ++at_;
        return unzigzag(low);
      }
      const auto high = std::to_integer<std::uint64_t>(at_[1]);
      if (high < 0x80) {
        at_ += 2;
        return unzigzag((low & 0x7f) | (high << 7));
      }
    }
    return long_varint();
  }
  /// The next `n` bytes, or an empty span and !ok().
  [[nodiscard]] Bytes take(std::int64_t n) {
    if (!ok_ || n < 0 || n > end_ - at_) [[unlikely]] {
      ok_ = false;
      at_ = end_;
      return {};
    }
    const Bytes out{at_, static_cast<std::size_t>(n)};
    at_ += n;
    return out;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] const std::byte* at() const { return at_; }
  [[nodiscard]] std::ptrdiff_t left() const { return end_ - at_; }

 private:
  [[nodiscard]] std::int64_t long_varint() {
    std::uint64_t u = 0;
    const std::size_t n = ok_ ? get_uvarint(at_, end_, u) : 0;
    if (n == 0) {
      ok_ = false;
      at_ = end_;  // so that the short way finds nothing either
      return 0;
    }
    at_ += n;
    return unzigzag(u);
  }

  const std::byte* at_;
  const std::byte* end_;
  bool ok_ = true;
};

}  // namespace spool
