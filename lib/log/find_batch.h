#pragma once
/// Finds what is whole behind damage, where it is known which offsets can be there.

#include <optional>

#include "log/batch_reader.h"

namespace spool {

/// The first whole batch behind the bad bytes at `bad_at`, with a base offset in
/// [offset_min, offset_max): where the bad batch's header leads, if its offsets vouch for that (so
/// that a batch stored inside a record is not taken for one of the log), else the first that is
/// found. The bounds keep random bytes from being taken for a header, whose claimed length would
/// have to be read; give them as near as they are known.
[[nodiscard]] Result<std::optional<FoundBatch>> find_batch(File& file, std::int64_t bad_at,
                                                           Offset offset_min, Offset offset_max);

}  // namespace spool
