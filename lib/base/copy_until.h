#pragma once
/// Copying and looking for the delimiter in one pass: half the memory traffic of memchr and memcpy
/// for lines, which are short.

#include <bit>
#include <cstddef>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace spool {

inline constexpr std::size_t kCopySlack = 16;
inline constexpr std::size_t kNotFound = static_cast<std::size_t>(-1);

/// Copies bytes of [from, from + size) to `to` until `delimiter`; returns how many came before it,
/// or kNotFound. May write up to `size` + kCopySlack bytes at `to`, whatever it returns; never
/// reads behind from + size.
[[nodiscard]] inline std::size_t copy_until(std::byte* to, const char* from, std::size_t size,
                                            char delimiter) {
  std::size_t i = 0;
#if defined(__SSE2__)
  const __m128i wanted = _mm_set1_epi8(delimiter);
  for (; i + 16 <= size; i += 16) {
    const __m128i piece =
        _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(from + i)));
    _mm_storeu_si128(static_cast<__m128i*>(static_cast<void*>(to + i)), piece);
    const auto found = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(piece, wanted)));
    if (found != 0) return i + static_cast<std::size_t>(std::countr_zero(found));
  }
#endif
  for (; i < size; ++i) {
    if (from[i] == delimiter) return i;
    to[i] = static_cast<std::byte>(from[i]);
  }
  return kNotFound;
}

}  // namespace spool
