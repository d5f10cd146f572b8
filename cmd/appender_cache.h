#pragma once
/// The appenders of a command: a bounded number of partitions is open at a time, for each takes
/// three descriptors.

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "log/appender.h"
#include "store/store.h"

namespace spool {

/// Thread-safe.
class AppenderCache {
 public:
  /// `open_max` 0: by the limit of open files.
  explicit AppenderCache(Store& store, std::size_t open_max = 0);

  /// The appender of a partition; who has the pointer keeps it open. Where too many are, the one
  /// that was not used for the longest time is closed first; nullptr when all are in use. What was
  /// appended must be synced, where that is wanted, before the pointer is let go.
  [[nodiscard]] Result<std::shared_ptr<Appender>> get(const TopicInfo& topic,
                                                      PartitionId partition);
  /// Closes all; nobody may use one any more. The first error.
  [[nodiscard]] Result<void> close_all();

  [[nodiscard]] std::size_t open_max() const { return open_max_; }

 private:
  struct Entry {
    std::string name;
    std::shared_ptr<Appender> appender;
  };
  [[nodiscard]] std::shared_ptr<Appender> take_idle();

  Store& store_;
  const std::size_t open_max_;
  std::mutex mutex_;          ///< guards all below
  std::list<Entry> entries_;  ///< the one used last is at the end
  std::unordered_map<std::string, std::list<Entry>::iterator> by_name_;
};

}  // namespace spool
