#pragma once
/// The offset checkpoints of a directory, in Kafka's format: `log-start-offset-checkpoint`,
/// `recovery-point-offset-checkpoint` and their like. Text: line `0`, line COUNT, then COUNT lines
/// `TOPIC PARTITION OFFSET`, fields separated by white space.
///
/// The log start of a partition is the greater of its first segment's base and of what
/// log-start-offset-checkpoint says of it; a partition whose log start is its first segment's base
/// is not in there.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "io/fs.h"
#include "log/place.h"

namespace spool {

inline constexpr const char* kLogStartCheckpoint = "log-start-offset-checkpoint";

struct CheckpointEntry {
  std::string topic;
  PartitionId partition;
  Offset offset;
};

/// In the order of the file. A missing or empty file has none; Errc::kCorrupt for a malformed one.
[[nodiscard]] Result<std::vector<CheckpointEntry>> read_checkpoint(Fs& fs, const std::string& path);
[[nodiscard]] std::string format_checkpoint(const std::vector<CheckpointEntry>& entries);

/// The offset of one partition, or nullopt.
[[nodiscard]] Result<std::optional<Offset>> checkpoint_offset(Fs& fs, const std::string& path,
                                                              std::string_view topic,
                                                              PartitionId partition);

/// Says where the log of one partition starts; nullopt: at its first segment. Durable on return.
/// Needs byte `topics`: the file is the directory's.
[[nodiscard]] Result<void> set_log_start(const LogEnv& env, const std::string& topic,
                                         PartitionId partition, std::optional<Offset> start);

/// Takes a topic out of every checkpoint of the directory, so that a later one of that name does
/// not inherit them. Needs byte `topics`.
[[nodiscard]] Result<void> forget_topic(const LogEnv& env, const std::string& topic);

}  // namespace spool
