#pragma once
/// Where to start and to end reading: the grammar of -o, --from and --until.
///
///   start beginning earliest | end latest | N | +N (from the start) | -N (from the end)
///   N:  :N  N:M              from an offset, until an offset, both; ends are exclusive
///   @t  @t:u  @:u            from a time, until a time; a time as parse_time takes it
///   s@MS  e@MS               kcat's: from, until a time in milliseconds
///   P=SPEC                   for partition P alone

#include <optional>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"

namespace spool {

struct Bound {
  enum class Kind { kStart, kEnd, kOffset, kFromStart, kFromEnd, kTime };
  Kind kind = Kind::kStart;
  std::int64_t value = 0;  ///< offset, count, or milliseconds
};

struct OffsetSpec {
  std::optional<PartitionId> partition;
  std::optional<Bound> from;
  std::optional<Bound> until;
};

/// Errc::kUsage quotes the text.
[[nodiscard]] Result<OffsetSpec> parse_offset_spec(std::string_view text, TimestampMs now);
/// What --from and --until take: a whole number is an offset, anything else a time; `@` makes a
/// number a time.
[[nodiscard]] Result<Bound> parse_bound(std::string_view text, TimestampMs now);

}  // namespace spool
