/// What repair makes of a compaction that was cut short.
///
/// Where its results read to their end, it is finished as a broker does it. Where one does not:
/// - While the first segment that they replace is there, all of these are, for they go from the
///   first one on: the results are put aside.
/// - Else a result is the only copy of what was in the segments that are gone. It takes its place,
///   up to where the first one that is left begins; what does not read in it is taken out and kept
///   like rot anywhere else.

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "log/batch_reader.h"
#include "log/find_batch.h"
#include "log/repair.h"

namespace spool {

namespace {

constexpr std::string_view kSwap = ".swap";
constexpr const char* kNewLog = "spool.repair.tmp";
constexpr std::size_t kChunk = std::size_t{1} << 20;
constexpr std::int64_t kSpan = std::int64_t{1} << 31;  ///< more offsets than a segment can hold

/// Of a base, where the name begins with one.
std::optional<Offset> base_in(const std::string& name) {
  return segment_base(std::string_view(name).substr(0, name.find('.')), "");
}

/// A finished result that has to take its place.
struct Swap {
  Offset base;
  std::int64_t reads = 0;  ///< bytes from the front that are whole batches
  std::int64_t size = 0;
  Offset behind;  ///< of these
  [[nodiscard]] bool whole() const { return reads == size; }
};

Result<Swap> look_at(const LogEnv& env, const std::string& file, Offset base) {
  Swap out{base, 0, 0, base};
  TRY_ASSIGN(std::shared_ptr<File> log, env.fs.open(file, OpenMode::kRead, 0));
  TRY_ASSIGN(const FileStat st, log->stat());
  out.size = st.size;
  BatchReader reader(log, 0, kChunk);
  for (;; out.reads = reader.position()) {
    TRY_ASSIGN(const BatchReader::Item item, reader.next());
    if (item != BatchReader::Item::kBatch) return out;
    out.behind = std::max(out.behind, reader.view().header.next_offset());
  }
}

/// Where in a file the first batch begins that is at or behind `limit`; its size when none is.
Result<std::int64_t> place_of(std::shared_ptr<File> log, Offset base, Offset limit) {
  TRY_ASSIGN(const FileStat st, log->stat());
  BatchReader reader(log, 0, kChunk);
  for (Offset due = base; reader.position() < st.size;) {
    TRY_ASSIGN(const BatchReader::Item item, reader.next());
    if (item == BatchReader::Item::kBatch) {
      if (reader.view().header.base_offset >= limit) return reader.batch_position();
      due = reader.view().header.next_offset();
      continue;
    }
    TRY_ASSIGN(const auto found, find_batch(*log, reader.position(), due, base + kSpan));
    if (!found) break;
    if (found->header.base_offset >= limit) return found->position;
    reader.seek(found->position);
  }
  return st.size;
}

Result<void> copy_front(const LogEnv& env, File& from, std::int64_t bytes, const std::string& to) {
  TRY_ASSIGN(const auto out, env.fs.open(to, OpenMode::kReplace, env.file_mode));
  Buffer piece;
  for (std::int64_t at = 0; at < bytes;) {
    piece.resize(static_cast<std::size_t>(
        std::min<std::int64_t>(bytes - at, static_cast<std::int64_t>(kChunk))));
    TRY_ASSIGN(const std::size_t got, from.read_at(piece.mutable_bytes(), at));
    if (got == 0) return fail(Errc::kIo, fmt::format("'{}' was cut while it was copied", to));
    TRY(out->write_at(piece.bytes().first(got), at));
    at += static_cast<std::int64_t>(got);
  }
  return out->sync();
}

}  // namespace

Result<void> PartitionRepair::finish_swaps() {
  TRY_ASSIGN(const auto entries, env_.fs.list(place_.dir));
  std::vector<std::string> names;  // of all that end in .swap
  std::set<Offset> logs;
  std::optional<Offset> cleaned;
  for (const DirEntry& e : entries) {
    if (e.is_dir) continue;
    if (e.name.ends_with(kSwap) && base_in(e.name)) names.push_back(e.name);
    if (const auto base = segment_base(e.name, kLogSuffix)) logs.insert(*base);
    if (const auto base = base_in(e.name); base && e.name.ends_with(".cleaned"))
      cleaned = cleaned ? std::min(*cleaned, *base) : *base;
  }
  if (names.empty()) return {};
  std::sort(names.begin(), names.end());
  std::vector<Swap> swaps;
  for (const std::string& name : names)
    if (const auto base = segment_base(name, kLogSwapSuffix)) {
      TRY_ASSIGN(swaps.emplace_back(), look_at(env_, path(name), *base));
    }
  TRY_ASSIGN(const auto byte, append_lock());
  const auto bad =
      std::find_if(swaps.begin(), swaps.end(), [](const Swap& s) { return !s.whole(); });
  // Results at or behind a half-written one are of a split that had not come so far.
  const bool split = cleaned && !swaps.empty() && swaps.back().base >= *cleaned;
  if (bad == swaps.end() && !split) {
    TRY(replace_by_swaps(names, logs, swaps.empty() ? Offset(-1) : swaps.front().base,
                         swaps.empty() ? Offset(-1) : swaps.back().behind));
  } else if (split || logs.contains(swaps.front().base)) {
    for (const std::string& name : names) {
      const bool named = bad != swaps.end() && segment_base(name, kLogSwapSuffix) == bad->base;
      step(path(name), named ? bad->reads : 0, Offset(-1), Offset(-1),
           "the result of a compaction that came to nothing: put aside, what it was made from is "
           "there");
      if (apply_) TRY(rename_aside(name));
    }
  } else {
    for (const Swap& s : swaps) {
      const auto left = logs.lower_bound(s.base);
      TRY(take_place(s.base, left == logs.end() ? s.base + kSpan : *left));
    }
    for (const std::string& name : names)
      if (apply_ && env_.fs.stat(path(name))) TRY(rename_aside(name));
  }
  return apply_ ? env_.fs.sync_dir(place_.dir) : Result<void>();
}

/// The segments in [begin, behind) go, what is in `names` takes their place.
Result<void> PartitionRepair::replace_by_swaps(const std::vector<std::string>& names,
                                               const std::set<Offset>& logs, Offset begin,
                                               Offset behind) {
  for (const Offset base : logs) {
    if (base < begin || base >= behind) continue;
    for (const char* suffix : {kLogSuffix, kIndexSuffix, kTimeIndexSuffix, kTxnIndexSuffix}) {
      const std::string old = segment_path(place_.dir, base, suffix);
      if (!env_.fs.stat(old)) continue;
      step(old, 0, Offset(-1), Offset(-1), "compacted: renamed to '.deleted'");
      if (apply_) TRY(env_.fs.rename(old, old + ".deleted"));
    }
  }
  for (const std::string& name : names) {
    step(path(name), 0, Offset(-1), Offset(-1), "finished compaction: takes its place");
    if (apply_) TRY(env_.fs.rename(path(name), path(name.substr(0, name.size() - kSwap.size()))));
  }
  return {};
}

/// A result that is all that is left of its offsets below `limit`.
Result<void> PartitionRepair::take_place(Offset base, Offset limit) {
  const std::string file = segment_path(place_.dir, base, kLogSwapSuffix);
  TRY_ASSIGN(std::shared_ptr<File> log, env_.fs.open(file, OpenMode::kRead, 0));
  TRY_ASSIGN(const FileStat st, log->stat());
  TRY_ASSIGN(const std::int64_t end, place_of(log, base, limit));
  const std::string target = segment_path(place_.dir, base, kLogSuffix);
  if (end == st.size) {
    step(file, 0, Offset(-1), Offset(-1),
         "the segments that it was made from are gone: takes their place");
    if (!apply_) return {};
    TRY(env_.fs.rename(file, target));
  } else {
    step(file, end, Offset(-1), Offset(-1),
         fmt::format("the segments that it was made from are gone below offset {}: what it has of "
                     "these takes their place, and the file is put aside",
                     limit.value()));
    if (!apply_) return {};
    TRY(copy_front(env_, *log, end, path(kNewLog)));
    TRY(env_.fs.rename(path(kNewLog), target));
  }
  // Before anybody reads there: what does not is taken out by what follows.
  TRY(env_.fs.sync_dir(place_.dir));
  const bool aborted = env_.fs.stat(segment_path(place_.dir, base, ".txnindex.swap")).has_value();
  return rebuild_indexes(env_, place_, base, true, aborted);
}

Result<std::string> PartitionRepair::free_name(const std::string& name) {
  // Always with a number behind: a broker takes a name that ends like a segment's for one of a
  // segment, and does not start where no offset begins it.
  for (int i = 1;; ++i) {
    std::string kept = path(fmt::format("spool.bad-{}-{}", name, i));
    const auto there = env_.fs.stat(kept);
    if (there) continue;
    if (there.error().code != Errc::kNotFound) return fail(there.error());
    return kept;
  }
}

Result<void> PartitionRepair::rename_aside(const std::string& name) {
  TRY_ASSIGN(const std::string kept, free_name(name));
  return env_.fs.rename(path(name), kept);
}

}  // namespace spool
