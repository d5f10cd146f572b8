#pragma once
/// A log directory: its topics, ours (of the catalogue) and foreign (folders that a broker wrote),
/// and what appenders and readers need to work on them.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
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
#include "store/metadata_log.h"

namespace spool {

struct TopicInfo {
  std::string name;
  std::optional<Uuid> id;
  std::vector<PartitionId> partitions;  ///< ascending; of a foreign topic those that have a folder
  bool ours = false;
  bool dense = false;
  /// Ours, or foreign and told by the broker's metadata log. Else nothing is known, and nothing may
  /// be expired or compacted.
  bool config_known = false;
  TopicConfig config;
  std::map<PartitionId, MetadataPartition> replicas;  ///< as that log has them
};

/// What topics alter changes.
struct TopicChange {
  std::vector<std::pair<std::string, std::string>> set{};
  std::vector<std::string> erase{};          ///< back to the defaults
  std::optional<std::int32_t> partitions{};  ///< only grows
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
    /// Called with byte `topics` held when a topic of this name is gone, with its folders: forgets
    /// what is kept of it elsewhere, such as offsets of groups. Called again by the next change of
    /// the list of topics where it failed, or the process died in it.
    std::function<Result<void>(Store& store, const std::string& topic)> on_deleted = {};
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
  /// All that have folders, by name; the catalogue is not looked at, and none counts as ours.
  [[nodiscard]] Result<std::vector<TopicInfo>> topics_by_folder() {
    return foreign_topics(nullptr, Catalogue());
  }

  /// Durable on return; partition folders are made by whoever first appends. Errc::kExists when
  /// there is one, Errc::kConflict in a directory whose topics belong to a broker.
  [[nodiscard]] Result<TopicInfo> create_topic(const std::string& name, std::int32_t partitions,
                                               const TopicConfig& config);

  /// Whether create_topic() would refuse the name now.
  [[nodiscard]] Result<void> may_create(const std::string& name);

  /// Durable on return. The topic as it is then; with `dry_run` as it would be, and nothing is
  /// written. Processes that have the topic open keep the configs that they began with.
  /// Errc::kNotFound, Errc::kUsage for what does not fit, Errc::kConflict for a topic that is not
  /// of our catalogue.
  [[nodiscard]] Result<TopicInfo> alter_topic(const std::string& name, const TopicChange& change,
                                              bool dry_run);

  /// Deletes just this topic, not a later one of the same name. On return it is gone durably, and
  /// its folders are: renamed as Kafka does, each under its append byte, then removed; on_deleted
  /// was called. A folder with another id stays. Errc::kDeleted when somebody else was first,
  /// Errc::kConflict for a topic that is not of our catalogue; another error with the topic gone
  /// but something of it left, which the next change of the catalogue removes.
  [[nodiscard]] Result<void> delete_topic(const TopicInfo& topic);
  /// Errc::kConflict when delete_topic() would refuse.
  [[nodiscard]] Result<void> may_delete(const TopicInfo& topic);

  [[nodiscard]] PartitionPlace place(const TopicInfo& topic, PartitionId partition);
  [[nodiscard]] const LogEnv& env() const { return env_; }
  [[nodiscard]] const std::string& root() const { return env_.root; }
  [[nodiscard]] bool shared_host_fs() const { return shared_host_fs_; }

 private:
  Store(const Options& options, const std::string& root, const FileStat& st);
  struct Seen {
    Catalogue catalogue;
    std::vector<TopicInfo> foreign;  ///< by name
  };
  [[nodiscard]] Result<Seen> look(const std::string* only);
  [[nodiscard]] Result<std::vector<TopicInfo>> foreign_topics(const std::string* only,
                                                              const Catalogue& catalogue);
  [[nodiscard]] Result<void> check_new_name(const std::string& name, const Catalogue& catalogue);
  void add_metadata(TopicInfo& topic);
  [[nodiscard]] const MetadataImage* metadata();

  // For changes of the catalogue; all need byte `topics`.
  [[nodiscard]] Result<void> refuse_brokers_topics();
  [[nodiscard]] Result<void> check_growth(const CatalogueEntry& entry, std::int32_t partitions);
  [[nodiscard]] Result<void> write_catalogue_making_room(const Catalogue& catalogue,
                                                         const LeavingTopic& topic);
  void finish_leaving(Catalogue& catalogue, std::optional<Error>& problem);

  std::unique_ptr<DirLocks> locks_;
  LogEnv env_;
  bool shared_host_fs_ = false;
  std::function<Result<void>(Store&, const std::string&)> on_deleted_;
  std::mutex metadata_mutex_;  ///< guards both below
  bool metadata_read_ = false;
  std::optional<MetadataImage> metadata_;
};

/// An entry of the catalogue as a topic.
[[nodiscard]] TopicInfo topic_info(const CatalogueEntry& entry);

inline constexpr std::int32_t kPartitionsMax = 100000;

}  // namespace spool
