#pragma once
/// A record as the input parsers of produce hand it over.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "record/record.h"

namespace spool {

/// Borrows from the input buffer or from the parser that filled it; each parser says how long.
struct ParsedRecord {
  std::optional<std::string_view> topic;  ///< nullopt = the input names none
  std::optional<std::string_view> key;    ///< nullopt = null
  std::optional<std::string_view> value;  ///< nullopt = null, a tombstone
  std::vector<HeaderView> headers;
  std::optional<PartitionId> partition;
  std::optional<TimestampMs> timestamp;  ///< kNoTimestamp when the input says -1
  bool value_given = false;              ///< false: the input has no value at all, not even a null

  /// Empties everything; keeps the capacity of `headers`.
  void clear() {
    topic = key = value = std::nullopt;
    headers.clear();
    partition.reset();
    timestamp.reset();
    value_given = false;
  }
};

}  // namespace spool
