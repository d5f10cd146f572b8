#pragma once
/// All places of a character at once. Where lines are short, memchr and its like mispredict a
/// branch at the end of nearly each; here no branch depends on where the places are.

#include <bit>
#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace spool {

/// As many bytes are looked through at a time.
inline constexpr std::size_t kFindMax = 4096;

namespace find_all_detail {

#if defined(__SSE2__)
/// A bit for each of 64 bytes.
inline std::uint64_t matches(const char* text, __m128i wanted) {
  std::uint64_t bits = 0;
  for (unsigned i = 0; i < 64; i += 16) {
    const __m128i piece =
        _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(text + i)));
    const auto some = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(piece, wanted)));
    bits |= std::uint64_t{some} << i;
  }
  return bits;
}
#endif

}  // namespace find_all_detail

/// The places of `wanted` in [text, text + size), ascending, into `places`, which has room for
/// kFindMax + 2; `size` <= kFindMax. Returns how many.
inline std::size_t find_all(const char* text, std::size_t size, char wanted,
                            std::uint16_t* places) {
  std::size_t n = 0;
  std::size_t i = 0;
#if defined(__SSE2__)
  const __m128i pattern = _mm_set1_epi8(wanted);
  for (; i + 64 <= size; i += 64) {
    std::uint64_t bits = find_all_detail::matches(text + i, pattern);
    // Two are noted whether they are there or not: more than that are seldom.
    for (int often = 0; often < 2; ++often) {
      places[n] = static_cast<std::uint16_t>(i + static_cast<unsigned>(std::countr_zero(bits)));
      n += static_cast<std::size_t>(bits != 0);
      bits &= bits - 1;
    }
    for (; bits != 0; bits &= bits - 1)
      places[n++] = static_cast<std::uint16_t>(i + static_cast<unsigned>(std::countr_zero(bits)));
  }
#endif
  for (; i < size; ++i) {
    places[n] = static_cast<std::uint16_t>(i);
    n += static_cast<std::size_t>(text[i] == wanted);
  }
  return n;
}

}  // namespace spool
