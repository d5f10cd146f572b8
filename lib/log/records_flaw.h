#pragma once
/// Whether the records of a batch whose CRC is right are as the format says: the CRC vouches for
/// the bytes, this is about who wrote them.

#include <string>

#include "base/buffer.h"
#include "record/batch.h"

namespace spool {

/// What is wrong with the records of a whole batch; empty when nothing is. `scratch` is for what
/// is decompressed.
[[nodiscard]] std::string records_flaw(const BatchView& batch, Decompressor& decompressor,
                                       Buffer& scratch);

}  // namespace spool
