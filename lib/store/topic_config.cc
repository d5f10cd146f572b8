#include "store/topic_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/check.h"

namespace spool {
namespace {

constexpr std::array<std::string_view, 2> kPolicies{"compact", "delete"};
constexpr std::array<std::string_view, 6> kCompressionTypes{"uncompressed", "zstd", "lz4",
                                                            "snappy",       "gzip", "producer"};
constexpr std::array<std::string_view, 2> kTimestampTypes{"CreateTime", "LogAppendTime"};
constexpr std::string_view kLongMax = "9223372036854775807";

// Names, types, defaults and bounds are those of Kafka 4.3.1 (LogConfig, asked by a test program).
// Kafka takes internal.segment.bytes too; it is for its own tests, and unknown here.
constexpr std::array kDefs = std::to_array<TopicConfigDef>({
    {.name = "cleanup.policy",
     .type = ConfigType::kList,
     .preset = "delete",
     .broker_name = "log.cleanup.policy",
     .choices = kPolicies},
    {.name = "compression.gzip.level",
     .type = ConfigType::kInt,
     .preset = "-1",
     .broker_name = "compression.gzip.level",
     .min = 1,
     .max = 9,
     .also = -1},
    {.name = "compression.lz4.level",
     .type = ConfigType::kInt,
     .preset = "9",
     .broker_name = "compression.lz4.level",
     .min = 1,
     .max = 17},
    {.name = "compression.type",
     .type = ConfigType::kString,
     .preset = "producer",
     .broker_name = "compression.type",
     .choices = kCompressionTypes},
    {.name = "compression.zstd.level",
     .type = ConfigType::kInt,
     .preset = "3",
     .broker_name = "compression.zstd.level",
     .min = -131072,
     .max = 22},
    {.name = "delete.retention.ms",
     .type = ConfigType::kLong,
     .preset = "86400000",
     .broker_name = "log.cleaner.delete.retention.ms",
     .min = 0},
    {.name = "file.delete.delay.ms",
     .type = ConfigType::kLong,
     .preset = "60000",
     .broker_name = "log.segment.delete.delay.ms",
     .min = 0},
    {.name = "flush.messages",
     .type = ConfigType::kLong,
     .preset = kLongMax,
     .broker_name = "log.flush.interval.messages",
     .min = 1},
    {.name = "flush.ms",
     .type = ConfigType::kLong,
     .preset = kLongMax,
     .broker_name = "log.flush.interval.ms",
     .min = 0},
    {.name = "follower.replication.throttled.replicas",
     .type = ConfigType::kList,
     .use = ConfigUse::kReplicas},
    {.name = "index.interval.bytes",
     .type = ConfigType::kInt,
     .preset = "4096",
     .broker_name = "log.index.interval.bytes",
     .min = 0},
    {.name = "leader.replication.throttled.replicas",
     .type = ConfigType::kList,
     .use = ConfigUse::kReplicas},
    {.name = "local.retention.bytes",
     .type = ConfigType::kLong,
     .preset = "-2",
     .broker_name = "log.local.retention.bytes",
     .use = ConfigUse::kTiered,
     .min = -2},
    {.name = "local.retention.ms",
     .type = ConfigType::kLong,
     .preset = "-2",
     .broker_name = "log.local.retention.ms",
     .use = ConfigUse::kTiered,
     .min = -2},
    {.name = "max.compaction.lag.ms",
     .type = ConfigType::kLong,
     .preset = kLongMax,
     .broker_name = "log.cleaner.max.compaction.lag.ms",
     .min = 1},
    {.name = "max.message.bytes",
     .type = ConfigType::kInt,
     .preset = "1048588",
     .broker_name = "message.max.bytes",
     .min = 0},
    {.name = "message.timestamp.after.max.ms",
     .type = ConfigType::kLong,
     .preset = "3600000",
     .broker_name = "log.message.timestamp.after.max.ms",
     .min = 0},
    {.name = "message.timestamp.before.max.ms",
     .type = ConfigType::kLong,
     .preset = kLongMax,
     .broker_name = "log.message.timestamp.before.max.ms",
     .min = 0},
    {.name = "message.timestamp.type",
     .type = ConfigType::kString,
     .preset = "CreateTime",
     .broker_name = "log.message.timestamp.type",
     .choices = kTimestampTypes},
    {.name = "min.cleanable.dirty.ratio",
     .type = ConfigType::kDouble,
     .preset = "0.5",
     .broker_name = "log.cleaner.min.cleanable.ratio",
     .min = 0,
     .max = 1},
    {.name = "min.compaction.lag.ms",
     .type = ConfigType::kLong,
     .preset = "0",
     .broker_name = "log.cleaner.min.compaction.lag.ms",
     .min = 0},
    {.name = "min.insync.replicas",
     .type = ConfigType::kInt,
     .preset = "1",
     .broker_name = "min.insync.replicas",
     .use = ConfigUse::kReplicas,
     .min = 1},
    {.name = "preallocate",
     .type = ConfigType::kBoolean,
     .preset = "false",
     .broker_name = "log.preallocate",
     .use = ConfigUse::kNone},
    {.name = "remote.log.copy.disable",
     .type = ConfigType::kBoolean,
     .preset = "false",
     .use = ConfigUse::kTiered,
     .refuses_true = true},
    {.name = "remote.log.delete.on.disable",
     .type = ConfigType::kBoolean,
     .preset = "false",
     .use = ConfigUse::kTiered,
     .refuses_true = true},
    {.name = "remote.storage.enable",
     .type = ConfigType::kBoolean,
     .preset = "false",
     .use = ConfigUse::kTiered,
     .refuses_true = true},
    {.name = "retention.bytes",
     .type = ConfigType::kLong,
     .preset = "-1",
     .broker_name = "log.retention.bytes"},
    {.name = "retention.ms",
     .type = ConfigType::kLong,
     .preset = "604800000",
     .broker_name = "log.retention.ms",
     .min = -1},
    {.name = "segment.bytes",
     .type = ConfigType::kInt,
     .preset = "1073741824",
     .broker_name = "log.segment.bytes",
     .min = 1048576},  // KIP-1030
    {.name = "segment.index.bytes",
     .type = ConfigType::kInt,
     .preset = "10485760",
     .broker_name = "log.index.size.max.bytes",
     .min = 4},
    {.name = "segment.jitter.ms",
     .type = ConfigType::kLong,
     .preset = "0",
     .broker_name = "log.roll.jitter.ms",
     .min = 0},
    {.name = "segment.ms",
     .type = ConfigType::kLong,
     .preset = "604800000",
     .broker_name = "log.roll.ms",
     .min = 1},
    {.name = "unclean.leader.election.enable",
     .type = ConfigType::kBoolean,
     .preset = "false",
     .broker_name = "unclean.leader.election.enable",
     .use = ConfigUse::kReplicas},
});

constexpr bool by_name(const TopicConfigDef& a, const TopicConfigDef& b) {
  return a.name < b.name;
}
static_assert(std::is_sorted(kDefs.begin(), kDefs.end(), by_name));

/// Configs that topics had before Kafka 4.0, and what to say about them.
struct Removed {
  std::string_view name;
  std::string_view instead;
};
constexpr std::array<Removed, 3> kRemoved{{
    {"message.downconversion.enable", "records are never converted to older formats"},
    {"message.format.version", "there is one format"},
    {"message.timestamp.difference.max.ms",
     "use 'message.timestamp.before.max.ms' and 'message.timestamp.after.max.ms'"},
}};

/// Java's trim(): everything up to the blank.
std::string_view trim(std::string_view s) {
  const auto blank = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
  while (!s.empty() && blank(s.front()))
    s.remove_prefix(1);
  while (!s.empty() && blank(s.back()))
    s.remove_suffix(1);
  return s;
}

/// from_chars knows no leading plus, Java does.
std::string_view without_plus(std::string_view s) {
  if (s.size() > 1 && s[0] == '+' && s[1] != '-') s.remove_prefix(1);
  return s;
}

template <class T>
std::optional<T> parse(std::string_view text) {
  const std::string_view s = without_plus(trim(text));
  T value{};
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_integer(ConfigType type, std::string_view text) {
  if (type == ConfigType::kInt) {
    const std::optional<std::int32_t> value = parse<std::int32_t>(text);
    return value ? std::optional<std::int64_t>(*value) : std::nullopt;
  }
  return parse<std::int64_t>(text);
}

std::optional<double> parse_double(std::string_view text) {
  const std::optional<double> value = parse<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<bool> parse_boolean(std::string_view text) {
  std::string lower(trim(text));
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (lower == "true") return true;
  if (lower == "false") return false;
  return std::nullopt;
}

/// Nothing but blanks is the empty list; otherwise every comma separates, also at the ends.
std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> out;
  text = trim(text);
  if (text.empty()) return out;
  while (true) {
    const std::size_t comma = text.find(',');
    out.push_back(trim(text.substr(0, comma)));
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

bool is_digits(std::string_view s) {
  return !s.empty() && s.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "*", or PARTITION:BROKER entries; empty ones are allowed among them.
bool is_replica_list(std::string_view text) {
  if (trim(text) == "*") return true;
  return std::ranges::all_of(split_list(text), [](std::string_view entry) {
    const std::size_t colon = entry.find(':');
    return entry.empty() || (colon != std::string_view::npos && is_digits(entry.substr(0, colon)) &&
                             is_digits(entry.substr(colon + 1)));
  });
}

bool is_choice(const TopicConfigDef& def, std::string_view entry) {
  return std::ranges::find(def.choices, entry) != def.choices.end();
}

std::string quoted(std::string_view s) {
  return std::string("'").append(s).append("'");
}

std::string choice_list(const TopicConfigDef& def) {
  std::string out;
  for (const std::string_view choice : def.choices) {
    if (!out.empty()) out += ", ";
    out += choice;
  }
  return out;
}

tl::unexpected<Error> refuse(const TopicConfigDef& def, std::string_view value,
                             std::string_view reason) {
  return fail(Errc::kUsage, "topic config " + quoted(def.name) + ": " + quoted(value) + " " +
                                std::string(reason));
}

std::string bounds_text(const TopicConfigDef& def) {
  std::string out;
  if (def.max == std::numeric_limits<std::int64_t>::max())
    out = "is less than " + std::to_string(def.min);
  else
    out = "is not from " + std::to_string(def.min) + " to " + std::to_string(def.max);
  if (def.also) out += ", nor " + std::to_string(*def.also);
  return out;
}

Result<void> validate_integer(const TopicConfigDef& def, std::string_view value) {
  const std::optional<std::int64_t> n = parse_integer(def.type, value);
  if (!n)
    return refuse(def, value,
                  def.type == ConfigType::kInt ? "is not an integer of 32 bits"
                                               : "is not an integer of 64 bits");
  if ((*n < def.min || *n > def.max) && n != def.also) return refuse(def, value, bounds_text(def));
  return {};
}

Result<void> validate_value(const TopicConfigDef& def, std::string_view value) {
  switch (def.type) {
    case ConfigType::kInt:
    case ConfigType::kLong:
      return validate_integer(def, value);
    case ConfigType::kDouble: {
      const std::optional<double> n = parse_double(value);
      if (!n) return refuse(def, value, "is not a decimal number");
      if (*n < static_cast<double>(def.min) || *n > static_cast<double>(def.max))
        return refuse(def, value, bounds_text(def));
      return {};
    }
    case ConfigType::kBoolean: {
      const std::optional<bool> b = parse_boolean(value);
      if (!b) return refuse(def, value, "is neither true nor false");
      if (*b && def.refuses_true)
        return refuse(def, value, "cannot be had: spool has no tiered storage");
      return {};
    }
    case ConfigType::kString:
      if (!is_choice(def, trim(value)))
        return refuse(def, value, "is not one of " + choice_list(def));
      return {};
    case ConfigType::kList:
      if (def.choices.empty()) {
        if (is_replica_list(value)) return {};
        return refuse(def, value, "is neither '*' nor a list of PARTITION:BROKER");
      }
      for (const std::string_view entry : split_list(value))
        if (!is_choice(def, entry))
          return refuse(def, value, "is not a list of " + choice_list(def));
      return {};
  }
  CHECK(false);
}

/// Levenshtein's distance: single characters inserted, dropped or replaced.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

tl::unexpected<Error> unknown_name(std::string_view name) {
  const std::string about = "topic config " + quoted(name);
  for (const Removed& removed : kRemoved)
    if (removed.name == name)
      return fail(Errc::kUsage,
                  about + " is gone since Kafka 4.0: " + std::string(removed.instead));
  for (const TopicConfigDef& def : kDefs)
    if (!name.empty() && def.broker_name == name)
      return fail(Errc::kUsage, about + " is a broker's; a topic's is " + quoted(def.name));
  // The bound keeps the sizes of the table small, and a third wrong is no typing error any more.
  constexpr std::size_t kNameBytesMax = 64;
  if (name.size() <= kNameBytesMax) {
    const auto distance = [name](const TopicConfigDef& def) {
      return edit_distance(name, def.name);
    };
    const auto nearest = std::ranges::min_element(kDefs, {}, distance);
    if (distance(*nearest) * 3 <= nearest->name.size())
      return fail(Errc::kUsage,
                  about + " is unknown, the nearest known one is " + quoted(nearest->name));
  }
  return fail(Errc::kUsage, about + " is unknown");
}

}  // namespace

std::string_view config_type_name(ConfigType type) {
  switch (type) {
    case ConfigType::kBoolean:
      return "boolean";
    case ConfigType::kInt:
      return "int";
    case ConfigType::kLong:
      return "long";
    case ConfigType::kDouble:
      return "double";
    case ConfigType::kString:
      return "string";
    case ConfigType::kList:
      return "list";
  }
  CHECK(false);
}

std::span<const TopicConfigDef> topic_config_defs() {
  return kDefs;
}

const TopicConfigDef* find_topic_config(std::string_view name) {
  const auto at = std::ranges::lower_bound(kDefs, name, {}, &TopicConfigDef::name);
  return at != kDefs.end() && at->name == name ? &*at : nullptr;
}

Result<void> validate_topic_config(std::string_view name, std::string_view value) {
  const TopicConfigDef* def = find_topic_config(name);
  if (def == nullptr) return unknown_name(name);
  return validate_value(*def, value);
}

Result<void> TopicConfig::set(std::string_view name, std::string_view value) {
  TRY(validate_topic_config(name, value));
  keep(name, value);
  return {};
}

void TopicConfig::keep(std::string_view name, std::string_view value) {
  values_.insert_or_assign(std::string(name), std::string(value));
}

bool TopicConfig::erase(std::string_view name) {
  const auto at = values_.find(name);
  if (at == values_.end()) return false;
  values_.erase(at);
  return true;
}

Result<void> TopicConfig::validate() const {
  const std::int64_t min_ms = min_compaction_lag_ms();
  const std::int64_t max_ms = max_compaction_lag_ms();
  if (min_ms > max_ms)
    return fail(Errc::kUsage, "topic config 'min.compaction.lag.ms' (" + std::to_string(min_ms) +
                                  ") is more than 'max.compaction.lag.ms' (" +
                                  std::to_string(max_ms) + ")");
  return {};
}

std::optional<std::string_view> TopicConfig::text(std::string_view name) const {
  if (const auto at = values_.find(name); at != values_.end()) return at->second;
  if (const TopicConfigDef* def = find_topic_config(name)) return def->preset;
  return std::nullopt;
}

std::string_view TopicConfig::effective(std::string_view name) const {
  const TopicConfigDef* def = find_topic_config(name);
  CHECK(def != nullptr);
  const auto at = values_.find(name);
  if (at == values_.end() || !validate_value(*def, at->second)) return def->preset;
  return trim(at->second);
}

std::int64_t TopicConfig::number(std::string_view name) const {
  const std::optional<std::int64_t> value = parse_integer(ConfigType::kLong, effective(name));
  CHECK(value.has_value());
  return *value;
}

bool TopicConfig::has_policy(std::string_view policy) const {
  const std::vector<std::string_view> policies = split_list(effective("cleanup.policy"));
  return std::ranges::find(policies, policy) != policies.end();
}

std::int64_t TopicConfig::roll_ms() const {
  return compacts() ? std::min(segment_ms(), max_compaction_lag_ms()) : segment_ms();
}

std::optional<std::int64_t> TopicConfig::max_message_bytes() const {
  if (!is_set("max.message.bytes")) return std::nullopt;
  return number("max.message.bytes");
}

bool TopicConfig::log_append_time() const {
  return effective("message.timestamp.type") == "LogAppendTime";
}

std::optional<Codec> TopicConfig::compression_type() const {
  const std::string_view type = effective("compression.type");
  if (type == "uncompressed") return Codec::kNone;
  return codec_from_name(type);  // which knows no "producer"
}

int TopicConfig::compression_level(Codec codec) const {
  switch (codec) {
    case Codec::kGzip:
      return static_cast<int>(number("compression.gzip.level"));
    case Codec::kLz4:
      return static_cast<int>(number("compression.lz4.level"));
    case Codec::kZstd:
      return static_cast<int>(number("compression.zstd.level"));
    case Codec::kNone:
    case Codec::kSnappy:
      break;
  }
  return codec_levels(codec).preset;
}

double TopicConfig::min_cleanable_dirty_ratio() const {
  return parse_double(effective("min.cleanable.dirty.ratio")).value_or(0.5);
}

bool TopicConfig::unclean_leader_election() const {
  return parse_boolean(effective("unclean.leader.election.enable")).value_or(false);
}

}  // namespace spool
