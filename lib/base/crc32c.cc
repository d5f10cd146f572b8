#include "base/crc32c.h"

#include <algorithm>

#include <isa-l/crc.h>

namespace spool {

std::uint32_t crc32c(Bytes data) {
  constexpr std::size_t kPieceMax = std::size_t{1} << 30;  // ISA-L takes the length as an int
  std::uint32_t crc = 0xffffffffU;
  while (!data.empty()) {
    const std::size_t n = std::min(data.size(), kPieceMax);
    // ISA-L's signature lacks const; it does not write.
    auto* p = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(data.data()));
    crc = crc32_iscsi(p, static_cast<int>(n), crc);
    data = data.subspan(n);
  }
  return ~crc;
}

}  // namespace spool
