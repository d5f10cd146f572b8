#pragma once
/// A log directory: its topics, ours (of the catalogue) and foreign (folders that a broker wrote),
/// and what appenders and readers need to work on them.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "io/dir_locks.h"
#include "io/fs.h"
#include "log/place.h"
#include "store/catalogue.h"

namespace spool {

struct TopicInfo {
  std::string name;
  std::optional<Uuid> id;
  std::vector<PartitionId> partitions;  ///< ascending; of a foreign topic those that have a folder
  bool ours = false;
  bool dense = false;
  TopicConfig config;  ///< of a foreign topic: nothing is known
};

/// 1 to 249 of [A-Za-z0-9._-], not "." or "..". Errc::kUsage otherwise.
[[nodiscard]] Result<void> check_topic_name(std::string_view name);
/// Whether a folder of this name is a partition: "TOPIC-N".
[[nodiscard]] bool is_partition_folder(std::string_view name);
/// Topics of brokers and clients themselves: __consumer_offsets and its like.
[[nodiscard]] inline bool is_internal_topic(std::string_view name) {
  return name.starts_with("__");
}

/// Thread-safe but for open and create.
class Store {
 public:
  struct Options {
    Fs& fs;
    Clock& clock;
    /// Says a sentence to the user; from any thread.
    std::function<void(const std::string&)> notice;
    std::string home;     ///< folders made below it are private; may be empty
    bool any_fs = false;  ///< write on file systems of several hosts too
    /// As LogEnv::stop, and as DirLocks' give_up.
    std::function<bool()> stop = {};
    std::function<bool()> give_up = {};
  };

  /// For reading; nothing is written, made or locked. Errc::kNotFound when the directory is
  /// missing.
  [[nodiscard]] static Result<std::unique_ptr<Store>> open(const Options& options,
                                                           const std::string& root);
  /// For writing. `make`: a missing directory is made, durably. Errc::kConflict on a file system
  /// that other hosts may write to at the same time.
  [[nodiscard]] static Result<std::unique_ptr<Store>> open_for_writing(const Options& options,
                                                                       const std::string& root,
                                                                       bool make);

  /// Errc::kNotFound for a topic that is neither in the catalogue nor a folder.
  [[nodiscard]] Result<TopicInfo> find_topic(const std::string& name);
  /// All, by name, internal ones too.
  [[nodiscard]] Result<std::vector<TopicInfo>> list_topics();
  /// Topics that have folders, all or `only` one; the catalogue is not looked at, and none of them
  /// counts as ours.
  [[nodiscard]] Result<std::vector<TopicInfo>> foreign_topics(const std::string* only);

  /// Durable on return; partition folders are made by whoever first appends. Errc::kExists when
  /// there is one, Errc::kConflict in a directory whose topics belong to a broker.
  [[nodiscard]] Result<TopicInfo> create_topic(const std::string& name, std::int32_t partitions,
                                               const TopicConfig& config);

  [[nodiscard]] PartitionPlace place(const TopicInfo& topic, PartitionId partition);
  [[nodiscard]] const LogEnv& env() const { return env_; }
  [[nodiscard]] const std::string& root() const { return env_.root; }
  [[nodiscard]] bool shared_host_fs() const { return shared_host_fs_; }

 private:
  Store(const Options& options, const std::string& root, const FileStat& st);
  [[nodiscard]] Result<void> check_new_name(const std::string& name,
                                            const std::vector<CatalogueEntry>& catalogue);

  std::unique_ptr<DirLocks> locks_;
  LogEnv env_;
  bool shared_host_fs_ = false;
};

inline constexpr std::int32_t kPartitionsMax = 100000;

}  // namespace spool
