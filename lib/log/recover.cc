#include "log/recover.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "log/batch_reader.h"
#include "log/walk.h"

namespace spool {

namespace {

constexpr std::size_t kScanChunk = std::size_t{1} << 18;
constexpr std::size_t kCopyChunk = std::size_t{1} << 18;

/// Walks a segment from `tail.size` to its end, which `tail` becomes. True when bytes are left that
/// have to be cut.
Result<bool> walk(const LogEnv& env, const PartitionPlace& place, const WalkRules& rules,
                  SegmentIndexes& indexes, Tail& tail) {
  BatchReader reader(tail.file, tail.size, kScanChunk);
  // At an index entry the batch itself says which offset is due.
  const std::optional<Offset> expected =
      tail.size == 0 ? std::optional(tail.next_offset) : std::nullopt;
  const auto on_batch = [&](std::int64_t position, const BatchView& batch) {
    tail.last_batch = batch.header;
    tail.last_batch_position = position;
    tail.epoch = std::max(tail.epoch, batch.header.leader_epoch);
    tail.transactional = tail.transactional || batch.header.transactional();
    return indexes.note(*tail.file, position, batch.header);
  };
  const auto on_rot = [&](const Rot& rot) {
    tail.rot = true;
    env.notice(fmt::format(
        "'{}' is damaged at byte {}: offsets {} to {} do not read; appending goes on behind them",
        segment_path(place.dir, tail.base, kLogSuffix), rot.position, rot.first.value(),
        rot.behind.header.base_offset.value() - 1));
  };
  TRY_ASSIGN(const WalkEnd end,
             walk_segment(reader, expected, tail.next_offset, rules, on_batch, on_rot));
  tail.size = end.size;
  tail.next_offset = end.next_offset;
  return end.bytes_left;
}

/// A name for a saved cut that nothing has yet.
Result<std::string> free_cut_name(Fs& fs, const PartitionPlace& place, Offset offset) {
  for (int i = 0;; ++i) {
    const std::string path = fmt::format("{}/spool.cut-{}{}", place.dir, offset.value(),
                                         i == 0 ? "" : fmt::format("-{}", i));
    const auto there = fs.stat(path);
    if (there) continue;
    if (there.error().code == Errc::kNotFound) return path;
    return fail(there.error());
  }
}

/// Appends bytes [from, size) of `source` to `target`; blocks of zeros stay holes.
Result<std::int64_t> save_bytes(File& source, std::int64_t from, File& target, std::int64_t at) {
  Buffer chunk(kCopyChunk);
  for (;;) {
    chunk.resize(kCopyChunk);
    TRY_ASSIGN(const std::size_t got, source.read_at(chunk.mutable_bytes(), from));
    const Bytes read = chunk.bytes().first(got);
    const bool zeros =
        std::all_of(read.begin(), read.end(), [](std::byte b) { return b == std::byte{0}; });
    if (!zeros) TRY(target.write_at(read, at));
    from += static_cast<std::int64_t>(got);
    at += static_cast<std::int64_t>(got);
    if (got < kCopyChunk) return at;
  }
}

/// Copies all behind `tail.size` of the tail's segment, and the segments `later`, to the new file
/// `path`; durable. Returns its size.
Result<std::int64_t> save_cut(const LogEnv& env, const PartitionPlace& place,
                              const std::string& path, const std::vector<Offset>& later,
                              const Tail& tail) {
  TRY_ASSIGN(const auto target, env.fs.open(path, OpenMode::kReplace, env.file_mode));
  TRY_ASSIGN(std::int64_t size, save_bytes(*tail.file, tail.size, *target, 0));
  for (const Offset base : later) {
    TRY_ASSIGN(const auto source,
               env.fs.open(segment_path(place.dir, base, kLogSuffix), OpenMode::kRead, 0));
    TRY_ASSIGN(size, save_bytes(*source, 0, *target, size));
  }
  TRY(target->truncate(size));
  TRY(target->sync());
  TRY(env.fs.sync_dir(place.dir));
  return size;
}

/// Saves and cuts all behind `tail.size` of the tail's segment, and the segments `later`.
Result<void> cut(const LogEnv& env, const PartitionPlace& place, const std::vector<Offset>& later,
                 Tail& tail) {
  TRY_ASSIGN(const std::string saved, free_cut_name(env.fs, place, tail.next_offset));
  const auto saved_size = save_cut(env, place, saved, later, tail);
  if (!saved_size) {
    // Half a copy helps nobody, and on a full disk each try would leave one more.
    (void)env.fs.unlink(saved);
    return fail(saved_size.error());
  }
  for (auto base = later.rbegin(); base != later.rend(); ++base) {
    for (const char* suffix : {kLogSuffix, kIndexSuffix, kTimeIndexSuffix, kTxnIndexSuffix}) {
      auto gone = env.fs.unlink(segment_path(place.dir, *base, suffix));
      if (!gone && gone.error().code != Errc::kNotFound) return gone;
    }
  }
  TRY(tail.file->truncate(tail.size));
  TRY(tail.file->sync());
  TRY(env.fs.sync_dir(place.dir));
  tail.cut = true;
  env.notice(fmt::format(
      "{}: the last {} bytes, from offset {} on, do not read as a whole: cut, and saved "
      "in '{}'",
      place.name(), *saved_size, tail.next_offset.value(), saved));
  return {};
}

/// Producer snapshots of offsets that are no more.
Result<void> drop_snapshots(const LogEnv& env, const PartitionPlace& place,
                            const PartitionFiles& files, Offset end) {
  for (const Offset at : files.snapshots) {
    if (at <= end) continue;
    auto gone = env.fs.unlink(segment_path(place.dir, at, kSnapshotSuffix));
    if (!gone && gone.error().code != Errc::kNotFound) return gone;
  }
  return {};
}

Result<std::shared_ptr<File>> open_log(const LogEnv& env, const PartitionPlace& place,
                                       Offset base) {
  TRY_ASSIGN(std::unique_ptr<File> file, env.fs.open(segment_path(place.dir, base, kLogSuffix),
                                                     OpenMode::kReadWrite, env.file_mode));
  return std::shared_ptr<File>(std::move(file));
}

Result<SegmentIndexes> open_indexes(const LogEnv& env, const PartitionPlace& place,
                                    const Tail& tail) {
  TRY_ASSIGN(const FileStat st, tail.file->stat());
  return SegmentIndexes::open(env.fs, place.dir, tail.base, *tail.file, st.size,
                              place.config.index_interval_bytes, env.file_mode);
}

/// Checks one segment from `from` (or its base) to its end; `tail` becomes its end and keeps the
/// epoch. True when it ends in bytes that are no whole batch.
Result<bool> check_segment(const LogEnv& env, const PartitionPlace& place, Offset base, Offset from,
                           std::optional<SegmentIndexes>& indexes, Tail& tail) {
  const Epoch epoch = tail.epoch;
  const bool transactional = tail.transactional;
  tail = Tail{};
  tail.base = tail.next_offset = base;
  tail.epoch = epoch;
  tail.transactional = transactional;
  TRY_ASSIGN(tail.file, open_log(env, place, base));
  TRY_ASSIGN(SegmentIndexes opened, open_indexes(env, place, tail));
  TRY(opened.distrust_behind(from));
  tail.size = opened.resume_position();
  indexes = std::move(opened);
  return walk(env, place, {.dense = place.dense, .pass_rot = false, .rot_below = from}, *indexes,
              tail);
}

Result<void> copy_synced(const LogEnv& env, const std::string& from, const std::string& to) {
  TRY_ASSIGN(const auto source, env.fs.open(from, OpenMode::kRead, 0));
  TRY_ASSIGN(const auto target, env.fs.open(to, OpenMode::kReplace, env.file_mode));
  TRY_ASSIGN(const std::int64_t size, save_bytes(*source, 0, *target, 0));
  TRY(target->truncate(size));
  return target->sync();
}

}  // namespace

Result<Tail> scan_tail(const LogEnv& env, const PartitionPlace& place, Offset base,
                       Offset recovery_point, SegmentIndexes& indexes, std::shared_ptr<File> file) {
  Tail tail;
  tail.base = tail.next_offset = base;
  tail.file = std::move(file);
  tail.size = indexes.resume_position();
  TRY_ASSIGN(const bool torn,
             walk(env, place, {.dense = place.dense, .pass_rot = true, .rot_below = recovery_point},
                  indexes, tail));
  if (torn && tail.next_offset >= recovery_point) TRY(cut(env, place, {}, tail));
  return tail;
}

Result<Tail> recover_from(const LogEnv& env, const PartitionPlace& place,
                          const PartitionFiles& files, Offset recovery_point,
                          std::optional<SegmentIndexes>& indexes) {
  CHECK(!files.segments.empty());
  const auto end = files.segments.end();
  auto segment = std::upper_bound(files.segments.begin(), end, recovery_point);
  if (segment != files.segments.begin()) --segment;
  Tail tail;
  for (;;) {
    TRY_ASSIGN(bool torn, check_segment(env, place, *segment, recovery_point, indexes, tail));
    const auto next = segment + 1;
    if (next == end && tail.next_offset < recovery_point && recovery_point > *segment) {
      // Beyond the log end (a copy made under writers): the last segment is checked from its base.
      recovery_point = *segment;
      continue;
    }
    if (!torn && next != end)
      torn = place.dense ? *next != tail.next_offset : *next < tail.next_offset;
    if (torn) {
      TRY(cut(env, place, {next, end}, tail));
      TRY(drop_snapshots(env, place, files, tail.next_offset));
      break;
    }
    TRY(tail.file->sync());
    if (next == end) break;
    TRY(indexes->close_segment(*tail.file));
    segment = next;
  }
  TRY(env.fs.sync_dir(place.dir));
  return tail;
}

Result<void> rewrite_suspect(const LogEnv& env, const PartitionPlace& place, Offset base) {
  const std::string path = segment_path(place.dir, base, kLogSuffix);
  const std::string copy = join_path(place.dir, "spool.rewrite.tmp");
  auto done = copy_synced(env, path, copy);
  if (done) done = env.fs.rename(copy, path);
  if (!done) {
    (void)env.fs.unlink(copy);  // the first failure is the one to report
    return done;
  }
  return env.fs.sync_dir(place.dir);
}

}  // namespace spool
