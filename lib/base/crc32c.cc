#include "base/crc32c.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <isa-l/crc.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace spool {

namespace {

// All of these take and give the CRC as the register holds it, not inverted.

std::uint32_t by_library(std::uint32_t crc, Bytes data) {
  constexpr std::size_t kPieceMax = std::size_t{1} << 30;  // ISA-L takes the length as an int
  while (!data.empty()) {
    const std::size_t n = std::min(data.size(), kPieceMax);
    // ISA-L's signature lacks const; it does not write.
    auto* p = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(data.data()));
    crc = crc32_iscsi(p, static_cast<int>(n), crc);
    data = data.subspan(n);
  }
  return crc;
}

#if defined(__x86_64__)

// ISA-L is fast where carry-less multiplication is 512 bits wide. Elsewhere it mixes in the CRC
// instruction, of which the first Zens do one in three cycles; folding alone takes two thirds of
// the time there.
//
// Four registers of 16 bytes each hold a remainder of what was read. To fold is to move a
// remainder 64 bytes on, by a product with powers of x, and to add the bytes that stand there.

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // bit-reflected
constexpr std::size_t kFoldBytesMin = 256;         // less is not worth the set-up

/// x^n mod the polynomial, bit-reflected.
constexpr std::uint32_t power_of_x(std::size_t n) {
  std::uint32_t value = 0x80000000;  // 1
  for (; n > 0; --n)
    value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
  return value;
}

/// Two factors that move a register by `bits`. The product of 64 reflected bits and 32 stands 33
/// bits too far; the low half of the register is 64 bits ahead of the high one.
constexpr std::array<long long, 2> factors(std::size_t bits) {
  return {power_of_x(bits + 64 - 33), power_of_x(bits - 33)};
}

__attribute__((target("sse4.2,pclmul"))) inline __m128i folded(__m128i remainder, __m128i factors,
                                                               __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(remainder, factors, 0x00);
  const __m128i high = _mm_clmulepi64_si128(remainder, factors, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

inline __m128i load(const std::byte* at) {
  return _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(at)));
}

__attribute__((target("sse4.2,pclmul"))) std::uint32_t by_folding(std::uint32_t crc, Bytes data) {
  const std::byte* at = data.data();
  const std::byte* const end = at + data.size();
  std::uint64_t result = crc;
  if (data.size() >= kFoldBytesMin) {
    constexpr std::array<long long, 2> kFar = factors(512);
    constexpr std::array<long long, 2> kNear = factors(128);
    const __m128i far = _mm_set_epi64x(kFar[1], kFar[0]);
    const __m128i near = _mm_set_epi64x(kNear[1], kNear[0]);
    __m128i a = _mm_xor_si128(load(at), _mm_cvtsi32_si128(static_cast<int>(crc)));
    __m128i b = load(at + 16);
    __m128i c = load(at + 32);
    __m128i d = load(at + 48);
    for (at += 64; end - at >= 64; at += 64) {
      a = folded(a, far, load(at));
      b = folded(b, far, load(at + 16));
      c = folded(c, far, load(at + 32));
      d = folded(d, far, load(at + 48));
    }
    d = folded(folded(folded(a, near, b), near, c), near, d);
    // The CRC of a remainder is that of what it remains of.
    result = _mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_extract_epi64(d, 0)));
    result = _mm_crc32_u64(result, static_cast<std::uint64_t>(_mm_extract_epi64(d, 1)));
  }
  for (; end - at >= 8; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    result = _mm_crc32_u64(result, word);
  }
  for (; at < end; ++at)
    result = _mm_crc32_u8(static_cast<std::uint32_t>(result), std::to_integer<unsigned char>(*at));
  return static_cast<std::uint32_t>(result);
}

bool folding_is_faster() {
  return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") &&
         !__builtin_cpu_supports("vpclmulqdq");
}

#endif

}  // namespace

std::uint32_t crc32c(Bytes data) {
  return crc32c_extend(0, data);
}

std::uint32_t crc32c_extend(std::uint32_t crc, Bytes data) {
#if defined(__x86_64__)
  static const bool kFold = folding_is_faster();
  if (kFold) return ~by_folding(~crc, data);
#endif
  return ~by_library(~crc, data);
}

}  // namespace spool
