#pragma once
/// What the options of consume mean, checked against each other before anything is read.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "group_options.h"
#include "offset_spec.h"
#include "options.h"

namespace spool {

struct HeaderFilter {
  std::string name;
  std::string glob;
};

struct ConsumeOptions {
  std::vector<std::string> topics;
  bool follow = false;
  bool retry = false;
  std::optional<std::int32_t> pid;
  std::optional<std::int64_t> tail;      ///< -n N
  std::optional<std::int64_t> from_nth;  ///< -n +N
  std::optional<std::int64_t> count;
  std::optional<Bound> from;
  std::optional<Bound> until;
  std::vector<OffsetSpec> for_partition;  ///< with a partition each
  std::optional<std::vector<PartitionId>> partitions;
  std::optional<std::string> format;
  bool json = false;
  std::string delimiter = "\n";
  std::optional<std::string> key_delimiter;
  std::string null_marker;
  std::optional<std::string> key_glob;
  std::vector<HeaderFilter> headers;
  std::optional<std::string> grep;
  bool read_committed = true;
  bool control = false;
  bool unbuffered = false;
  bool fail_empty = false;
  bool skip_damaged = false;
  bool raw = false;
  GroupOptions group;
};

/// Errc::kUsage.
[[nodiscard]] Result<ConsumeOptions> read_consume_options(const Args& args, TimestampMs now);

}  // namespace spool
