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

TopicInfo from_entry(const CatalogueEntry& e) {
  TopicInfo t{e.name, e.id, {}, true, e.dense, e.config};
  for (std::int32_t p = 0; p < e.partitions; ++p)
    t.partitions.emplace_back(p);
  return t;
}

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
           .stop = options.stop} {}

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

Result<std::vector<TopicInfo>> Store::foreign_topics(const std::string* only) {
  TRY_ASSIGN(const auto entries, env_.fs.list(env_.root));
  std::map<std::string, TopicInfo> found;
  std::string topic;
  std::int32_t partition = 0;
  for (const DirEntry& e : entries) {
    if (!e.is_dir || !split_folder(e.name, topic, partition)) continue;
    if (only != nullptr && topic != *only) continue;
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

Result<TopicInfo> Store::find_topic(const std::string& name) {
  TRY(check_topic_name(name));
  TRY_ASSIGN(const auto catalogue, read_catalogue(env_.fs, env_.root));
  const auto entry =
      std::lower_bound(catalogue.begin(), catalogue.end(), name,
                       [](const CatalogueEntry& e, const std::string& n) { return e.name < n; });
  if (entry != catalogue.end() && entry->name == name) return from_entry(*entry);
  TRY_ASSIGN(auto foreign, foreign_topics(&name));
  if (foreign.empty()) return fail(Errc::kNotFound, fmt::format("topic '{}' does not exist", name));
  TopicInfo topic = std::move(foreign.front());
  const auto first = place(topic, topic.partitions.front());
  TRY_ASSIGN(topic.id, read_topic_id(env_.fs, first.dir));
  return topic;
}

Result<std::vector<TopicInfo>> Store::list_topics() {
  TRY_ASSIGN(const auto catalogue, read_catalogue(env_.fs, env_.root));
  TRY_ASSIGN(auto foreign, foreign_topics(nullptr));
  std::map<std::string, TopicInfo> all;
  for (TopicInfo& t : foreign)
    all[t.name] = std::move(t);
  for (const CatalogueEntry& e : catalogue)
    all[e.name] = from_entry(e);
  std::vector<TopicInfo> out;
  for (auto& [name, t] : all)
    out.push_back(std::move(t));
  return out;
}

Result<void> Store::check_new_name(const std::string& name,
                                   const std::vector<CatalogueEntry>& catalogue) {
  const auto blurred = [](std::string n) {
    std::replace(n.begin(), n.end(), '.', '_');
    return n;
  };
  TRY_ASSIGN(const auto foreign, foreign_topics(nullptr));
  std::vector<std::string> names;
  for (const CatalogueEntry& e : catalogue)
    names.push_back(e.name);
  for (const TopicInfo& t : foreign)
    names.push_back(t.name);
  for (const std::string& n : names) {
    if (n == name) return fail(Errc::kExists, fmt::format("topic '{}' exists already", name));
    if (blurred(n) == blurred(name))
      return fail(
          Errc::kExists,
          fmt::format("topic '{}' differs from '{}' only in '.' and '_', which Kafka refuses", name,
                      n));
  }
  return {};
}

Result<TopicInfo> Store::create_topic(const std::string& name, std::int32_t partitions,
                                      const TopicConfig& config) {
  TRY(check_topic_name(name));
  if (partitions < 1 || partitions > kPartitionsMax)
    return fail(Errc::kUsage,
                fmt::format("a topic has 1 to {} partitions, not {}", kPartitionsMax, partitions));
  TRY(config.validate());
  TRY_ASSIGN(const auto operation, env_.locks.begin());
  TRY_ASSIGN(const auto byte, env_.locks.lock_byte("topics"));
  if (env_.fs.stat(join_path(env_.root, "__cluster_metadata-0")))
    return fail(
        Errc::kConflict,
        fmt::format("the topics of '{}' belong to the Kafka broker that wrote it", env_.root));
  TRY_ASSIGN(auto catalogue, read_catalogue(env_.fs, env_.root));
  TRY(check_new_name(name, catalogue));
  CatalogueEntry entry;
  entry.name = name;
  entry.id = Uuid::random();
  entry.partitions = partitions;
  entry.created = env_.clock.now();
  entry.config = config;
  entry.dense = !config.compacts();
  const auto at =
      std::lower_bound(catalogue.begin(), catalogue.end(), name,
                       [](const CatalogueEntry& e, const std::string& n) { return e.name < n; });
  catalogue.insert(at, entry);
  TRY(write_catalogue(env_.fs, env_.root, catalogue, env_.file_mode));
  return from_entry(entry);
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
      TRY_ASSIGN(const auto catalogue, read_catalogue(env_.fs, env_.root));
      for (const CatalogueEntry& e : catalogue)
        if (e.name == name && e.id == id) return {};
      return fail(Errc::kDeleted, fmt::format("topic '{}' was deleted", name));
    };
  }
  return p;
}

}  // namespace spool
