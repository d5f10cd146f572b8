// The appender's ways out: a write or a sync that failed, and a log that lost its end.

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "log/appender.h"
#include "log/epochs.h"
#include "log/segment.h"
#include "record/batch.h"
#include "record/builder.h"

namespace spool {

/// Cuts a half-written batch away. If that fails too it is a torn tail, which the next appender
/// cuts; this one has lost its footing.
void Appender::undo_write() {
  auto undone = tail_.file->truncate(tail_.size);
  if (undone)
    (void)indexes_->drop_from(tail_.size);  // a stale entry is dropped by the next opener too
  open_ = false;
  if (!undone) failed_ = undone.error();
}

/// Needs mutex_; takes the append byte where the caller has not.
void Appender::on_sync_failure(const Error& error, const FailedSync& what) {
  if (!failed_) failed_ = error;
  if (auto handled = cut_or_rewrite(what); !handled)
    env_.notice(
        fmt::format("{}: after a failed sync what the disk may have lost could be neither "
                    "cut nor marked: {}",
                    place_.name(), handled.error().message()));
}

/// After a failed sync the page cache holds bytes that the disk lost, and no later sync would say
/// so. What is all ours and was reported to nobody is cut away. Else the segment is copied to a new
/// file and synced there: whoever appends finds another file under the name and looks again. Where
/// that fails too the state says that the copy is due.
Result<void> Appender::cut_or_rewrite(const FailedSync& what) {
  DirLocks::Operation operation;
  DirLocks::ByteLock byte;
  if (!what.byte_held) {
    TRY_ASSIGN(operation, env_.locks.begin());
    TRY_ASSIGN(byte,
               env_.locks.lock_byte(DirLocks::append_name(place_.topic, place_.partition.value())));
  }
  const auto there = env_.fs.stat(segment_path(place_.dir, what.base, kLogSuffix));
  if (!there && there.error().code == Errc::kNotFound) return {};
  if (!there) return fail(there.error());
  TRY_ASSIGN(const FileStat ours, what.file->stat());
  if (!there->same_file(ours)) return {};  // somebody has copied it, and synced the copy
  if (what.may_cut && what.file == tail_.file) {
    const auto cut = cut_unsynced();
    if (cut && *cut) return {};
  }
  if (rewrite_suspect(env_, place_, what.base)) return {};
  return mark_suspect(what.base);
}

/// False when what is behind the last good sync must not be cut.
Result<bool> Appender::cut_unsynced() {
  TRY_ASSIGN(const bool same, unchanged());
  if (!same || ours_from_ > synced_end_ || synced_end_ > tail_.size) return false;
  if (synced_end_ == tail_.size) return true;
  std::array<std::byte, kBatchHeaderBytes> raw{};
  TRY_ASSIGN(const std::size_t got, tail_.file->read_at(raw, synced_end_));
  const Offset first = BatchHeader::decode(raw.data()).base_offset;
  // Others may have synced it, and reported what they appended behind.
  if (got < raw.size() || !state_ || first < state_->recovery_point) return false;
  // Readers may have seen what goes: its offsets come again under another epoch.
  TRY_ASSIGN(auto epochs, read_epochs(env_.fs, place_.dir));
  while (!epochs.empty() && epochs.back().start >= first)
    epochs.pop_back();
  epochs.push_back({epoch_ + 1, first});
  TRY(write_epochs(env_.fs, place_.dir, epochs, env_.file_mode));
  TRY(tail_.file->truncate(synced_end_));
  return true;
}

/// Not synced: after a power cut everything is checked anyway.
Result<void> Appender::mark_suspect(Offset base) {
  TRY(load_state());
  if (!state_) return {};  // everything is checked by the next opener
  state_->suspect_from = state_->suspect ? std::min(state_->suspect_from, base) : base;
  state_->suspect = true;
  return store_state(Durability::kNone);
}

/// Copies what a failed sync has left in doubt, and takes the mark away.
Result<void> Appender::rewrite_suspects(const PartitionFiles& files) {
  // The segment that holds the marked offset may have been replaced by one that begins before it.
  auto segment =
      std::upper_bound(files.segments.begin(), files.segments.end(), state_->suspect_from);
  if (segment != files.segments.begin()) --segment;
  for (; segment != files.segments.end(); ++segment)
    TRY(rewrite_suspect(env_, place_, *segment));
  state_->suspect = false;
  return store_state(Durability::kNamed);
}

/// The log ends before `point`, up to which it was on disk. Those offsets were given out, so that
/// they are not given to other records. A copy that was made while others wrote just lacks its end:
/// an empty batch takes their place. Elsewhere something is lost: a segment begins behind it, and
/// readers take the gap for the damage that it is.
Result<void> Appender::pass_lost_end(Offset point, bool copied) {
  const Offset end = tail_.next_offset;
  const std::string path = segment_path(place_.dir, tail_.base, kLogSuffix);
  if (!tail_.cut) {  // else it has risen already
    epoch_ += 1;
    epoch_is_new_ = true;
  }
  if (copied && point - end <= std::numeric_limits<std::int32_t>::max()) {
    env_.notice(
        fmt::format("'{}' is a copy without offsets {} to {}: appending goes on behind them", path,
                    end.value(), point.value() - 1));
    TRY(raise_epoch());  // here, for the batch has it already
    auto filler = empty_batch(end, point, epoch_);
    const std::int64_t before = tail_.size;
    TRY(write(filler, BatchHeader::decode(filler.data())));
    const auto synced = tail_.file->sync();
    if (!synced) (void)tail_.file->truncate(before);  // nobody may find it and call it synced
    return synced;
  }
  env_.notice(fmt::format(
      "'{}' is damaged at byte {}: offsets {} to {} were on disk and are gone; appending "
      "goes on behind them",
      path, tail_.size, end.value(), point.value() - 1));
  TRY(begin_segment(point));
  return raise_epoch();
}

}  // namespace spool
