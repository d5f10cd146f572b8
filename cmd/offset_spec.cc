#include "offset_spec.h"

#include <charconv>

#include <fmt/format.h>

#include "escapes.h"
#include "values.h"

namespace spool {

namespace {

using Kind = Bound::Kind;

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t n = 0;
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

std::optional<Bound> offset_bound(std::string_view text) {
  if (text == "start" || text == "beginning" || text == "earliest" || text == "oldest")
    return Bound{Kind::kStart, 0};
  if (text == "end" || text == "latest" || text == "newest") return Bound{Kind::kEnd, 0};
  if (text.starts_with('+'))
    if (const auto n = number(text.substr(1))) return Bound{Kind::kFromStart, *n};
  if (text.starts_with('-'))
    if (const auto n = number(text.substr(1))) return Bound{Kind::kFromEnd, *n};
  if (const auto n = number(text)) return Bound{Kind::kOffset, *n};
  return std::nullopt;
}

std::optional<Bound> time_bound(std::string_view text, TimestampMs now) {
  if (text == "start" || text == "end") return offset_bound(text);
  if (text.starts_with('-')) text.remove_prefix(1);  // rpk writes "that long ago" so
  const auto time = parse_time(text, now);
  if (!time) return std::nullopt;
  return Bound{Kind::kTime, time->value()};
}

/// Splits at each ':' in turn until both sides make sense; times have colons of their own.
template <class Parse>
bool split_range(std::string_view text, const Parse& parse, OffsetSpec& out) {
  if (const auto whole = parse(text)) {
    out.from = whole;
    return true;
  }
  for (std::size_t at = text.find(':'); at != std::string_view::npos; at = text.find(':', at + 1)) {
    const std::string_view left = text.substr(0, at);
    std::string_view right = text.substr(at + 1);
    if (right.starts_with('@')) right.remove_prefix(1);
    if (left.empty() && right.empty()) continue;
    const auto from = left.empty() ? std::optional<Bound>() : parse(left);
    const auto until = right.empty() ? std::optional<Bound>() : parse(right);
    if ((!left.empty() && !from) || (!right.empty() && !until)) continue;
    out.from = from;
    out.until = until;
    return true;
  }
  return false;
}

}  // namespace

Result<OffsetSpec> parse_offset_spec(std::string_view text, TimestampMs now) {
  OffsetSpec out;
  std::string_view spec = text;
  if (const std::size_t equals = spec.find('='); equals != std::string_view::npos) {
    const auto p = number(spec.substr(0, equals));
    if (p && *p <= INT32_MAX) {
      out.partition = PartitionId(static_cast<std::int32_t>(*p));
      spec = spec.substr(equals + 1);
    }
  }
  if (spec == "stored")
    return fail(Errc::kUsage, "-o stored goes with a group, and none was given");
  if (spec.starts_with("s@") || spec.starts_with("e@")) {
    if (const auto ms = number(spec.substr(2))) {
      (spec.front() == 's' ? out.from : out.until) = Bound{Kind::kTime, *ms};
      return out;
    }
  } else if (spec.starts_with('@')) {
    const auto parse = [&](std::string_view t) { return time_bound(t, now); };
    if (spec.size() > 1 && split_range(spec.substr(1), parse, out)) return out;
  } else if (split_range(spec, offset_bound, out)) {
    return out;
  }
  return fail(
      Errc::kUsage,
      fmt::format("{} is no offset: start, end, N, -N, +N, N:M, :N, @TIME, @TIME:TIME, s@MS, e@MS, "
                  "or P= in front of one of these",
                  in_quotes(text)));
}

Result<Bound> parse_bound(std::string_view text, TimestampMs now) {
  if (text.starts_with('@')) {
    if (const auto time = time_bound(text.substr(1), now)) return *time;
  } else if (const auto offset = offset_bound(text)) {
    return *offset;
  } else if (const auto time = parse_time(text, now)) {
    return Bound{Kind::kTime, time->value()};
  }
  return fail(Errc::kUsage,
              fmt::format("{} is neither an offset nor a time (2026-01-31, 2026-01-31T14:00, "
                          "6h, @EPOCH)",
                          in_quotes(text)));
}

}  // namespace spool
