#pragma once
/// Where a partition lies and by which rules it is kept; what appenders and readers are opened
/// with.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/ids.h"
#include "base/uuid.h"
#include "io/dir_locks.h"
#include "io/fs.h"

namespace spool {

/// The configs that the log itself obeys. Kafka's names, units and defaults.
struct LogConfig {
  std::int64_t segment_bytes = std::int64_t{1} << 30;
  std::int64_t segment_ms = std::int64_t{7} * 24 * 3600 * 1000;
  std::int64_t segment_index_bytes = 10 << 20;
  std::int64_t index_interval_bytes = 4096;
  bool append_time = false;  ///< message.timestamp.type=LogAppendTime
};

struct PartitionPlace {
  std::string dir;  ///< the partition's folder
  std::string topic;
  PartitionId partition;
  std::optional<Uuid> topic_id;  ///< what partition.metadata must say; unset: not known
  bool ours = false;   ///< of our catalogue: the folder may be made, and repaired by our rules
  bool dense = false;  ///< ours and never compacted: offsets have no gaps
  LogConfig config;
  /// Asked before a missing folder is made: Errc::kDeleted when the catalogue does not have this
  /// topic id any more.
  std::function<Result<void>()> confirm;

  [[nodiscard]] std::string name() const { return topic + "-" + std::to_string(partition.value()); }
};

/// What every part of the log works with. Borrowed for the life of the user.
struct LogEnv {
  Fs& fs;
  Clock& clock;
  DirLocks& locks;
  std::string root;  ///< the log directory
  std::string boot_id;
  std::uint32_t file_mode = 0600;
  std::uint32_t dir_mode = 0700;
  /// Says a sentence to the user: something was cut, kept or is damaged. May be called from any
  /// thread that calls the log.
  std::function<void(const std::string&)> notice;
  /// Asked for each batch that a look-up passes: true ends it with Errc::kCancelled. May be empty;
  /// from any thread that calls the log.
  std::function<bool()> stop = {};

  /// Errc::kCancelled when `stop` says so.
  [[nodiscard]] Result<void> go_on() const {
    if (!stop || !stop()) return {};
    return fail(Errc::kCancelled, "'" + root + "': the search was stopped");
  }
};

}  // namespace spool
