#pragma once
/// The values of options, from text: durations, sizes, times, delimiters, partitions, headers.
///
/// Every function takes the whole text or fails with Errc::kUsage; the message quotes the text and
/// says what is accepted. Nothing is rounded up, no blank is skipped, nothing negative is taken.
/// All but parse_time are pure; that one reads the process's time zone ($TZ).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace spool {

/// Milliseconds. `500ms 30s 5m 6h 7d 2w`, several from long to short (`1h30m`), a fraction
/// (`1.5h`), `0`, and ISO 8601 with weeks, days and times (`PT6H`, `P1DT2H`, `PT0.5S`). Years and
/// months are refused: they have no fixed length. What is below a millisecond is cut off.
[[nodiscard]] Result<std::int64_t> parse_duration_ms(std::string_view text);

/// Bytes. Digits, then nothing or one of k, M, G, T in either case: powers of 1024.
[[nodiscard]] Result<std::int64_t> parse_size_bytes(std::string_view text);

/// A time, never before 1970:
///   digits                        up to 10 seconds, 13 milliseconds (other counts are ambiguous)
///   digits.digits                 seconds and a fraction
///   YYYY-MM-DD                    midnight
///   YYYY-MM-DD[T ]HH:MM[:SS[.f]]  then nothing, `Z`, `+05:30`, `+0530` or `+05`
///   a duration                    that long before `now`
///   now, today, yesterday         the last two at midnight
/// Without a zone local time is meant; an hour that a clock change skips or repeats is taken as
/// mktime(3) takes it.
[[nodiscard]] Result<TimestampMs> parse_time(std::string_view text, TimestampMs now);

/// The bytes that a delimiter option means; escapes as in escapes.h. May be empty: what that means
/// is the option's affair.
[[nodiscard]] Result<std::string> parse_delimiter(std::string_view text);

/// `0,2,4-7`: ascending, without duplicates. At most kPartitionListMax.
[[nodiscard]] Result<std::vector<PartitionId>> parse_partitions(std::string_view text);
inline constexpr std::size_t kPartitionListMax = 1'000'000;

struct HeaderArgument {
  std::string name;
  std::optional<std::string> value;  ///< nullopt = null
};

/// `NAME=VALUE` or `NAME:VALUE`, split at whichever separator comes first; nothing behind it is an
/// empty value, no separator at all a null one. The name must not be empty.
[[nodiscard]] Result<HeaderArgument> parse_header(std::string_view text);

}  // namespace spool
