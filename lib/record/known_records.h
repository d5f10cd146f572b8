#pragma once
/// Takes apart the records of Kafka's own topics, for people to read: `__consumer_offsets`,
/// `__transaction_state` and `__cluster_metadata`. Types and fields that are not known are named by
/// number or left out, never an error.
///
/// `__consumer_offsets`: key int16 type, then fields; value int16 version, then fields.
/// `__transaction_state`: key int16 0, transactional id; value int16 version 0 or 1 (flexible).
/// `__cluster_metadata`: no key; value uvarint 1, uvarint type, uvarint version, a flexible body.
/// In flexible bodies lengths are uvarints of length + 1, and tagged fields end each struct.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace spool {

/// null, a number, text, or a list of numbers or texts.
using KnownValue = std::variant<std::nullptr_t, std::int64_t, std::string,
                                std::vector<std::int64_t>, std::vector<std::string>>;
using KnownFields = std::vector<std::pair<std::string, KnownValue>>;

struct KnownRecord {
  KnownFields key;    ///< empty where there is none
  KnownFields value;  ///< empty for null
  bool tombstone = false;
  bool complete = true;  ///< false: bytes ended within a field; what came before is there
};

/// nullopt where the bytes are not of that topic's format.
[[nodiscard]] std::optional<KnownRecord> known_record(std::string_view topic,
                                                      std::optional<std::string_view> key,
                                                      std::optional<std::string_view> value);

}  // namespace spool
