#include "offsets_file.h"

#include <charconv>

#include <fmt/format.h>

#include "io/atomic_file.h"
#include "store/store.h"

namespace spool {

namespace {

constexpr std::uint32_t kMode = 0644;

std::string_view next_word(std::string_view& line) {
  const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

template <class T>
bool number(std::string_view text, T& out) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  return problem == std::errc() && end == text.data() + text.size() && out >= 0 && !text.empty();
}

}  // namespace

std::optional<std::pair<TopicPartition, Offset>> parse_offset_line(std::string_view line) {
  const std::string topic(next_word(line));
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  if (!check_topic_name(topic) || !number(next_word(line), partition) ||
      !number(next_word(line), offset) || !next_word(line).empty())
    return std::nullopt;
  return std::pair(TopicPartition{topic, PartitionId(partition)}, Offset(offset));
}

Result<std::map<TopicPartition, Offset>> read_offsets_file(Fs& fs, const std::string& path) {
  std::map<TopicPartition, Offset> out;
  const auto text = read_file(fs, path);
  if (!text && text.error().code == Errc::kNotFound) return out;
  if (!text) return fail(text.error());
  std::string_view left = *text;
  for (int number_of_line = 1; !left.empty(); ++number_of_line) {
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(left.size(), line.size() + 1));
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos || line[first] == '#') continue;
    const auto parsed = parse_offset_line(line);
    if (!parsed)
      return fail(Errc::kInvalid, fmt::format("'{}', line {}: not a line TOPIC PARTITION OFFSET",
                                              path, number_of_line));
    out[parsed->first] = parsed->second;
  }
  return out;
}

Result<void> update_offsets_file(Fs& fs, const std::string& path,
                                 const std::map<TopicPartition, Offset>& changes) {
  TRY_ASSIGN(auto all, read_offsets_file(fs, path));
  for (const auto& [at, offset] : changes)
    all[at] = offset;
  std::string text;
  for (const auto& [at, offset] : all)
    text += fmt::format("{} {} {}\n", at.topic, at.partition.value(), offset.value());
  const auto there = fs.stat(path);
  return replace_file(fs, path, text, there ? there->mode : kMode, Durability::kNamed);
}

}  // namespace spool
