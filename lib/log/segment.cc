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
  bool swapped_logs = false;
  for (const DirEntry& e : entries) {
    if (e.is_dir) continue;
    if (const auto base = segment_base(e.name, kLogSuffix)) out.segments.push_back(*base);
    if (const auto at = segment_base(e.name, kSnapshotSuffix)) out.snapshots.push_back(*at);
    if (!e.name.ends_with(".swap")) continue;
    out.unfinished_swap = true;
    if (const auto base = segment_base(e.name, kLogSwapSuffix)) {
      out.segments.push_back(*base);
      swapped_logs = true;
    }
  }
  std::sort(out.segments.begin(), out.segments.end());
  if (swapped_logs)
    out.segments.erase(std::unique(out.segments.begin(), out.segments.end()), out.segments.end());
  std::sort(out.snapshots.begin(), out.snapshots.end());
  return out;
}

Result<std::unique_ptr<File>> open_segment_log(Fs& fs, const std::string& dir, Offset base) {
  auto log = fs.open(segment_path(dir, base, kLogSuffix), OpenMode::kRead, 0);
  if (log || log.error().code != Errc::kNotFound) return log;
  auto swap = fs.open(segment_path(dir, base, kLogSwapSuffix), OpenMode::kRead, 0);
  if (swap || swap.error().code != Errc::kNotFound) return swap;
  return log;
}

Result<FileStat> stat_segment_log(Fs& fs, const std::string& dir, Offset base) {
  const auto log = fs.stat(segment_path(dir, base, kLogSuffix));
  if (log || log.error().code != Errc::kNotFound) return log;
  const auto swap = fs.stat(segment_path(dir, base, kLogSwapSuffix));
  if (swap || swap.error().code != Errc::kNotFound) return swap;
  return log;
}

}  // namespace spool
