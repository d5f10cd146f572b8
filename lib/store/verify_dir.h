#pragma once
/// Checks the files of a log directory that belong to no partition, and gathers what they say of
/// the partitions. Takes no lock, writes nothing.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "log/epochs.h"
#include "log/finding.h"
#include "log/verify.h"
#include "store/store.h"

namespace spool {

/// An offset checkpoint of a broker: `TOPIC PARTITION OFFSET` a line. Errc::kCorrupt unless it is
/// as a broker writes it, to the byte.
using OffsetCheckpoint = std::map<std::pair<std::string, std::int32_t>, Offset>;
[[nodiscard]] Result<OffsetCheckpoint> parse_offset_checkpoint(std::string_view text,
                                                               const std::string& path);

class DirectoryCheck {
 public:
  explicit DirectoryCheck(Store& store) : store_(store), env_(store.env()) {}

  /// Reads and checks; to be called before the partitions are looked at.
  [[nodiscard]] Result<void> run();
  [[nodiscard]] const std::vector<Finding>& findings() const { return findings_; }
  /// All topics, by name. Where the list of topics is damaged, all that have folders, as foreign
  /// ones.
  [[nodiscard]] const std::vector<TopicInfo>& topics() const { return topics_; }

  [[nodiscard]] PartitionFacts facts(const TopicInfo& topic, PartitionId partition) const;

 private:
  [[nodiscard]] Result<void> read_topics();
  [[nodiscard]] Result<void> check_file(const std::string& name);
  [[nodiscard]] Result<void> check_checkpoint(const std::string& name, OffsetCheckpoint& into);
  [[nodiscard]] Result<std::optional<std::string>> read_small(const std::string& name) const;
  [[nodiscard]] std::optional<Uuid> topic_id(const TopicInfo& topic) const;

  Store& store_;
  const LogEnv& env_;
  std::vector<Finding> findings_;
  std::vector<TopicInfo> topics_;
  std::map<std::string, std::optional<Uuid>> ids_;  ///< of foreign topics
  OffsetCheckpoint recovery_points_;
  OffsetCheckpoint log_starts_;
  OffsetCheckpoint cleaned_;
  OffsetCheckpoint high_watermarks_;
  bool clean_stop_ = false;
};

}  // namespace spool
