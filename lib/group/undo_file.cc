#include "group/undo_file.h"

#include <charconv>

#include <fmt/format.h>

#include "group/members_file.h"
#include "io/atomic_file.h"

namespace spool {

namespace {

constexpr std::string_view kFirstLine = "spool undo 1\n";

std::string hex(const std::string& bytes) {
  std::string out;
  for (const char c : bytes)
    out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}
std::string undo_path(const LogEnv& env, const std::string& group) {
  return join_path(env.root, "spool.undo." + hex(group_hash(group)));
}
std::string head_of(const std::string& group) {
  return fmt::format("{}group {}\n", kFirstLine, hex(group));
}

template <class T>
bool number(std::string_view text, T& out) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  return problem == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<OffsetsBefore> read_undo(const LogEnv& env, const std::string& group) {
  const std::string path = undo_path(env, group);
  const auto text = read_file(env.fs, path);
  if (!text && text.error().code == Errc::kNotFound)
    return fail(Errc::kNotFound, fmt::format("group '{}' was never reset here", group));
  if (!text) return fail(text.error());
  TRY_ASSIGN(std::string_view body, without_checksum(*text, path));
  const std::string head = head_of(group);
  if (!body.starts_with(head))
    return fail(Errc::kCorrupt, fmt::format("'{}' is not what a reset of this spool left", path));
  body.remove_prefix(head.size());
  OffsetsBefore out;
  while (!body.empty()) {
    const std::string_view line = body.substr(0, body.find('\n'));
    body.remove_prefix(std::min(body.size(), line.size() + 1));
    const std::size_t first = line.find(' ');
    const std::size_t second = line.rfind(' ');
    std::int32_t partition = 0;
    std::int64_t offset = 0;
    if (first == std::string_view::npos || second <= first ||
        !number(line.substr(first + 1, second - first - 1), partition))
      return fail(Errc::kCorrupt, fmt::format("'{}' does not parse", path));
    auto& entry = out[{std::string(line.substr(0, first)), PartitionId(partition)}];
    if (number(line.substr(second + 1), offset)) entry = Offset(offset);
  }
  return out;
}

Result<void> write_undo(const LogEnv& env, const std::string& group, const OffsetsBefore& before) {
  std::string body = head_of(group);
  for (const auto& [at, offset] : before)
    body += fmt::format("{} {} {}\n", at.topic, at.partition.value(),
                        offset ? std::to_string(offset->value()) : "-");
  return replace_file(env.fs, undo_path(env, group), with_checksum(std::move(body)), env.file_mode,
                      Durability::kNamed);
}

}  // namespace spool
