#pragma once
/// A topic's configs under Kafka's names, with Kafka's defaults and limits (those of 4.3). Values
/// are kept as the text that was set.
///
/// As in Kafka, blanks around a value are ignored, integers are decimal, booleans are true or false
/// in any case, and lists are separated by commas. Narrower than Kafka: a double is plain decimal
/// (no NaN, no hexadecimal, no suffix). Wider: nothing.

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "record/compress.h"

namespace spool {

enum class ConfigType : std::uint8_t { kBoolean, kInt, kLong, kDouble, kString, kList };

/// What setting a config does here.
enum class ConfigUse : std::uint8_t {
  kLog,       ///< for the storage engine
  kReplicas,  ///< kept; matters only where partitions have replicas
  kTiered,    ///< kept; matters only with tiered storage, which spool does not have
  kNone,      ///< kept, without effect: spool never allocates a segment ahead of its records
};

/// One config that a topic may have.
struct TopicConfigDef {
  std::string_view name;
  ConfigType type = ConfigType::kString;
  std::string_view preset{};  ///< the default, as text
  std::string_view
      broker_name{};  ///< the broker's config for the default; empty when there is none
  ConfigUse use = ConfigUse::kLog;
  /// Bounds of numbers, both allowed.
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::optional<std::int64_t> also{};           ///< one more number, outside the bounds
  std::span<const std::string_view> choices{};  ///< of strings and list entries; case matters
  bool refuses_true = false;                    ///< asks for what spool cannot do
};

/// "boolean", "int", "long", "double", "string" or "list".
[[nodiscard]] std::string_view config_type_name(ConfigType type);

/// Every config, by name in ascending order.
[[nodiscard]] std::span<const TopicConfigDef> topic_config_defs();

/// nullptr for an unknown name.
[[nodiscard]] const TopicConfigDef* find_topic_config(std::string_view name);

/// Errc::kUsage with a message that names the config: unknown name (the message offers the nearest
/// one, or the topic's name of a broker config), malformed value, value out of bounds, or one that
/// asks for what spool cannot do.
[[nodiscard]] Result<void> validate_topic_config(std::string_view name, std::string_view value);

/// The configs that were set for one topic. The getters give Kafka's default where a config is not
/// set, or where a value that another program wrote does not fit. They parse at each call: the
/// storage engine reads them once per opened partition. Thread-safe as far as const.
class TopicConfig {
 public:
  using Values = std::map<std::string, std::string, std::less<>>;

  /// Validates, then sets or replaces.
  [[nodiscard]] Result<void> set(std::string_view name, std::string_view value);
  /// Sets what was stored before or by another program, without a look at it.
  void keep(std::string_view name, std::string_view value);
  /// Back to the default; false when it was not set.
  bool erase(std::string_view name);

  /// Rules between configs, for after the last set(): min.compaction.lag.ms is at most
  /// max.compaction.lag.ms. Errc::kUsage.
  [[nodiscard]] Result<void> validate() const;

  /// What was set, in the order of names.
  [[nodiscard]] const Values& values() const { return values_; }
  /// The text that was set, else the default's; nullopt for an unknown name that is not set.
  [[nodiscard]] std::optional<std::string_view> text(std::string_view name) const;
  [[nodiscard]] bool is_set(std::string_view name) const { return values_.contains(name); }

  // Segments.
  [[nodiscard]] std::int64_t segment_bytes() const { return number("segment.bytes"); }
  [[nodiscard]] std::int64_t segment_ms() const { return number("segment.ms"); }
  /// Data only: spool does not spread rolls over time.
  [[nodiscard]] std::int64_t segment_jitter_ms() const { return number("segment.jitter.ms"); }
  /// The age at which a segment is rolled: segment.ms, and with compaction no later than
  /// max.compaction.lag.ms, since the active segment is never compacted.
  [[nodiscard]] std::int64_t roll_ms() const;
  [[nodiscard]] std::int64_t segment_index_bytes() const { return number("segment.index.bytes"); }
  [[nodiscard]] std::int64_t index_interval_bytes() const { return number("index.interval.bytes"); }
  [[nodiscard]] std::int64_t flush_messages() const { return number("flush.messages"); }
  [[nodiscard]] std::int64_t flush_ms() const { return number("flush.ms"); }

  // What may be appended, and how it is stored.
  /// nullopt when not set: local commands have a limit of their own.
  [[nodiscard]] std::optional<std::int64_t> max_message_bytes() const;
  [[nodiscard]] bool log_append_time() const;
  [[nodiscard]] std::int64_t message_timestamp_before_max_ms() const {
    return number("message.timestamp.before.max.ms");
  }
  [[nodiscard]] std::int64_t message_timestamp_after_max_ms() const {
    return number("message.timestamp.after.max.ms");
  }
  /// nullopt = "producer": batches stay as they were sent.
  [[nodiscard]] std::optional<Codec> compression_type() const;
  /// The level for a codec: what is set, else the codec's default. A Compressor takes it.
  [[nodiscard]] int compression_level(Codec codec) const;

  // Retention. With neither compacts() nor deletes() everything stays.
  [[nodiscard]] bool compacts() const { return has_policy("compact"); }
  [[nodiscard]] bool deletes() const { return has_policy("delete"); }
  /// -1 = no limit.
  [[nodiscard]] std::int64_t retention_ms() const { return number("retention.ms"); }
  /// Negative = no limit; Kafka takes any negative number.
  [[nodiscard]] std::int64_t retention_bytes() const { return number("retention.bytes"); }
  [[nodiscard]] std::int64_t file_delete_delay_ms() const { return number("file.delete.delay.ms"); }

  // Compaction.
  [[nodiscard]] std::int64_t delete_retention_ms() const { return number("delete.retention.ms"); }
  [[nodiscard]] std::int64_t min_compaction_lag_ms() const {
    return number("min.compaction.lag.ms");
  }
  [[nodiscard]] std::int64_t max_compaction_lag_ms() const {
    return number("max.compaction.lag.ms");
  }
  [[nodiscard]] double min_cleanable_dirty_ratio() const;

  // Replicas.
  [[nodiscard]] std::int64_t min_insync_replicas() const { return number("min.insync.replicas"); }
  [[nodiscard]] bool unclean_leader_election() const;

  bool operator==(const TopicConfig&) const = default;

 private:
  /// The value that counts, without the blanks around it.
  [[nodiscard]] std::string_view effective(std::string_view name) const;
  [[nodiscard]] std::int64_t number(std::string_view name) const;
  [[nodiscard]] bool has_policy(std::string_view policy) const;

  Values values_;
};

}  // namespace spool
