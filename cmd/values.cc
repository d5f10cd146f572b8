#include "values.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <limits>

#include <date/date.h>
#include <fmt/format.h>

#include "escapes.h"

namespace spool {
namespace {

constexpr std::int64_t kSecondMs = 1000;
constexpr std::int64_t kMinuteMs = 60 * kSecondMs;
constexpr std::int64_t kHourMs = 60 * kMinuteMs;
constexpr std::int64_t kDayMs = 24 * kHourMs;
constexpr std::int64_t kWeekMs = 7 * kDayMs;

constexpr std::size_t kFractionDigitsMax = 9;
constexpr std::size_t kSecondsDigitsMax = 10;
constexpr std::size_t kMillisDigits = 13;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

/// Walks over a text; every `take_` either takes what it names or leaves the place as it was.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}
  [[nodiscard]] bool done() const { return rest_.empty(); }
  [[nodiscard]] char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
  [[nodiscard]] std::string_view rest() const { return rest_; }

  bool take(char c) {
    if (peek() != c || rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view s) {
    if (!rest_.starts_with(s)) return false;
    rest_.remove_prefix(s.size());
    return true;
  }
  /// All the digits that are here, as many as there are.
  std::string_view take_digits() {
    std::size_t n = 0;
    while (n < rest_.size() && is_digit(rest_[n]))
      ++n;
    const std::string_view digits = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return digits;
  }
  /// Exactly `count` digits, or -1.
  int take_number(std::size_t count) {
    if (rest_.size() < count || !all_digits(rest_.substr(0, count))) return -1;
    int n = 0;
    for (const char c : rest_.substr(0, count))
      n = n * 10 + (c - '0');
    rest_.remove_prefix(count);
    return n;
  }

 private:
  std::string_view rest_;
};

/// A number of digits only; nullopt when it is empty, anything else, or past int64.
std::optional<std::int64_t> to_int64(std::string_view digits) {
  if (!all_digits(digits)) return std::nullopt;
  std::int64_t n = 0;
  for (const char c : digits)
    if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, c - '0', &n))
      return std::nullopt;
  return n;
}

/// `whole.fraction` times `unit_ms`, cut off below a millisecond; nullopt past int64.
std::optional<std::int64_t> scaled(std::string_view whole, std::string_view fraction,
                                   std::int64_t unit_ms) {
  const std::optional<std::int64_t> n = to_int64(whole);
  std::int64_t ms = 0;
  if (!n || __builtin_mul_overflow(*n, unit_ms, &ms)) return std::nullopt;
  // The longest unit times nine digits is 6e8 * 1e9: it fits.
  std::int64_t part = unit_ms;
  std::int64_t scale = 1;
  std::int64_t numerator = 0;
  for (const char c : fraction.substr(0, kFractionDigitsMax)) {
    numerator = numerator * 10 + (c - '0');
    scale *= 10;
  }
  part = part * numerator / scale;
  if (__builtin_add_overflow(ms, part, &ms)) return std::nullopt;
  return ms;
}

struct Unit {
  std::string_view name;
  std::int64_t ms;
};

/// Takes `NUMBER UNIT` pairs from long to short units until the text ends or `stop` is next.
/// Returns the sum, or nullopt; at least one pair must be there.
template <std::size_t N>
std::optional<std::int64_t> take_units(Cursor& in, const std::array<Unit, N>& units, char stop) {
  std::int64_t sum = 0;
  std::size_t next_unit = 0;
  do {
    const std::string_view whole = in.take_digits();
    std::string_view fraction;
    if (in.take('.')) {
      fraction = in.take_digits();
      if (fraction.empty()) return std::nullopt;
    }
    // The first match in order: `ms` stands in front of `m`, which is a prefix of it.
    std::size_t found = N;
    for (std::size_t i = 0; i < N && found == N; ++i)
      if (in.take(units[i].name)) found = i;
    if (found == N) return std::nullopt;
    const bool descends = next_unit == 0 || units[found].ms < units[next_unit - 1].ms;
    const std::optional<std::int64_t> ms = scaled(whole, fraction, units[found].ms);
    if (!descends || !ms || __builtin_add_overflow(sum, *ms, &sum)) return std::nullopt;
    next_unit = found + 1;
  } while (!in.done() && in.peek() != stop);
  return sum;
}

/// The part behind `P`: weeks and days, then `T` and hours, minutes, seconds.
std::optional<std::int64_t> iso_duration(std::string_view upper) {
  static constexpr std::array<Unit, 2> kDates{{{"W", kWeekMs}, {"D", kDayMs}}};
  static constexpr std::array<Unit, 3> kTimes{{{"H", kHourMs}, {"M", kMinuteMs}, {"S", kSecondMs}}};
  Cursor in(upper);
  if (in.done()) return std::nullopt;
  std::int64_t sum = 0;
  if (in.peek() != 'T') {
    const std::optional<std::int64_t> dates = take_units(in, kDates, 'T');
    if (!dates) return std::nullopt;
    sum = *dates;
  }
  if (in.done()) return sum;
  if (!in.take('T')) return std::nullopt;
  const std::optional<std::int64_t> times = take_units(in, kTimes, '\0');
  if (!times || !in.done() || __builtin_add_overflow(sum, *times, &sum)) return std::nullopt;
  return sum;
}

std::optional<std::int64_t> duration_ms(std::string_view text) {
  static constexpr std::array<Unit, 6> kUnits{{{"ms", 1},
                                               {"w", kWeekMs},
                                               {"d", kDayMs},
                                               {"h", kHourMs},
                                               {"m", kMinuteMs},
                                               {"s", kSecondMs}}};
  if (text == "0") return 0;
  if (text.starts_with('P') || text.starts_with('p')) {
    std::string upper(text.substr(1));
    for (char& c : upper)
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return iso_duration(upper);
  }
  Cursor in(text);
  return take_units(in, kUnits, '\0');
}

struct CivilTime {
  date::year_month_day day;
  std::chrono::milliseconds of_day{0};
  std::optional<std::chrono::minutes> zone;  ///< east of UTC; nullopt = local
};

bool take_day(Cursor& in, CivilTime& out) {
  const int year = in.take_number(4);
  if (year < 0 || !in.take('-')) return false;
  const int month = in.take_number(2);
  if (month < 0 || !in.take('-')) return false;
  const int day = in.take_number(2);
  if (day < 0) return false;
  out.day = date::year{year} / date::month{static_cast<unsigned>(month)} /
            date::day{static_cast<unsigned>(day)};
  return out.day.ok();
}

bool take_clock(Cursor& in, CivilTime& out) {
  const int hour = in.take_number(2);
  if (hour < 0 || hour > 23 || !in.take(':')) return false;
  const int minute = in.take_number(2);
  if (minute < 0 || minute > 59) return false;
  int second = 0;
  std::int64_t fraction_ms = 0;
  if (in.take(':')) {
    second = in.take_number(2);
    if (second < 0 || second > 59) return false;
    if (in.take('.')) {
      const std::string_view digits = in.take_digits();
      if (digits.empty()) return false;
      fraction_ms = scaled("0", digits, kSecondMs).value_or(0);
    }
  }
  out.of_day = std::chrono::hours{hour} + std::chrono::minutes{minute} +
               std::chrono::seconds{second} + std::chrono::milliseconds{fraction_ms};
  return true;
}

bool take_zone(Cursor& in, CivilTime& out) {
  if (in.done()) return true;
  if (in.take('Z') || in.take('z')) {
    out.zone = std::chrono::minutes{0};
    return true;
  }
  const bool west = in.peek() == '-';
  if (!in.take('+') && !in.take('-')) return false;
  const int hours = in.take_number(2);
  if (hours < 0 || hours > 23) return false;
  int minutes = 0;
  if (in.take(':') || !in.done()) {
    minutes = in.take_number(2);
    if (minutes < 0 || minutes > 59) return false;
  }
  const std::chrono::minutes east = std::chrono::hours{hours} + std::chrono::minutes{minutes};
  out.zone = west ? -east : east;
  return true;
}

/// A whole civil time, or nullopt.
std::optional<CivilTime> civil_time(std::string_view text) {
  Cursor in(text);
  CivilTime out;
  if (!take_day(in, out)) return std::nullopt;
  if (in.done()) return out;
  if (!in.take('T') && !in.take('t') && !in.take(' ')) return std::nullopt;
  if (!take_clock(in, out) || !take_zone(in, out) || !in.done()) return std::nullopt;
  return out;
}

/// By the rules of the local zone; nullopt where mktime(3) cannot tell.
std::optional<std::int64_t> local_ms(const CivilTime& t) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(t.of_day);
  std::tm tm{};
  tm.tm_year = static_cast<int>(t.day.year()) - 1900;
  tm.tm_mon = static_cast<int>(static_cast<unsigned>(t.day.month())) - 1;
  tm.tm_mday = static_cast<int>(static_cast<unsigned>(t.day.day()));
  tm.tm_hour = static_cast<int>(seconds.count() / 3600);
  tm.tm_min = static_cast<int>(seconds.count() / 60 % 60);
  tm.tm_sec = static_cast<int>(seconds.count() % 60);
  tm.tm_isdst = -1;
  tm.tm_wday = -1;  // mktime sets it, and only when it succeeds: -1 seconds is a valid time
  const std::time_t at = std::mktime(&tm);
  if (tm.tm_wday < 0) return std::nullopt;
  return std::int64_t{at} * kSecondMs + (t.of_day - seconds).count();
}

std::optional<std::int64_t> epoch_ms(const CivilTime& t) {
  if (!t.zone) return local_ms(t);
  const auto at = date::sys_days{t.day} + t.of_day - *t.zone;
  return std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
}

/// The local day that is `days_back` before that of `now`.
std::optional<date::sys_days> local_day(TimestampMs now, int days_back) {
  const std::time_t seconds = static_cast<std::time_t>(now.value() / kSecondMs);
  std::tm tm{};
  if (localtime_r(&seconds, &tm) == nullptr) return std::nullopt;
  const date::year_month_day today = date::year{tm.tm_year + 1900} /
                                     date::month{static_cast<unsigned>(tm.tm_mon + 1)} /
                                     date::day{static_cast<unsigned>(tm.tm_mday)};
  return date::sys_days{today} - date::days{days_back};
}

/// `WORD`, which is midnight, or `WORD 14:00` for a time of that local day.
std::optional<std::int64_t> time_of_day(std::string_view text, std::string_view word, int days_back,
                                        TimestampMs now) {
  if (!text.starts_with(word)) return std::nullopt;
  text.remove_prefix(word.size());
  if (!text.empty() && text.front() != ' ' && text.front() != 'T') return std::nullopt;
  const auto day = local_day(now, days_back);
  if (!day) return std::nullopt;
  CivilTime out;
  out.day = *day;
  if (text.empty()) return epoch_ms(out);
  Cursor in(text.substr(1));
  if (!take_clock(in, out) || !take_zone(in, out) || !in.done()) return std::nullopt;
  return epoch_ms(out);
}

std::optional<std::int64_t> time_ms(std::string_view text, TimestampMs now) {
  if (text == "now") return now.value();
  if (const auto at = time_of_day(text, "today", 0, now)) return at;
  if (const auto at = time_of_day(text, "yesterday", 1, now)) return at;
  if (all_digits(text)) {
    if (text.size() == kMillisDigits) return to_int64(text);
    if (text.size() <= kSecondsDigitsMax) return scaled(text, "", kSecondMs);
    return std::nullopt;
  }
  Cursor in(text);
  const std::string_view whole = in.take_digits();
  if (!whole.empty() && whole.size() <= kSecondsDigitsMax && in.take('.') && all_digits(in.rest()))
    return scaled(whole, in.rest(), kSecondMs);
  if (const std::optional<CivilTime> civil = civil_time(text)) return epoch_ms(*civil);
  if (const std::optional<std::int64_t> back = duration_ms(text)) return now.value() - *back;
  return std::nullopt;
}

Result<> add_partitions(std::string_view item, std::string_view text,
                        std::vector<PartitionId>& out) {
  const std::size_t dash = item.find('-');
  const std::optional<std::int64_t> first = to_int64(item.substr(0, dash));
  const std::optional<std::int64_t> last =
      dash == std::string_view::npos ? first : to_int64(item.substr(dash + 1));
  if (!first || !last || *first > *last || *last > std::numeric_limits<std::int32_t>::max())
    return fail(Errc::kUsage, fmt::format("partitions {}: {} is neither a number nor a range; "
                                          "accepted are lists like 0,2,4-7",
                                          in_quotes(text), in_quotes(item)));
  if (static_cast<std::size_t>(*last - *first) >= kPartitionListMax - out.size())
    return fail(Errc::kUsage,
                fmt::format("partitions {}: more than {}", in_quotes(text), kPartitionListMax));
  for (std::int64_t p = *first; p <= *last; ++p)
    out.emplace_back(static_cast<std::int32_t>(p));
  return {};
}

}  // namespace

Result<std::int64_t> parse_duration_ms(std::string_view text) {
  if (const std::optional<std::int64_t> ms = duration_ms(text)) return *ms;
  return fail(Errc::kUsage, fmt::format("{} is not a duration; accepted are 500ms, 30s, 5m, 6h, "
                                        "7d, 2w, sums like 1h30m, and ISO 8601 without years and "
                                        "months like PT6H",
                                        in_quotes(text)));
}

Result<std::int64_t> parse_size_bytes(std::string_view text) {
  static constexpr std::string_view kSuffixes = "kmgt";
  std::string_view digits = text;
  std::int64_t unit = 1;
  if (!digits.empty() && !is_digit(digits.back())) {
    const auto letter = static_cast<char>(digits.back() | 0x20);
    const std::size_t power = kSuffixes.find(letter);
    digits.remove_suffix(1);
    if (power == std::string_view::npos) digits = {};
    unit = power == std::string_view::npos ? 1 : std::int64_t{1} << (10 * (power + 1));
  }
  const std::optional<std::int64_t> n = to_int64(digits);
  std::int64_t bytes = 0;
  if (!n || __builtin_mul_overflow(*n, unit, &bytes))
    return fail(Errc::kUsage, fmt::format("{} is not a size; accepted are bytes like 4096, and "
                                          "64k, 10M, 1G, 1T in powers of 1024",
                                          in_quotes(text)));
  return bytes;
}

Result<TimestampMs> parse_time(std::string_view text, TimestampMs now) {
  const std::optional<std::int64_t> ms = time_ms(text, now);
  if (ms && *ms >= 0) return TimestampMs(*ms);
  if (ms) return fail(Errc::kUsage, fmt::format("time {} lies before 1970", in_quotes(text)));
  if (all_digits(text))
    return fail(Errc::kUsage,
                fmt::format("time {} has {} digits; accepted are up to 10 for seconds and 13 for "
                            "milliseconds since 1970",
                            in_quotes(text), text.size()));
  return fail(Errc::kUsage,
              fmt::format("{} is not a time; accepted are seconds or milliseconds since 1970, "
                          "2026-01-31, 2026-01-31T12:00[:00[.000]] with Z, +05:30 or nothing for "
                          "local time, now, today, yesterday, 'yesterday 14:00', and a "
                          "duration like 6h for that long ago",
                          in_quotes(text)));
}

Result<std::string> parse_delimiter(std::string_view text) {
  return unescape(text);
}

Result<std::vector<PartitionId>> parse_partitions(std::string_view text) {
  std::vector<PartitionId> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    TRY(add_partitions(text.substr(at, comma - at), text, out));
    at = comma + 1;
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Result<HeaderArgument> parse_header(std::string_view text) {
  const std::size_t at = text.find_first_of("=:");
  HeaderArgument out;
  out.name = text.substr(0, at);
  if (at != std::string_view::npos) out.value = text.substr(at + 1);
  if (out.name.empty())
    return fail(Errc::kUsage, fmt::format("header {} has no name; accepted are NAME=VALUE, "
                                          "NAME:VALUE, NAME= for an empty and NAME for a null "
                                          "value",
                                          in_quotes(text)));
  return out;
}

}  // namespace spool
