#include "group/offset_snapshot.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "io/atomic_file.h"

namespace spool {

namespace {

constexpr const char* kSnapshotFile = "spool.offsets";
constexpr std::string_view kFirstLine = "spool offsets 1\n";
constexpr std::size_t kSnapshotBytesMax = std::size_t{4} << 30;

void put_u32(std::string& out, std::size_t n) {
  std::array<std::byte, 4> raw{};
  store_be(raw.data(), static_cast<std::uint32_t>(n));
  out += as_text(raw);
}
void put_text(std::string& out, std::string_view text) {
  put_u32(out, text.size());
  out += text;
}

/// A length and so many bytes behind `at`; false when they are not there.
bool get_text(std::string_view in, std::size_t& at, std::size_t& begin, std::size_t& size) {
  if (in.size() - at < 4) return false;
  size = load_be<std::uint32_t>(as_bytes(in).data() + at);
  begin = at + 4;
  if (size > in.size() - begin) return false;
  at = begin + size;
  return true;
}

void pack_entries(const GroupEntries::Entries& entries, std::string& out) {
  for (const auto& [key, entry] : entries) {
    put_text(out, key);
    put_text(out, entry.value);
    std::array<std::byte, 8> raw{};
    store_be(raw.data(), entry.record.value());
    out += as_text(raw);
  }
}

}  // namespace

Result<GroupEntries> GroupEntries::parse(std::string packed) {
  GroupEntries out;
  out.packed_ = std::move(packed);
  const std::string_view in = out.packed_;
  for (std::size_t at = 0; at < in.size();) {
    Packed p;
    if (!get_text(in, at, p.name, p.name_size) || !get_text(in, at, p.entries, p.entries_size) ||
        (!out.index_.empty() && out.name_of(p) <= out.name_of(out.index_.back())))
      return fail(Errc::kCorrupt, "the snapshot of committed offsets does not parse");
    out.index_.push_back(p);
  }
  return out;
}

const GroupEntries::Packed* GroupEntries::find_packed(std::string_view group) const {
  const auto at =
      std::lower_bound(index_.begin(), index_.end(), group,
                       [&](const Packed& p, std::string_view name) { return name_of(p) < name; });
  return at != index_.end() && name_of(*at) == group ? &*at : nullptr;
}

bool GroupEntries::unpack(const Packed& p, Group& out) const {
  const std::string_view in = std::string_view(packed_).substr(p.entries, p.entries_size);
  for (std::size_t at = 0; at < in.size();) {
    std::size_t key = 0;
    std::size_t key_size = 0;
    std::size_t value = 0;
    std::size_t value_size = 0;
    if (!get_text(in, at, key, key_size) || !get_text(in, at, value, value_size) ||
        in.size() - at < 8)
      return false;
    const Offset record(load_be<std::int64_t>(as_bytes(in).data() + at));
    at += 8;
    out.entries.emplace_hint(out.entries.end(), std::string(in.substr(key, key_size)),
                             GroupEntry{std::string(in.substr(value, value_size)), record});
    out.last = std::max(out.last, record);
  }
  return true;
}

GroupEntries::Group* GroupEntries::find(std::string_view group) {
  if (const auto known = groups_.find(group); known != groups_.end()) return &known->second;
  const Packed* p = find_packed(group);
  if (p == nullptr) return nullptr;
  Group& out = groups_[std::string(group)];
  // The checksum has vouched for the bytes; what does not parse all the same is left out.
  (void)unpack(*p, out);
  return &out;
}

GroupEntries::Group& GroupEntries::get(std::string_view group) {
  if (Group* known = find(group)) return *known;
  return groups_[std::string(group)];
}

RecentEntries::Place& RecentEntries::at(std::string_view key) {
  if (places_.empty()) places_.resize(kPlaces);
  return places_[XXH3_64bits(key.data(), key.size()) % kPlaces];
}

void RecentEntries::forget(std::string_view key) {
  Place& place = at(key);
  if (place.key == key) place = {};
}

std::vector<std::string> GroupEntries::names() {
  std::vector<std::string> out;
  for (const Packed& p : index_)
    if (!groups_.contains(name_of(p)) && p.entries_size > 0) out.emplace_back(name_of(p));
  for (const auto& [name, group] : groups_)
    if (!group.entries.empty()) out.push_back(name);
  std::sort(out.begin(), out.end());
  return out;
}

std::string GroupEntries::pack() const {
  std::string out;
  std::string entries;
  auto packed = index_.begin();
  auto loose = groups_.begin();
  while (packed != index_.end() || loose != groups_.end()) {
    const bool take_loose =
        packed == index_.end() || (loose != groups_.end() && loose->first <= name_of(*packed));
    if (take_loose) {
      if (packed != index_.end() && name_of(*packed) == loose->first) ++packed;
      if (!loose->second.entries.empty()) {
        entries.clear();
        pack_entries(loose->second.entries, entries);
        put_text(out, loose->first);
        put_text(out, entries);
      }
      ++loose;
    } else {
      put_text(out, name_of(*packed));
      put_text(out, std::string_view(packed_).substr(packed->entries, packed->entries_size));
      ++packed;
    }
  }
  return out;
}

namespace {

/// The line at the front of `in`, without its end; what is behind stays.
std::string_view take_line(std::string_view& in) {
  const std::size_t end = in.find('\n');
  const std::string_view line = in.substr(0, end);
  in.remove_prefix(end == std::string_view::npos ? in.size() : end + 1);
  return line;
}

template <class T>
bool take_number(std::string_view& line, T& out) {
  const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), out);
  if (problem != std::errc()) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (line.starts_with(' ')) line.remove_prefix(1);
  return true;
}

std::optional<OffsetSnapshot> parse_snapshot_file(std::string_view in) {
  constexpr std::string_view kTopic = "topic ";
  constexpr std::string_view kPartition = "partition ";
  OffsetSnapshot out;
  if (!in.starts_with(kFirstLine)) return std::nullopt;
  in.remove_prefix(kFirstLine.size());
  const std::string_view topic = take_line(in);
  if (!topic.starts_with(kTopic)) return std::nullopt;
  out.topic_id = topic.substr(kTopic.size());
  while (!in.empty()) {
    std::string_view line = take_line(in);
    if (!line.starts_with(kPartition)) return std::nullopt;
    line.remove_prefix(kPartition.size());
    std::int32_t partition = 0;
    std::int64_t upto = 0;
    std::int64_t base = 0;
    std::size_t bytes = 0;
    OffsetSnapshot::Part part;
    if (!take_number(line, partition) || !take_number(line, upto) || !take_number(line, base) ||
        !take_number(line, part.mark.batch_crc) || !take_number(line, bytes) || !line.empty() ||
        bytes >= in.size())
      return std::nullopt;
    part.mark.upto = Offset(upto);
    part.mark.batch_base = Offset(base);
    part.packed = in.substr(0, bytes);
    in.remove_prefix(bytes + 1);
    out.parts.emplace(partition, std::move(part));
  }
  return out;
}

}  // namespace

std::optional<OffsetSnapshot> read_offset_snapshot(Fs& fs, const std::string& root) {
  const std::string path = join_path(root, kSnapshotFile);
  const auto text = read_file(fs, path, kSnapshotBytesMax);
  if (!text) return std::nullopt;
  const auto body = without_checksum(*text, path);
  if (!body) return std::nullopt;
  return parse_snapshot_file(*body);
}

Result<void> write_offset_snapshot(Fs& fs, const std::string& root, const OffsetSnapshot& snapshot,
                                   std::uint32_t mode) {
  std::string body(kFirstLine);
  body += fmt::format("topic {}\n", snapshot.topic_id);
  for (const auto& [partition, part] : snapshot.parts) {
    body += fmt::format("partition {} {} {} {} {}\n", partition, part.mark.upto.value(),
                        part.mark.batch_base.value(), part.mark.batch_crc, part.packed.size());
    body += part.packed;
    body += '\n';
  }
  return replace_file(fs, join_path(root, kSnapshotFile), with_checksum(std::move(body)), mode,
                      Durability::kSynced);
}

}  // namespace spool
