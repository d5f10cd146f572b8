#include "log/segment.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace spool {

namespace {

constexpr std::size_t kBaseDigits = 20;

}  // namespace

std::string segment_path(const std::string& dir, Offset base, const char* suffix) {
  return fmt::format("{}/{:020}{}", dir, base.value(), suffix);
}

std::optional<Offset> segment_base(std::string_view name, std::string_view suffix) {
  if (name.size() != kBaseDigits + suffix.size() || !name.ends_with(suffix)) return std::nullopt;
  std::int64_t base = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + kBaseDigits, base);
  if (problem != std::errc() || end != name.data() + kBaseDigits || base < 0) return std::nullopt;
  return Offset(base);
}

Result<PartitionFiles> list_partition(Fs& fs, const std::string& dir) {
  TRY_ASSIGN(const auto entries, fs.list(dir));
  PartitionFiles out;
  for (const DirEntry& e : entries) {
    if (e.is_dir) continue;
    if (const auto base = segment_base(e.name, kLogSuffix)) out.segments.push_back(*base);
    if (const auto at = segment_base(e.name, kSnapshotSuffix)) out.snapshots.push_back(*at);
    if (e.name.ends_with(".swap")) out.unfinished_swap = true;
  }
  std::sort(out.segments.begin(), out.segments.end());
  std::sort(out.snapshots.begin(), out.snapshots.end());
  return out;
}

}  // namespace spool
