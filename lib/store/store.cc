#include "store/store.h"

#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/format.h>

#include "log/appender.h"

namespace spool {

namespace {

constexpr std::size_t kTopicNameMax = 249;
constexpr std::uint32_t kPrivateDirMode = 0700;

LogConfig log_config(const TopicConfig& c) {
  LogConfig out;
  out.segment_bytes = c.segment_bytes();
  out.segment_ms = c.roll_ms();
  out.segment_index_bytes = c.segment_index_bytes();
  out.index_interval_bytes = c.index_interval_bytes();
  out.append_time = c.log_append_time();
  return out;
}

}  // namespace

TopicInfo topic_info(const CatalogueEntry& e) {
  TopicInfo t;
  t.name = e.name;
  t.id = e.id;
  t.ours = t.config_known = true;
  t.dense = e.dense;
  t.config = e.config;
  for (std::int32_t p = 0; p < e.partitions; ++p)
    t.partitions.emplace_back(p);
  return t;
}

namespace {

/// "name-7" -> name, 7. Folders on their way out ("-delete", "-stray", "-future") are none.
bool split_folder(std::string_view folder, std::string& topic, std::int32_t& partition) {
  const std::size_t dash = folder.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return false;
  const std::string_view digits = folder.substr(dash + 1);
  const auto [end, problem] =
      std::from_chars(digits.data(), digits.data() + digits.size(), partition);
  if (problem != std::errc() || end != digits.data() + digits.size() || partition < 0) return false;
  if (digits.size() > 1 && digits.front() == '0') return false;
  topic = folder.substr(0, dash);
  return check_topic_name(topic).has_value();
}

/// Makes a directory and its missing parents, and syncs what names them.
Result<void> make_dirs(Fs& fs, const std::string& path, const std::string& home) {
  const std::string parent = parent_path(path);
  if (auto there = fs.stat(parent); !there) {
    if (there.error().code != Errc::kNotFound) return fail(there.error());
    TRY(make_dirs(fs, parent, home));
  }
  const bool is_private = !home.empty() && (path + "/").starts_with(home + "/");
  auto made = fs.make_dir(path, is_private ? kPrivateDirMode : 0);
  if (!made && made.error().code != Errc::kExists) return made;
  return fs.sync_dir(parent);
}

}  // namespace

Result<void> check_topic_name(std::string_view name) {
  const auto legal = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  if (!name.empty() && name.size() <= kTopicNameMax && name != "." && name != ".." &&
      std::all_of(name.begin(), name.end(), legal))
    return {};
  return fail(Errc::kUsage,
              fmt::format("'{}' is no topic name: 1 to {} of letters, digits, '.', '_' and "
                          "'-', and not '.' or '..'",
                          name, kTopicNameMax));
}

bool is_partition_folder(std::string_view name) {
  std::string topic;
  std::int32_t partition = 0;
  return split_folder(name, topic, partition);
}

Store::Store(const Options& options, const std::string& root, const FileStat& st)
    : locks_(std::make_unique<DirLocks>(options.fs, root, st.mode & 0666U, options.give_up)),
      env_{.fs = options.fs,
           .clock = options.clock,
           .locks = *locks_,
           .root = root,
           .boot_id = {},
           .file_mode = st.mode & 0666U,
           .dir_mode = st.mode & 07777U,
           .notice = options.notice,
           .stop = options.stop},
      on_deleted_(options.on_deleted) {}

Result<std::unique_ptr<Store>> Store::open(const Options& options, const std::string& root) {
  const auto st = options.fs.stat(root);
  if (!st && st.error().code == Errc::kNotFound)
    return fail(Errc::kNotFound, fmt::format("directory '{}' does not exist", root));
  if (!st) return fail(st.error());
  if (!st->is_dir) return fail(Errc::kNotFound, fmt::format("'{}' is not a directory", root));
  auto store = std::unique_ptr<Store>(new Store(options, root, *st));
  TRY_ASSIGN(const FsKind kind, options.fs.kind(root));
  store->shared_host_fs_ = kind.shared_host;
  return store;
}

Result<std::unique_ptr<Store>> Store::open_for_writing(const Options& options,
                                                       const std::string& root, bool make) {
  if (make) {
    const auto st = options.fs.stat(root);
    if (!st && st.error().code == Errc::kNotFound) TRY(make_dirs(options.fs, root, options.home));
  }
  TRY_ASSIGN(auto store, open(options, root));
  if (store->shared_host_fs_ && !options.any_fs) {
    TRY_ASSIGN(const FsKind kind, options.fs.kind(root));
    return fail(
        Errc::kConflict,
        fmt::format("'{}' is on {}, where other hosts can write at the same time: only reading is "
                    "safe (SPOOL_ANY_FS=1 if this host alone writes)",
                    root, kind.name));
  }
  TRY_ASSIGN(store->env_.boot_id, options.fs.boot_id());
  return store;
}

const MetadataImage* Store::metadata() {
  const std::lock_guard guard(metadata_mutex_);
  if (!metadata_read_) {
    metadata_read_ = true;
    auto read = read_metadata_log(env_);
    if (read) {
      metadata_ = std::move(*read);
    } else if (env_.notice) {
      env_.notice("the configs of the broker's topics are not known: " + read.error().message());
    }
  }
  return metadata_ ? &*metadata_ : nullptr;
}

/// What the broker's metadata log says of a foreign topic.
void Store::add_metadata(TopicInfo& topic) {
  const MetadataImage* image = metadata();
  const MetadataTopic* known = image != nullptr ? image->find(topic.name) : nullptr;
  // Another id: a folder that the broker does not take for this topic's either.
  if (known == nullptr || (topic.id && *topic.id != known->id)) return;
  topic.id = known->id;
  topic.config_known = true;
  topic.config = known->config;
  topic.replicas = known->partitions;
}

/// Topics that have folders; all, or one. Of the catalogue only those are looked at that are on
/// their way out: their folders are nobody's any more.
Result<std::vector<TopicInfo>> Store::foreign_topics(const std::string* only,
                                                     const Catalogue& catalogue) {
  TRY_ASSIGN(const auto entries, env_.fs.list(env_.root));
  std::map<std::string, TopicInfo> found;
  std::string topic;
  std::int32_t partition = 0;
  for (const DirEntry& e : entries) {
    if (!e.is_dir || !split_folder(e.name, topic, partition)) continue;
    if (only != nullptr && topic != *only) continue;
    const bool leaving =
        std::any_of(catalogue.leaving.begin(), catalogue.leaving.end(), [&](const LeavingTopic& l) {
          if (l.name != topic) return false;
          const auto id = read_topic_id(env_.fs, join_path(env_.root, e.name));
          return id && (!*id || **id == l.id);
        });
    if (leaving) continue;
    TopicInfo& t = found[topic];
    t.name = topic;
    t.partitions.emplace_back(partition);
  }
  std::vector<TopicInfo> out;
  for (auto& [name, t] : found) {
    std::sort(t.partitions.begin(), t.partitions.end());
    out.push_back(std::move(t));
  }
  return out;
}

/// The catalogue and the foreign topics of one moment: a folder that was made or removed between
/// the look at the one and the look at the others is nobody's foreign topic.
Result<Store::Seen> Store::look(const std::string* only) {
  constexpr int kAttempts = 100;
  Seen seen;
  TRY_ASSIGN(seen.catalogue, read_catalogue(env_.fs, env_.root));
  for (int attempt = 0;; ++attempt) {
    if (only != nullptr && find_entry(seen.catalogue, *only).found) return seen;
    TRY_ASSIGN(seen.foreign, foreign_topics(only, seen.catalogue));
    std::erase_if(seen.foreign,
                  [&](const TopicInfo& t) { return find_entry(seen.catalogue, t.name).found; });
    if (seen.foreign.empty() || attempt >= kAttempts) return seen;
    // Ids never come back, so that an equal list means that nothing changed in between.
    TRY_ASSIGN(Catalogue now, read_catalogue(env_.fs, env_.root));
    if (format_catalogue(now) == format_catalogue(seen.catalogue)) return seen;
    seen.catalogue = std::move(now);
  }
}

Result<TopicInfo> Store::find_topic(const std::string& name) {
  TRY(check_topic_name(name));
  TRY_ASSIGN(Seen seen, look(&name));
  const auto& catalogue = seen.catalogue;
  if (const auto place = find_entry(catalogue, name); place.found)
    return topic_info(catalogue.topics[place.at]);
  auto& foreign = seen.foreign;
  if (foreign.empty()) return fail(Errc::kNotFound, fmt::format("topic '{}' does not exist", name));
  TopicInfo topic = std::move(foreign.front());
  const auto first = place(topic, topic.partitions.front());
  TRY_ASSIGN(topic.id, read_topic_id(env_.fs, first.dir));
  add_metadata(topic);
  return topic;
}

Result<std::vector<TopicInfo>> Store::list_topics() {
  TRY_ASSIGN(Seen seen, look(nullptr));
  std::vector<TopicInfo> out = std::move(seen.foreign);
  for (TopicInfo& t : out)
    add_metadata(t);
  for (const CatalogueEntry& e : seen.catalogue.topics)
    out.push_back(topic_info(e));
  std::sort(out.begin(), out.end(),
            [](const TopicInfo& a, const TopicInfo& b) { return a.name < b.name; });
  return out;
}

PartitionPlace Store::place(const TopicInfo& topic, PartitionId partition) {
  PartitionPlace p;
  p.dir = fmt::format("{}/{}-{}", env_.root, topic.name, partition.value());
  p.topic = topic.name;
  p.partition = partition;
  p.topic_id = topic.id;
  p.ours = topic.ours;
  p.dense = topic.dense;
  p.config = log_config(topic.config);
  if (topic.ours) {
    p.confirm = [this, name = topic.name, id = *topic.id]() -> Result<void> {
      TRY_ASSIGN(const Catalogue catalogue, read_catalogue(env_.fs, env_.root));
      const auto at = find_entry(catalogue, name);
      if (at.found && catalogue.topics[at.at].id == id) return {};
      return fail(Errc::kDeleted, fmt::format("topic '{}' was deleted", name));
    };
  }
  return p;
}

}  // namespace spool
