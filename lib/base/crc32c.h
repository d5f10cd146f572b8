#pragma once
/// CRC-32C (Castagnoli), as record batches and producer snapshots use it. Thread-safe.

#include <cstdint>

#include "base/bytes.h"

namespace spool {

[[nodiscard]] std::uint32_t crc32c(Bytes data);

}  // namespace spool
