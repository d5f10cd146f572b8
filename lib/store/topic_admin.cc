/// What changes the catalogue: creating, altering and deleting topics.

#include <algorithm>

#include <fmt/format.h>

#include "log/appender.h"
#include "log/checkpoint.h"
#include "log/segment.h"
#include "store/internal_topics.h"
#include "store/store.h"

namespace spool {

namespace {

constexpr std::size_t kFolderNameMax = 255;
constexpr std::string_view kDeleteSuffix = "-delete";

std::string hex(const Uuid& id) {
  std::string out;
  for (const unsigned char byte : id.bytes())
    out += fmt::format("{:02x}", byte);
  return out;
}

/// As Kafka names the folder of a partition that is being deleted: the topic is cut so that the
/// name fits.
std::string delete_name(const std::string& topic, std::int32_t partition) {
  const std::string rest = fmt::format("-{}.{}{}", partition, hex(Uuid::random()), kDeleteSuffix);
  return topic.substr(0, kFolderNameMax - rest.size()) + rest;
}

std::string partition_dir(const LogEnv& env, const std::string& topic, std::int32_t partition) {
  return fmt::format("{}/{}-{}", env.root, topic, partition);
}

/// Whether the folder is there and this topic's. One without an id is too: its making was cut
/// short, or somebody put a .log there for this topic.
Result<bool> is_topics_folder(const LogEnv& env, const std::string& dir, const Uuid& id) {
  if (const auto there = env.fs.stat(dir); !there) {
    if (there.error().code == Errc::kNotFound) return false;
    return fail(there.error());
  }
  TRY_ASSIGN(const auto found, read_topic_id(env.fs, dir));
  return !found || *found == id;
}

Result<void> unlink_if_there(Fs& fs, const std::string& path) {
  auto gone = fs.unlink(path);
  if (!gone && gone.error().code == Errc::kNotFound) return {};
  return gone;
}

/// Removes a folder and its files. The one that says whose it is goes last, so that what a kill
/// leaves is still known.
Result<void> remove_folder(Fs& fs, const std::string& dir) {
  TRY_ASSIGN(const auto entries, fs.list(dir));
  for (const DirEntry& e : entries)
    if (!e.is_dir && e.name != kMetadataFile) TRY(unlink_if_there(fs, join_path(dir, e.name)));
  TRY(unlink_if_there(fs, join_path(dir, kMetadataFile)));
  return fs.remove_dir(dir);
}

/// Removes the folders on their way out that are this topic's, also those that somebody who died
/// has renamed.
Result<void> remove_renamed(const LogEnv& env, const LeavingTopic& topic) {
  TRY_ASSIGN(const auto entries, env.fs.list(env.root));
  const std::string_view prefix = std::string_view(topic.name).substr(0, kFolderNameMax / 2);
  for (const DirEntry& e : entries) {
    if (!e.is_dir || !e.name.ends_with(kDeleteSuffix) || !e.name.starts_with(prefix)) continue;
    const std::string dir = join_path(env.root, e.name);
    TRY_ASSIGN(const auto id, read_topic_id(env.fs, dir));
    // Without an id only what has nothing in it.
    if (id ? *id == topic.id : env.fs.list(dir).value_or(std::vector<DirEntry>(1)).empty())
      TRY(remove_folder(env.fs, dir));
  }
  return env.fs.sync_dir(env.root);
}

/// Renames the topic's folders away, each under its append byte, and removes them. The bytes are
/// taken where there is no folder too: somebody may be about to make it.
Result<void> remove_topic_folders(const LogEnv& env, const LeavingTopic& topic) {
  bool any = false;
  for (std::int32_t p = 0; p < topic.partitions; ++p) {
    TRY_ASSIGN(const auto byte, env.locks.lock_byte(DirLocks::append_name(topic.name, p)));
    const std::string dir = partition_dir(env, topic.name, p);
    TRY_ASSIGN(const bool mine, is_topics_folder(env, dir, topic.id));
    if (!mine) continue;
    TRY(env.fs.rename(dir, join_path(env.root, delete_name(topic.name, p))));
    any = true;
  }
  if (any) TRY(env.fs.sync_dir(env.root));
  return remove_renamed(env, topic);
}

/// Indexes are hints: on a full disk those of a topic that is deleted make room for the catalogue
/// without it.
Result<void> drop_indexes(const LogEnv& env, const LeavingTopic& topic) {
  for (std::int32_t p = 0; p < topic.partitions; ++p) {
    TRY_ASSIGN(const auto byte, env.locks.lock_byte(DirLocks::append_name(topic.name, p)));
    const std::string dir = partition_dir(env, topic.name, p);
    TRY_ASSIGN(const bool mine, is_topics_folder(env, dir, topic.id));
    if (!mine) continue;
    TRY_ASSIGN(const PartitionFiles files, list_partition(env.fs, dir));
    for (const Offset base : files.segments)
      for (const char* suffix : {kIndexSuffix, kTimeIndexSuffix})
        TRY(unlink_if_there(env.fs, segment_path(dir, base, suffix)));
  }
  return {};
}

tl::unexpected<Error> not_ours(const std::string& name, const char* what) {
  return fail(Errc::kConflict,
              fmt::format("topic '{}' is not in the catalogue of this directory: its folders came "
                          "from elsewhere, and are not {}",
                          name, what));
}

}  // namespace

Result<void> Store::refuse_brokers_topics() {
  if (!has_metadata_log(env_.fs, env_.root)) return {};
  return fail(
      Errc::kConflict,
      fmt::format("the topics of '{}' belong to the Kafka broker that wrote it", env_.root));
}

/// Tries to remove what deleted topics left behind; those for which it works are struck from the
/// list.
void Store::finish_leaving(Catalogue& catalogue, std::optional<Error>& problem) {
  const auto done = [&](const LeavingTopic& topic) {
    auto gone = remove_topic_folders(env_, topic);
    const bool again = find_entry(catalogue, topic.name).found;
    if (gone && !again) gone = forget_topic(env_, topic.name);
    if (gone && !again && on_deleted_) gone = on_deleted_(*this, topic.name);
    if (!gone && !problem) problem = gone.error();
    return gone.has_value();
  };
  catalogue.leaving.erase(std::remove_if(catalogue.leaving.begin(), catalogue.leaving.end(), done),
                          catalogue.leaving.end());
}

Result<void> Store::check_new_name(const std::string& name, const Catalogue& catalogue) {
  TRY(check_creatable(name));
  const auto blurred = [](std::string n) {
    std::replace(n.begin(), n.end(), '.', '_');
    return n;
  };
  TRY_ASSIGN(const auto foreign, foreign_topics(nullptr, catalogue));
  std::vector<std::string> names;
  for (const CatalogueEntry& e : catalogue.topics)
    names.push_back(e.name);
  for (const TopicInfo& t : foreign)
    names.push_back(t.name);
  const std::string mine = blurred(name);
  for (const std::string& n : names) {
    if (n == name) return fail(Errc::kExists, fmt::format("topic '{}' exists already", name));
    if (blurred(n) == mine)
      return fail(
          Errc::kExists,
          fmt::format("topic '{}' differs from '{}' only in '.' and '_', which Kafka refuses", name,
                      n));
  }
  return {};
}

Result<void> Store::may_create(const std::string& name) {
  TRY(check_topic_name(name));
  TRY(refuse_brokers_topics());
  TRY_ASSIGN(const Catalogue catalogue, read_catalogue(env_.fs, env_.root));
  return check_new_name(name, catalogue);
}

Result<TopicInfo> Store::create_topic(const std::string& name, std::int32_t partitions,
                                      const TopicConfig& config) {
  TRY(check_topic_name(name));
  if (partitions < 1 || partitions > kPartitionsMax)
    return fail(Errc::kUsage,
                fmt::format("a topic has 1 to {} partitions, not {}", kPartitionsMax, partitions));
  TRY(config.validate());
  // Before anything is locked: that alone takes a broker's mark of a clean stop away.
  TRY(refuse_brokers_topics());
  TRY_ASSIGN(const auto operation, env_.locks.begin());
  TRY_ASSIGN(const auto byte, env_.locks.lock_byte("topics"));
  TRY_ASSIGN(Catalogue catalogue, read_catalogue(env_.fs, env_.root));
  std::optional<Error> problem;
  finish_leaving(catalogue, problem);
  TRY(check_new_name(name, catalogue));
  // What is left of an earlier topic of this name must not become part of the new one.
  if (problem && std::any_of(catalogue.leaving.begin(), catalogue.leaving.end(),
                             [&](const LeavingTopic& l) { return l.name == name; }))
    return fail(*problem);
  CatalogueEntry entry;
  entry.name = name;
  entry.id = Uuid::random();
  entry.partitions = partitions;
  entry.created = env_.clock.now();
  entry.config = config;
  entry.dense = !config.compacts();
  const auto at = static_cast<std::ptrdiff_t>(find_entry(catalogue, name).at);
  catalogue.topics.insert(catalogue.topics.begin() + at, entry);
  TRY(write_catalogue(env_.fs, env_.root, catalogue, env_.file_mode));
  return topic_info(entry);
}

Result<void> Store::check_growth(const CatalogueEntry& entry, std::int32_t partitions) {
  if (partitions < entry.partitions || partitions > kPartitionsMax)
    return fail(Errc::kUsage,
                fmt::format("topic '{}' has {} partitions, which can only grow, to {} "
                            "at most, not to {}",
                            entry.name, entry.partitions, kPartitionsMax, partitions));
  for (std::int32_t p = entry.partitions; p < partitions; ++p) {
    const std::string dir = partition_dir(env_, entry.name, p);
    if (!env_.fs.stat(dir)) continue;
    TRY_ASSIGN(const auto id, read_topic_id(env_.fs, dir));
    if (!id || *id != entry.id)
      return fail(Errc::kConflict,
                  fmt::format("'{}' is there already, and is not of topic '{}': move it away first",
                              dir, entry.name));
  }
  return {};
}

Result<TopicInfo> Store::alter_topic(const std::string& name, const TopicChange& change,
                                     bool dry_run) {
  TRY(check_topic_name(name));
  TRY(refuse_brokers_topics());
  TRY_ASSIGN(const auto operation, env_.locks.begin());
  TRY_ASSIGN(const auto byte, env_.locks.lock_byte("topics"));
  TRY_ASSIGN(Catalogue catalogue, read_catalogue(env_.fs, env_.root));
  const auto place = find_entry(catalogue, name);
  if (!place.found) {
    TRY_ASSIGN(const auto foreign, foreign_topics(&name, catalogue));
    if (!foreign.empty()) return not_ours(name, "altered");
    return fail(Errc::kNotFound, fmt::format("topic '{}' does not exist", name));
  }
  CatalogueEntry& entry = catalogue.topics[place.at];
  const CatalogueEntry before = entry;
  for (const std::string& config : change.erase)
    if (!entry.config.erase(config) && find_topic_config(config) == nullptr)
      return fail(Errc::kUsage, fmt::format("'{}' is no topic config", config));
  for (const auto& [config, value] : change.set)
    TRY(entry.config.set(config, value));
  TRY(entry.config.validate());
  if (change.partitions) {
    TRY(check_growth(entry, *change.partitions));
    entry.partitions = *change.partitions;
  }
  if (entry.config.compacts()) entry.dense = false;  // for ever: gaps stay
  const TopicInfo after = topic_info(entry);
  const bool same = entry.config == before.config && entry.partitions == before.partitions &&
                    entry.dense == before.dense;
  if (dry_run || same) return after;
  TRY(write_catalogue(env_.fs, env_.root, catalogue, env_.file_mode));
  return after;
}

Result<void> Store::may_delete(const TopicInfo& topic) {
  TRY(refuse_brokers_topics());
  if (!topic.ours) return not_ours(topic.name, "removed");
  return {};
}

Result<void> Store::write_catalogue_making_room(const Catalogue& catalogue,
                                                const LeavingTopic& topic) {
  auto written = write_catalogue(env_.fs, env_.root, catalogue, env_.file_mode);
  if (written || written.error().code != Errc::kNoSpace) return written;
  TRY(drop_indexes(env_, topic));
  return write_catalogue(env_.fs, env_.root, catalogue, env_.file_mode);
}

Result<void> Store::delete_topic(const TopicInfo& topic) {
  TRY(may_delete(topic));
  TRY_ASSIGN(const auto operation, env_.locks.begin());
  TRY_ASSIGN(const auto byte, env_.locks.lock_byte("topics"));
  TRY_ASSIGN(Catalogue catalogue, read_catalogue(env_.fs, env_.root));
  const auto place = find_entry(catalogue, topic.name);
  if (!place.found || catalogue.topics[place.at].id != topic.id)
    return fail(Errc::kDeleted, fmt::format("topic '{}' was deleted by somebody else", topic.name));
  const CatalogueEntry& entry = catalogue.topics[place.at];
  const LeavingTopic leaving{entry.name, entry.id, entry.partitions};
  catalogue.leaving.push_back(leaving);
  catalogue.topics.erase(catalogue.topics.begin() + static_cast<std::ptrdiff_t>(place.at));
  TRY(write_catalogue_making_room(catalogue, leaving));
  // From here on the topic is gone, whatever happens.
  std::optional<Error> problem;
  finish_leaving(catalogue, problem);
  auto written = write_catalogue(env_.fs, env_.root, catalogue, env_.file_mode);
  if (problem)
    return fail(Error{
        problem->code, problem->sys_errno,
        fmt::format("topic '{}' is deleted, but something of it is left, which the next change "
                    "of the topics removes: {}",
                    topic.name, problem->context)});
  // A line that says what is done already: the next change of the catalogue drops it.
  if (!written && written.error().code == Errc::kNoSpace) return {};
  return written;
}

}  // namespace spool
