#include "store/verify_dir.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "io/atomic_file.h"
#include "log/appender.h"

namespace spool {

namespace {

constexpr std::size_t kSmallFileBytesMax = std::size_t{64} << 20;

std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return line;
}

template <class T>
bool number(std::string_view text, T& out) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  return problem == std::errc() && end == text.data() + text.size() &&
         (text.size() == 1 || text.front() != '0');
}

/// Folders that a broker has put aside, by their ending.
bool put_aside(std::string_view name) {
  return name.ends_with("-delete") || name.ends_with("-stray") || name.ends_with("-future");
}

/// Files of the directory that have no checksum and no format of which a change could be told.
constexpr std::array<std::string_view, 6> kUncheckedFiles{".lock",           ".kafka_cleanshutdown",
                                                          "meta.properties", "bootstrap.checkpoint",
                                                          "spool.locks",     "spool.sock"};

}  // namespace

Result<OffsetCheckpoint> parse_offset_checkpoint(std::string_view text, const std::string& path) {
  OffsetCheckpoint out;
  if (text.empty()) return out;
  const auto bad = [&](int line) {
    return fail(Errc::kCorrupt, fmt::format("'{}' is malformed in line {}", path, line));
  };
  if (next_line(text) != "0") return bad(1);
  std::size_t count = 0;
  if (!number(next_line(text), count)) return bad(2);
  for (int line = 3; !text.empty(); ++line) {
    if (text.find('\n') == std::string_view::npos) return bad(line);
    std::string_view fields = next_line(text);
    const std::size_t second = fields.find(' ');
    const std::size_t third = fields.rfind(' ');
    std::int32_t partition = 0;
    std::int64_t offset = 0;
    if (second == std::string_view::npos || third <= second ||
        !check_topic_name(fields.substr(0, second)) ||
        !number(fields.substr(second + 1, third - second - 1), partition) || partition < 0 ||
        !number(fields.substr(third + 1), offset) || offset < 0)
      return bad(line);
    if (!out.emplace(std::pair(std::string(fields.substr(0, second)), partition), Offset(offset))
             .second)
      return bad(line);
  }
  if (out.size() != count) return bad(2);
  return out;
}

Result<std::optional<std::string>> DirectoryCheck::read_small(const std::string& name) const {
  auto text = read_file(env_.fs, join_path(env_.root, name), kSmallFileBytesMax);
  if (text) return std::optional(std::move(*text));
  if (text.error().code == Errc::kNotFound) return std::optional<std::string>();
  return fail(text.error());
}

Result<void> DirectoryCheck::run() {
  TRY_ASSIGN(auto entries, env_.fs.list(env_.root));
  std::sort(entries.begin(), entries.end(),
            [](const DirEntry& a, const DirEntry& b) { return a.name < b.name; });
  // First: a broker that is started now removes it before it writes.
  clean_stop_ = env_.fs.stat(join_path(env_.root, ".kafka_cleanshutdown")).has_value();
  TRY(read_topics());
  for (const DirEntry& e : entries) {
    if (!e.is_dir) {
      TRY(check_file(e.name));
      continue;
    }
    if (put_aside(e.name)) {
      findings_.push_back(
          note_on(join_path(env_.root, e.name), "a folder that a broker put aside; not checked"));
    } else if (!is_partition_folder(e.name)) {
      findings_.push_back(
          note_on(join_path(env_.root, e.name), "an unknown folder; a broker would not start"));
    }
  }
  return {};
}

Result<void> DirectoryCheck::read_topics() {
  auto topics = store_.list_topics();
  if (!topics && topics.error().code == Errc::kCorrupt) {
    findings_.push_back(damage_in(join_path(env_.root, "spool.topics"), topics.error().message()));
    topics = store_.topics_by_folder();
  }
  if (!topics) return fail(topics.error());
  topics_ = std::move(*topics);
  for (const TopicInfo& t : topics_)
    if (!t.ours) ids_[t.name] = topic_id(t);
  return {};
}

/// The id by the broker's metadata log; where there is none, the one that most partitions of a
/// foreign topic have; nullopt when none stands out.
std::optional<Uuid> DirectoryCheck::topic_id(const TopicInfo& topic) const {
  if (topic.config_known) return topic.id;
  std::map<std::string, int> votes;
  for (const PartitionId p : topic.partitions) {
    const auto id = read_topic_id(env_.fs, store_.place(topic, p).dir);
    if (id && *id) ++votes[(*id)->text()];
  }
  const auto most = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == votes.end()) return std::nullopt;
  // Of two that differ each may be the right one: then both are named.
  const auto rivals = std::count_if(votes.begin(), votes.end(),
                                    [&](const auto& v) { return v.second == most->second; });
  return rivals == 1 ? Uuid::parse(most->first) : Uuid();
}

PartitionFacts DirectoryCheck::facts(const TopicInfo& topic, PartitionId partition) const {
  const std::pair key(topic.name, partition.value());
  const auto find = [&](const OffsetCheckpoint& in) -> std::optional<Offset> {
    const auto found = in.find(key);
    if (found == in.end()) return std::nullopt;
    return found->second;
  };
  PartitionFacts out;
  // Policies change, and gaps stay: what the cleaner has been at counts too.
  const bool by_config = topic.config_known && topic.config.compacts();
  out.compacted =
      topic.ours ? !topic.dense
                 : by_config || find(cleaned_).has_value() || topic.name == "__consumer_offsets" ||
                       topic.name == "__transaction_state" || topic.name == "__share_group_state";
  out.clean_stop = clean_stop_ && !topic.ours;
  out.recovery_point = find(recovery_points_);
  out.log_start = find(log_starts_);
  if (topic.ours) {
    out.topic_id = topic.id;
  } else if (const auto id = ids_.find(topic.name); id != ids_.end()) {
    out.topic_id = id->second;
  }
  return out;
}

Result<void> DirectoryCheck::check_checkpoint(const std::string& name, OffsetCheckpoint& into) {
  TRY_ASSIGN(const auto text, read_small(name));
  if (!text) return {};
  auto parsed = parse_offset_checkpoint(*text, join_path(env_.root, name));
  if (parsed) {
    into = std::move(*parsed);
  } else {
    findings_.push_back(damage_in(join_path(env_.root, name), parsed.error().message()));
  }
  return {};
}

Result<void> DirectoryCheck::check_file(const std::string& name) {
  const std::string path = join_path(env_.root, name);
  if (name == "recovery-point-offset-checkpoint") return check_checkpoint(name, recovery_points_);
  if (name == "log-start-offset-checkpoint") return check_checkpoint(name, log_starts_);
  if (name == "cleaner-offset-checkpoint") return check_checkpoint(name, cleaned_);
  if (name == "replication-offset-checkpoint") return check_checkpoint(name, high_watermarks_);
  if (name == "spool.topics") return {};  // read_topics() did
  if (std::find(kUncheckedFiles.begin(), kUncheckedFiles.end(), name) != kUncheckedFiles.end())
    return {};
  if (name.ends_with(".tmp")) {
    findings_.push_back(note_on(path, "left by a process that died while it wrote a file"));
    return {};
  }
  if (!name.starts_with("spool.")) {
    findings_.push_back(note_on(path, "an unknown file; not checked"));
    return {};
  }
  TRY_ASSIGN(const auto text, read_small(name));
  // Files with a checksum end in a line of it.
  constexpr std::size_t kTailBytes = 22;
  if (text && text->size() >= kTailBytes &&
      text->substr(text->size() - kTailBytes).starts_with("xxh3 ") &&
      !without_checksum(*text, path))
    findings_.push_back(damage_in(path, "its checksum is wrong"));
  return {};
}

}  // namespace spool
