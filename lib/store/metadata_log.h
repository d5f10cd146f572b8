#pragma once
/// The topics of a broker, from the metadata log that it keeps in `__cluster_metadata-0`: names,
/// ids, partitions and configs. Read only: that log belongs to the broker.
///
/// The newest snapshot that is whole (`<20 digits: end offset>-<10 digits: epoch>.checkpoint`),
/// then the records of the log behind its end. A record's value is
///
///   uvarint 1           frame version
///   uvarint TYPE        2 topic, 3 partition, 4 config, 5 partition change, 9 topic removed,
///                       12 feature level, 23 24 25 begin, end, abort of a transaction
///   uvarint VERSION
///   the fields, in Kafka's flexible encoding
///
/// All other types are skipped. Records between 23 and 24 count together or not at all.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/uuid.h"
#include "log/place.h"
#include "store/topic_config.h"

namespace spool {

class Fields;

struct MetadataPartition {
  std::vector<std::int32_t> replicas;
  std::vector<std::int32_t> isr;
  std::int32_t leader = -1;
  Epoch leader_epoch{-1};
};

struct MetadataTopic {
  Uuid id;
  std::map<PartitionId, MetadataPartition> partitions;
  TopicConfig config;
};

/// The state that the records make; not thread-safe.
class MetadataImage {
 public:
  /// Applies one record's value; false for one that does not read.
  [[nodiscard]] bool apply(std::string_view value);

  [[nodiscard]] const std::map<std::string, MetadataTopic, std::less<>>& topics() const {
    return topics_;
  }
  [[nodiscard]] const MetadataTopic* find(std::string_view name) const;
  /// Feature levels, such as metadata.version.
  [[nodiscard]] const std::map<std::string, std::int16_t>& features() const { return features_; }

 private:
  [[nodiscard]] bool apply_now(std::uint64_t type, Fields& in);
  [[nodiscard]] MetadataTopic* by_id(const Uuid& id);
  void add_topic(const std::string& name, const Uuid& id);
  void remove_topic(const Uuid& id);
  void set_config(const std::string& topic, const std::string& name,
                  const std::optional<std::string>& value);

  std::map<std::string, MetadataTopic, std::less<>> topics_;
  std::map<Uuid, std::string> names_;
  /// Configs may stand before their topic, and outlive it.
  std::map<std::string, TopicConfig, std::less<>> configs_;
  std::map<std::string, std::int16_t> features_;
  std::optional<std::vector<std::string>> transaction_;  ///< records since its begin
};

/// nullopt where the directory has no metadata log. Takes no lock; what a living broker has not
/// written yet is not in it. Errc::kCorrupt when neither snapshot nor log tells the whole state.
[[nodiscard]] Result<std::optional<MetadataImage>> read_metadata_log(const LogEnv& env);

/// Whether the topics of this directory belong to a broker's metadata log.
[[nodiscard]] bool has_metadata_log(Fs& fs, const std::string& root);

}  // namespace spool
