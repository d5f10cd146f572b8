#pragma once
/// What the options of produce mean, checked against each other before anything is read or written.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "batcher.h"
#include "framing.h"
#include "options.h"
#include "store/partitioner.h"
#include "store/topic_config.h"
#include "values.h"

namespace spool {

struct ProduceOptions {
  std::optional<std::string> topic;
  std::vector<std::string> files;
  FramingOptions framing;
  std::optional<std::string> key;
  std::vector<std::string> values;  ///< records that are given by --value
  bool read_input = true;
  bool one_tombstone = false;
  std::vector<HeaderArgument> headers;
  std::optional<PartitionId> partition;
  std::optional<PartitionerKind> partitioner;
  std::optional<TimestampMs> timestamp;
  std::optional<Codec> codec;
  std::optional<int> level;
  Fsync fsync = Fsync::kBatch;
  std::int64_t linger_ms = 0;
  std::size_t batch_bytes = Batcher::kBatchBytesDefault;
  std::optional<std::int64_t> count;
  std::optional<double> rate;  ///< records a second
  bool tee = false;
  bool report = false;
  std::string report_format = "%p %o";
  std::int32_t new_partitions = 1;
  bool create = true;
  TopicConfig new_config;

  /// Whether each line is a value and nothing else is to be looked at.
  [[nodiscard]] bool plain_lines() const {
    return framing.mode == FramingOptions::Mode::kDelimiter && framing.delimiter.size() == 1 &&
           !framing.key_delimiter && !framing.null_marker && !framing.tombstones && !key &&
           headers.empty() && !count && !rate && partitioner != PartitionerKind::kRoundRobin &&
           partitioner != PartitionerKind::kRandom;
  }
};

/// Errc::kUsage.
[[nodiscard]] Result<ProduceOptions> read_produce_options(const Args& args, TimestampMs now);

/// "K=V" into a config.
[[nodiscard]] Result<TopicConfig> read_topic_config(const std::vector<std::string>& pairs);
/// A whole number within bounds; Errc::kUsage names the option.
[[nodiscard]] Result<std::int64_t> read_number(std::string_view option, std::string_view text,
                                               std::int64_t min, std::int64_t max);

}  // namespace spool
