#include "log/swap.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "log/batch_reader.h"
#include "log/segment.h"
#include "log/walk.h"

namespace spool {

namespace {

constexpr std::string_view kCleaned = ".cleaned";
constexpr std::string_view kDeleted = ".deleted";
constexpr std::string_view kSwap = ".swap";
constexpr std::size_t kChunk = std::size_t{1} << 18;
constexpr std::array kIndexSuffixes{kIndexSuffix, kTimeIndexSuffix, kTxnIndexSuffix};

/// The offset that a file name begins with.
std::optional<Offset> leading_offset(const std::string& name) {
  constexpr std::size_t kDigits = 20;
  return segment_base(std::string_view(name).substr(0, kDigits), "");
}

Result<Offset> end_of_swap(const LogEnv& env, const std::string& path, Offset base) {
  TRY_ASSIGN(std::shared_ptr<File> file, env.fs.open(path, OpenMode::kRead, 0));
  BatchReader reader(std::move(file), 0, kChunk);
  TRY_ASSIGN(const WalkEnd end, walk_segment(reader, base, base, {}, {}, {}));
  if (end.bytes_left)
    return fail(Errc::kCorrupt,
                fmt::format("'{}' is damaged at byte {}: it cannot take the place of the segments "
                            "that it was made from; 'spool topics repair' mends it",
                            path, end.size));
  return end.next_offset;
}

Result<void> unlink_all(const LogEnv& env, const PartitionPlace& place,
                        const std::vector<std::string>& names) {
  for (const std::string& name : names)
    TRY(env.fs.unlink(join_path(place.dir, name)));
  if (names.empty()) return {};
  return env.fs.sync_dir(place.dir);
}

/// Step 1; leaves the names that stay in `names`.
Result<void> drop_unfinished(const LogEnv& env, const PartitionPlace& place,
                             std::vector<std::string>& names) {
  std::optional<Offset> cleaned;
  for (const std::string& name : names)
    if (const auto base = leading_offset(name); base && name.ends_with(kCleaned))
      cleaned = cleaned ? std::min(*cleaned, *base) : *base;
  const auto stays = [&](const std::string& name) {
    const auto base = leading_offset(name);
    if (!base) return true;
    if (name.ends_with(kCleaned) || name.ends_with(kDeleted)) return false;
    return !(name.ends_with(kSwap) && cleaned && *base >= *cleaned);
  };
  const auto end = std::stable_partition(names.begin(), names.end(), stays);
  TRY(unlink_all(env, place, {end, names.end()}));
  names.erase(end, names.end());
  return {};
}

/// Step 2.
Result<void> complete(const LogEnv& env, const PartitionPlace& place,
                      const std::vector<std::string>& names) {
  std::set<Offset> swaps;
  std::optional<Offset> end;
  for (const std::string& name : names) {
    const auto base = segment_base(name, kLogSwapSuffix);
    if (!base) continue;
    TRY_ASSIGN(const Offset next, end_of_swap(env, join_path(place.dir, name), *base));
    end = end ? std::max(*end, next) : next;
    swaps.insert(*base);
  }
  std::vector<std::string> replaced;
  for (const std::string& name : names) {
    const auto base = segment_base(name, kLogSuffix);
    if (!base || swaps.empty() || *base < *swaps.begin() || *base >= *end) continue;
    replaced.push_back(name);
  }
  // From the first one on, as brokers do: readers turn to the .log.swap when its own is gone.
  std::sort(replaced.begin(), replaced.end());
  TRY(unlink_all(env, place, replaced));
  std::vector<std::string> rename;
  for (const std::string& name : names)
    if (leading_offset(name) && name.ends_with(kSwap)) rename.push_back(name);
  // Indexes before the .log that they speak of.
  std::stable_partition(rename.begin(), rename.end(), [](const std::string& name) {
    return !segment_base(name, kLogSwapSuffix).has_value();
  });
  for (const std::string& name : rename) {
    const std::string path = join_path(place.dir, name);
    TRY(env.fs.rename(path, path.substr(0, path.size() - kSwap.size())));
  }
  if (rename.empty()) return {};
  return env.fs.sync_dir(place.dir);
}

/// Step 3.
Result<void> drop_orphans(const LogEnv& env, const PartitionPlace& place) {
  TRY_ASSIGN(const auto entries, env.fs.list(place.dir));
  std::set<Offset> logs;
  for (const DirEntry& e : entries)
    if (const auto base = segment_base(e.name, kLogSuffix)) logs.insert(*base);
  std::vector<std::string> orphans;
  for (const DirEntry& e : entries)
    for (const char* suffix : kIndexSuffixes)
      if (const auto base = segment_base(e.name, suffix); base && !logs.contains(*base))
        orphans.push_back(e.name);
  return unlink_all(env, place, orphans);
}

}  // namespace

Result<void> finish_swaps(const LogEnv& env, const PartitionPlace& place) {
  TRY_ASSIGN(const auto entries, env.fs.list(place.dir));
  std::vector<std::string> names;
  for (const DirEntry& e : entries)
    if (!e.is_dir) names.push_back(e.name);
  if (!place.ours) TRY(drop_unfinished(env, place, names));
  TRY(complete(env, place, names));
  if (!place.ours) TRY(drop_orphans(env, place));
  return {};
}

}  // namespace spool
