#include "log/trim.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "log/appender.h"
#include "log/checkpoint.h"
#include "log/epochs.h"
#include "log/lookup.h"
#include "log/segment.h"
#include "log/swap.h"

namespace spool {

namespace {

/// What goes with a segment's .log.
constexpr std::array kBeside{kIndexSuffix, kTimeIndexSuffix, kTxnIndexSuffix, kSnapshotSuffix};

Result<TrimResult> plan_in(const LogEnv& env, const PartitionPlace& place,
                           const PartitionView& view, Offset target, TrimBelowStart below) {
  TrimResult plan{view.log_start, view.log_start, view.log_end, 0, 0};
  if (target > view.log_end || (target < view.log_start && below == TrimBelowStart::kFails))
    return fail(Errc::kOutOfRange,
                fmt::format("{}: offset {} is outside of the log, which is {} to {}", place.name(),
                            target.value(), view.log_start.value(), view.log_end.value()));
  plan.new_start = std::max(target, view.log_start);
  const auto& bases = view.files.segments;
  for (std::size_t i = 0; i < bases.size(); ++i) {
    const Offset end = i + 1 < bases.size() ? bases[i + 1] : view.log_end;
    // The last segment goes only where it holds something: else it is what keeps the log end.
    if (end > plan.new_start || end == bases[i]) break;
    const auto st = stat_segment_log(env.fs, place.dir, bases[i]);
    if (st) plan.bytes += st->size;
    ++plan.segments;
  }
  return plan;
}

/// The folder must be the one that the caller means.
Result<void> check_folder(const LogEnv& env, const PartitionPlace& place) {
  const auto deleted = [&] {
    return fail(Errc::kDeleted, fmt::format("topic '{}' was deleted", place.topic));
  };
  if (place.confirm) TRY(place.confirm());
  if (const auto folder = env.fs.stat(place.dir); !folder) {
    if (folder.error().code != Errc::kNotFound) return fail(folder.error());
    if (place.ours) return {};  // nothing was appended yet
    return deleted();
  }
  TRY_ASSIGN(const auto id, read_topic_id(env.fs, place.dir));
  if (id && place.topic_id && *id != *place.topic_id) return deleted();
  return {};
}

Result<void> unlink_if_there(Fs& fs, const std::string& path) {
  auto gone = fs.unlink(path);
  if (!gone && gone.error().code == Errc::kNotFound) return {};
  return gone;
}

/// Removes the first `count` segments, and the snapshots that only they needed.
Result<void> remove_segments(const LogEnv& env, const PartitionPlace& place,
                             const PartitionFiles& files, std::int64_t count) {
  if (count == 0) return {};
  for (std::int64_t i = 0; i < count; ++i) {
    const Offset base = files.segments[static_cast<std::size_t>(i)];
    TRY(unlink_if_there(env.fs, segment_path(place.dir, base, kLogSuffix)));
    for (const char* suffix : kBeside)
      TRY(unlink_if_there(env.fs, segment_path(place.dir, base, suffix)));
  }
  return env.fs.sync_dir(place.dir);
}

/// Empty files of a segment at the log end, so that the last one can go too. Nothing is written:
/// the disk may be full.
Result<void> begin_segment(const LogEnv& env, const PartitionPlace& place, Offset base) {
  for (const char* suffix : {kLogSuffix, kIndexSuffix, kTimeIndexSuffix}) {
    const OpenMode how = suffix == kLogSuffix ? OpenMode::kCreate : OpenMode::kReplace;
    TRY(env.fs.open(segment_path(place.dir, base, suffix), how, env.file_mode));
  }
  return env.fs.sync_dir(place.dir);
}

/// Writes down where the log starts, when that is within a segment, and cuts the epochs to it.
Result<void> note_start(const LogEnv& env, const PartitionPlace& place, Offset start) {
  TRY_ASSIGN(const PartitionFiles files, list_partition(env.fs, place.dir));
  std::optional<Offset> noted;
  if (!files.segments.empty() && files.segments.front() < start) {
    noted = start;
    if (files.segments.back() < start) {
      // Else a power cut could take the end of the log back behind its start.
      TRY_ASSIGN(const auto log,
                 env.fs.open(segment_path(place.dir, files.segments.back(), kLogSuffix),
                             OpenMode::kReadWrite, env.file_mode));
      TRY(log->sync());
    }
  }
  TRY(set_log_start(env, place.topic, place.partition, noted));
  TRY_ASSIGN(const auto epochs, read_epochs(env.fs, place.dir));
  const auto left = epochs_from(epochs, start);
  if (left == epochs) return {};
  return write_epochs(env.fs, place.dir, left, env.file_mode);
}

/// One try; nullopt when somebody has to look at the end of the log first.
Result<std::optional<TrimResult>> try_trim(const LogEnv& env, const PartitionPlace& place,
                                           Offset target, TrimBelowStart below) {
  TRY_ASSIGN(const auto byte,
             env.locks.lock_byte(DirLocks::append_name(place.topic, place.partition.value())));
  TRY(check_folder(env, place));
  TRY_ASSIGN(PartitionView view, view_partition(env, place));
  if (view.files.unfinished_swap) {
    TRY(finish_swaps(env, place));
    TRY_ASSIGN(view, view_partition(env, place));
  }
  TRY_ASSIGN(TrimResult plan, plan_in(env, place, view, target, below));
  if (plan.new_start == view.log_start && plan.segments == 0) return std::optional(plan);
  const auto count = static_cast<std::int64_t>(view.files.segments.size());
  std::int64_t now = plan.segments;
  const bool all = now == count;
  if (all) --now;
  TRY(remove_segments(env, place, view.files, now));
  if (all) {
    const Offset last = view.files.segments.back();
    TRY_ASSIGN(const WalkEnd end, end_of_segment(env, place, last));
    if (end.bytes_left) return std::optional<TrimResult>();
    TRY(begin_segment(env, place, view.log_end));
    PartitionFiles old;
    old.segments = {last};
    TRY(remove_segments(env, place, old, 1));
  }
  TRY(note_start(env, place, plan.new_start));
  return std::optional(plan);
}

}  // namespace

Result<TrimResult> plan_trim(const LogEnv& env, const PartitionPlace& place, Offset target,
                             TrimBelowStart below) {
  TRY_ASSIGN(const PartitionView view, view_partition(env, place));
  return plan_in(env, place, view, target, below);
}

Result<TrimResult> trim_partition(const LogEnv& env, const PartitionPlace& place, Offset target,
                                  TrimBelowStart below) {
  TRY_ASSIGN(const auto operation, env.locks.begin());
  TRY_ASSIGN(const auto topics, env.locks.lock_byte("topics"));
  constexpr int kAttempts = 10;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    TRY_ASSIGN(const auto done, try_trim(env, place, target, below));
    if (done) return *done;
    // Bytes at the end that are no whole batch: what became of them decides which offsets are
    // still to be given out, and that is the appender's to say.
    Appender appender(env, place);
    TRY(appender.open());
  }
  return fail(Errc::kConflict,
              fmt::format("{}: writers keep leaving a torn end; try again", place.name()));
}

}  // namespace spool
