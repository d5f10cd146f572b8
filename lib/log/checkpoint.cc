#include "log/checkpoint.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "io/atomic_file.h"

namespace spool {

namespace {

constexpr std::array kCheckpoints{kLogStartCheckpoint, "recovery-point-offset-checkpoint",
                                  "replication-offset-checkpoint", "cleaner-offset-checkpoint"};

constexpr std::string_view kBlanks = " \t\r";

/// The next line of `text`, without its end; cut off.
std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return line;
}

std::string_view next_field(std::string_view& line) {
  const std::size_t from = line.find_first_not_of(kBlanks);
  if (from == std::string_view::npos) {
    line = {};
    return {};
  }
  const std::size_t to = std::min(line.find_first_of(kBlanks, from), line.size());
  const std::string_view field = line.substr(from, to - from);
  line = line.substr(to);
  return field;
}

bool ended(std::string_view line) {
  return line.find_first_not_of(kBlanks) == std::string_view::npos;
}

template <class T>
bool number(std::string_view text, T& out) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  return problem == std::errc() && end == text.data() + text.size();
}

/// Calls `visit(topic, partition, offset)` for each entry; false for a malformed file.
template <class Visit>
bool parse(std::string_view text, const Visit& visit) {
  if (text.empty()) return true;
  std::string_view line = next_line(text);
  std::int32_t version = -1;
  if (!number(next_field(line), version) || version != 0 || !ended(line)) return false;
  line = next_line(text);
  std::size_t count = 0;
  if (!number(next_field(line), count) || !ended(line)) return false;
  std::size_t seen = 0;
  for (; !text.empty(); ++seen) {
    line = next_line(text);
    const std::string_view topic = next_field(line);
    std::int32_t partition = 0;
    std::int64_t offset = 0;
    if (topic.empty() || !number(next_field(line), partition) ||
        !number(next_field(line), offset) || !ended(line))
      return false;
    visit(topic, PartitionId(partition), Offset(offset));
  }
  return seen == count;
}

/// The text of a checkpoint file; empty where there is none.
Result<std::string> read_text(Fs& fs, const std::string& path) {
  auto text = read_file(fs, path);
  if (!text && text.error().code == Errc::kNotFound) return std::string();
  return text;
}

tl::unexpected<Error> malformed(const std::string& path) {
  return fail(Errc::kCorrupt, "'" + path + "' is malformed");
}

}  // namespace

Result<std::vector<CheckpointEntry>> read_checkpoint(Fs& fs, const std::string& path) {
  TRY_ASSIGN(const std::string text, read_text(fs, path));
  std::vector<CheckpointEntry> out;
  if (!parse(text, [&](std::string_view topic, PartitionId partition, Offset offset) {
        out.push_back({std::string(topic), partition, offset});
      }))
    return malformed(path);
  return out;
}

std::string format_checkpoint(const std::vector<CheckpointEntry>& entries) {
  std::string out = fmt::format("0\n{}\n", entries.size());
  for (const CheckpointEntry& e : entries)
    out += fmt::format("{} {} {}\n", e.topic, e.partition.value(), e.offset.value());
  return out;
}

Result<std::optional<Offset>> checkpoint_offset(Fs& fs, const std::string& path,
                                                std::string_view topic, PartitionId partition) {
  TRY_ASSIGN(const std::string text, read_text(fs, path));
  std::optional<Offset> found;
  if (!parse(text, [&](std::string_view t, PartitionId p, Offset offset) {
        if (p == partition && t == topic) found = offset;
      }))
    return malformed(path);
  return found;
}

Result<void> set_log_start(const LogEnv& env, const std::string& topic, PartitionId partition,
                           std::optional<Offset> start) {
  const std::string path = join_path(env.root, kLogStartCheckpoint);
  TRY_ASSIGN(auto entries, read_checkpoint(env.fs, path));
  const auto at = std::find_if(entries.begin(), entries.end(), [&](const CheckpointEntry& e) {
    return e.partition == partition && e.topic == topic;
  });
  if (at == entries.end()) {
    if (!start) return {};
    entries.push_back({topic, partition, *start});
  } else if (start) {
    if (at->offset == *start) return {};
    at->offset = *start;
  } else {
    entries.erase(at);
  }
  return replace_file(env.fs, path, format_checkpoint(entries), env.file_mode, Durability::kNamed);
}

Result<void> forget_topic(const LogEnv& env, const std::string& topic) {
  for (const char* name : kCheckpoints) {
    const std::string path = join_path(env.root, name);
    TRY_ASSIGN(auto entries, read_checkpoint(env.fs, path));
    const auto gone = std::remove_if(entries.begin(), entries.end(),
                                     [&](const CheckpointEntry& e) { return e.topic == topic; });
    if (gone == entries.end()) continue;
    entries.erase(gone, entries.end());
    TRY(replace_file(env.fs, path, format_checkpoint(entries), env.file_mode, Durability::kNamed));
  }
  return {};
}

}  // namespace spool
