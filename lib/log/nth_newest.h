#pragma once
/// The newest N records of a topic for any N, in memory that does not grow with N.

#include <cstdint>
#include <functional>
#include <optional>

#include "log/lookup.h"

namespace spool {

/// Offers all records of a topic that its RecordTimes wants, each once, in any order; each time
/// that it is called the same ones, less those that were trimmed away since.
using RecordScan = std::function<Result<void>(RecordTimes&)>;

/// The `count`-th greatest record, count > 0: it and all greater ones are the newest `count`.
/// nullopt when there are not so many. Up to kNthKept of `count` one scan is enough, above it takes
/// several, mostly three. Errc::kConflict when records keep being trimmed away between them.
[[nodiscard]] Result<std::optional<RecordTime>> nth_newest(const RecordScan& scan,
                                                           std::int64_t count);

/// Records that are held at a time.
inline constexpr std::int64_t kNthKept = std::int64_t{1} << 17;

}  // namespace spool
