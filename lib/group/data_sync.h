#pragma once
/// Before an offset is committed, the records below it must be on disk: else a power cut could take
/// records away that their consumer is said to have had, and their offsets would be given to
/// others.

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "log/place.h"

namespace spool {

/// Thread-safe.
class DataSync {
 public:
  explicit DataSync(const LogEnv& env) : env_(env) {}

  /// On return every record of the partition below `upto` is on disk. Costs nothing where that is
  /// known: from the recovery point, or from an earlier call. After a failure it fails for ever: a
  /// second sync that succeeds proves nothing.
  [[nodiscard]] Result<void> sync(const PartitionPlace& place, Offset upto);

 private:
  struct Known {
    Offset synced;
    std::optional<Error> failed;
  };

  const LogEnv& env_;
  std::mutex mutex_;
  std::map<std::string, Known> known_;  ///< by the partition's folder
};

}  // namespace spool
