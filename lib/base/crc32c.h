#pragma once
/// CRC-32C (Castagnoli), as record batches and producer snapshots use it. Thread-safe.

#include <cstdint>

#include "base/bytes.h"

namespace spool {

[[nodiscard]] std::uint32_t crc32c(Bytes data);
/// The CRC of what gave `crc` followed by `data`; the CRC of nothing is 0.
[[nodiscard]] std::uint32_t crc32c_extend(std::uint32_t crc, Bytes data);

}  // namespace spool
