#include "log/appender.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "base/check.h"
#include "log/checkpoint.h"
#include "log/epochs.h"
#include "log/segment.h"
#include "log/swap.h"
#include "record/batch.h"
#include "record/builder.h"

namespace spool {

namespace {

std::string metadata_text(const Uuid& id) {
  return fmt::format("version: 0\ntopic_id: {}", id.text());
}

}  // namespace

Result<std::optional<Uuid>> read_topic_id(Fs& fs, const std::string& dir) {
  const auto text = read_file(fs, join_path(dir, kMetadataFile), 4096);
  if (!text && text.error().code == Errc::kNotFound) return std::optional<Uuid>();
  if (!text) return fail(text.error());
  constexpr std::string_view kField = "topic_id: ";
  const std::size_t at = text->find(kField);
  if (at == std::string::npos) return std::optional<Uuid>();
  std::string_view id = std::string_view(*text).substr(at + kField.size());
  return Uuid::parse(id.substr(0, id.find('\n')));
}

Result<void> Appender::open() {
  const std::lock_guard guard(mutex_);
  if (failed_) return fail(*failed_);
  TRY_ASSIGN(const auto operation, env_.locks.begin());
  TRY_ASSIGN(const auto byte,
             env_.locks.lock_byte(DirLocks::append_name(place_.topic, place_.partition.value())));
  return refresh();
}

Result<Appender::Appended> Appender::append(MutableBytes batch,
                                            const std::function<Result<void>()>& check) {
  const std::lock_guard guard(mutex_);
  if (failed_) return fail(*failed_);
  TRY_ASSIGN(const auto operation, env_.locks.begin());
  TRY_ASSIGN(const auto byte,
             env_.locks.lock_byte(DirLocks::append_name(place_.topic, place_.partition.value())));
  TRY(refresh());
  if (check) TRY(check());
  return place_and_write(batch);
}

Result<void> Appender::append_all(std::span<const MutableBytes> batches,
                                  const std::function<void(const Appended&)>& done) {
  const std::lock_guard guard(mutex_);
  if (failed_) return fail(*failed_);
  TRY_ASSIGN(const auto operation, env_.locks.begin());
  TRY_ASSIGN(const auto byte,
             env_.locks.lock_byte(DirLocks::append_name(place_.topic, place_.partition.value())));
  TRY(refresh());
  for (const MutableBytes batch : batches) {
    if (!open_) TRY(refresh());  // the one before could not be indexed
    TRY_ASSIGN(const Appended appended, place_and_write(batch));
    done(appended);
  }
  return {};
}

/// Needs the append byte and a fresh look at the tail.
Result<Appender::Appended> Appender::place_and_write(MutableBytes batch) {
  // Before anything looks at its times: they decide about rolling.
  if (place_.config.append_time) set_append_time(batch, env_.clock.now());
  TRY(roll_for(BatchHeader::decode(batch.data())));
  TRY(raise_epoch());
  place_batch(batch, tail_.next_offset, epoch_);
  return write(batch, BatchHeader::decode(batch.data()));
}

Result<Appender::Appended> Appender::append_as_it_stands(Bytes batch, Offset end) {
  const std::lock_guard guard(mutex_);
  if (failed_) return fail(*failed_);
  TRY_ASSIGN(const auto operation, env_.locks.begin());
  TRY_ASSIGN(const auto byte,
             env_.locks.lock_byte(DirLocks::append_name(place_.topic, place_.partition.value())));
  TRY(refresh());
  const BatchHeader header = BatchHeader::decode(batch.data());
  if (tail_.next_offset != end)
    return fail(Errc::kConflict,
                fmt::format("{} ends at offset {} and not at {}: somebody else writes to it",
                            place_.name(), tail_.next_offset.value(), end.value()));
  CHECK(header.base_offset >= end);
  if (header.base_offset > end) TRY(begin_at(header));
  TRY(roll_for(header));
  if (header.last_offset() - tail_.base > std::numeric_limits<std::int32_t>::max())
    return fail(Errc::kUnsupported,
                fmt::format("{}: the gap from offset {} to {} is longer than a segment can be",
                            place_.name(), end.value(), header.base_offset.value()));
  if (header.leader_epoch > epoch_) {
    epoch_ = header.leader_epoch;
    epoch_is_new_ = true;
  }
  TRY(raise_epoch());
  return write(batch, header);
}

/// For a batch that begins behind the end: an empty log begins with it, so that it has no gap.
Result<void> Appender::begin_at(const BatchHeader& header) {
  TRY_ASSIGN(const PartitionFiles files, list_partition(env_.fs, place_.dir));
  if (tail_.size > 0 || files.segments.size() != 1) {
    if (!place_.dense) return {};
    return fail(Errc::kConflict,
                fmt::format("{} ends at offset {}, and a gap up to {} would be damage in it",
                            place_.name(), tail_.next_offset.value(), header.base_offset.value()));
  }
  // In this order: two segments with a gap between them would be two by mistake after a crash; no
  // segment at all is an empty log.
  for (const char* suffix : {kLogSuffix, kIndexSuffix, kTimeIndexSuffix}) {
    auto gone = env_.fs.unlink(segment_path(place_.dir, tail_.base, suffix));
    if (!gone && gone.error().code != Errc::kNotFound) return gone;
  }
  open_ = false;
  TRY(create_segment(header.base_offset));
  TRY(env_.fs.sync_dir(place_.dir));
  return refresh();
}

Result<void> Appender::roll_for(const BatchHeader& header) {
  if (!must_roll(header)) return {};
  auto rolled = roll();
  if (rolled) return {};
  open_ = false;
  return rolled;
}

Result<void> Appender::refresh() {
  if (open_) {
    TRY_ASSIGN(const bool same, unchanged());
    if (same) return {};
    open_ = false;
  }
  TRY(open_folder());
  open_ = true;
  return {};
}

/// Whether nobody has replaced the state, or in a way that changes nothing here.
Result<bool> Appender::state_unchanged() {
  const auto there = env_.fs.stat(state_path(place_.dir));
  if (!there) {
    if (there.error().code == Errc::kNotFound) return false;
    return fail(there.error());
  }
  // A mark makes the file longer ("1 BASE" for "0"): an inode that is used again cannot hide it.
  if (there->same_file(state_file_) && there->size == state_file_.size) return true;
  TRY(load_state());
  return state_ && !state_->suspect;
}

/// Whether the last segment is just as this appender left it.
Result<bool> Appender::unchanged() {
  TRY_ASSIGN(const bool same_state, state_unchanged());
  if (!same_state) return false;
  const auto there = env_.fs.stat(segment_path(place_.dir, tail_.base, kLogSuffix));
  if (!there) {
    if (there.error().code == Errc::kNotFound) return false;
    return fail(there.error());
  }
  TRY_ASSIGN(const FileStat ours, tail_.file->stat());
  if (!there->same_file(ours) || ours.size != tail_.size) return false;
  if (tail_.next_offset > tail_.base) {
    const auto next = env_.fs.stat(segment_path(place_.dir, tail_.next_offset, kLogSuffix));
    if (next) return false;
    if (next.error().code != Errc::kNotFound) return fail(next.error());
  }
  if (!tail_.last_batch) return true;
  std::array<std::byte, kBatchHeaderBytes> raw{};
  TRY_ASSIGN(const std::size_t got, tail_.file->read_at(raw, tail_.last_batch_position));
  if (got < raw.size()) return false;
  const BatchHeader last = BatchHeader::decode(raw.data());
  return last.crc == tail_.last_batch->crc && last.base_offset == tail_.last_batch->base_offset;
}

Result<void> Appender::open_folder() {
  const auto folder = env_.fs.stat(place_.dir);
  if (!folder && folder.error().code != Errc::kNotFound) return fail(folder.error());
  if (!folder) {
    if (!place_.ours) return fail(Errc::kDeleted, "'" + place_.dir + "' is gone");
    TRY(create_folder(false));
  }
  TRY(check_id());
  return open_log();
}

Result<void> Appender::check_id() {
  TRY_ASSIGN(const auto id, read_topic_id(env_.fs, place_.dir));
  if (!id) {
    // A crash while the folder was made, or a .log that somebody put there.
    if (!place_.ours) return {};
    return create_folder(true);
  }
  if (!place_.topic_id || *id == *place_.topic_id) return {};
  return fail(Errc::kDeleted, fmt::format("topic '{}' was deleted and made again", place_.topic));
}

/// Makes what is missing of a partition folder of ours; durable on return, parent folder included.
Result<void> Appender::create_folder(bool folder_exists) {
  CHECK(place_.topic_id.has_value());
  if (place_.confirm) TRY(place_.confirm());
  if (!folder_exists) TRY(env_.fs.make_dir(place_.dir, env_.dir_mode));
  TRY_ASSIGN(const PartitionFiles files, list_partition(env_.fs, place_.dir));
  if (files.segments.empty()) {
    TRY(write_epochs(env_.fs, place_.dir, {{Epoch(0), Offset(0)}}, env_.file_mode,
                     Durability::kSynced));
    TRY(create_segment(Offset(0)));
    TRY_ASSIGN(const FileStat folder, env_.fs.stat(place_.dir));
    state_ = PartitionState{env_.boot_id, folder.device, folder.inode, Offset(0), true, false};
    TRY(store_state(Durability::kSynced));
  }
  TRY(env_.fs.sync_dir(place_.dir));
  TRY(env_.fs.sync_dir(env_.root));
  // Last: whoever finds it relies on all of the folder, its own name included, being on disk.
  return replace_file(env_.fs, join_path(place_.dir, kMetadataFile),
                      metadata_text(*place_.topic_id), env_.file_mode, Durability::kNamed);
}

/// Empty files of a segment; the caller syncs the folder.
Result<void> Appender::create_segment(Offset base) {
  for (const char* suffix : {kLogSuffix, kIndexSuffix, kTimeIndexSuffix}) {
    const OpenMode how = suffix == kLogSuffix ? OpenMode::kCreate : OpenMode::kReplace;
    TRY(env_.fs.open(segment_path(place_.dir, base, suffix), how, env_.file_mode));
  }
  return {};
}

Result<void> Appender::open_log() {
  TRY_ASSIGN(PartitionFiles files, list_partition(env_.fs, place_.dir));
  TRY_ASSIGN(const FileStat folder, env_.fs.stat(place_.dir));
  TRY(load_state());
  if (files.unfinished_swap || (!state_ && !place_.ours)) {
    TRY(finish_swaps(env_, place_));
    TRY_ASSIGN(files, list_partition(env_.fs, place_.dir));
  }
  if (files.segments.empty()) {
    TRY_ASSIGN(const auto start,
               checkpoint_offset(env_.fs, join_path(env_.root, kLogStartCheckpoint), place_.topic,
                                 place_.partition));
    files.segments.push_back(start.value_or(Offset(0)));
    TRY(create_segment(files.segments.front()));
    TRY(env_.fs.sync_dir(place_.dir));
  }
  if (!state_ || !state_->same_life(env_.boot_id, folder)) return open_recovering(files, folder);
  if (state_->suspect) TRY(rewrite_suspects(files));
  return open_same_life(files.segments.back());
}

Result<void> Appender::open_same_life(Offset last) {
  TRY_ASSIGN(std::shared_ptr<File> file, env_.fs.open(segment_path(place_.dir, last, kLogSuffix),
                                                      OpenMode::kReadWrite, env_.file_mode));
  TRY_ASSIGN(const FileStat st, file->stat());
  TRY_ASSIGN(SegmentIndexes indexes,
             SegmentIndexes::open(env_.fs, place_.dir, last, *file, st.size,
                                  place_.config.index_interval_bytes, env_.file_mode));
  indexes_ = std::move(indexes);
  const Offset point = state_->recovery_point;
  // What a foreign log lost is cut like any torn end: with a copy, under a new epoch.
  TRY_ASSIGN(Tail tail, scan_tail(env_, place_, last, place_.ours ? point : Offset(0), *indexes_,
                                  std::move(file)));
  TRY(adopt_tail(std::move(tail), false));
  if (tail_.cut) TRY(raise_epoch());
  if (tail_.transactional && state_->plain) {
    state_->plain = false;
    TRY(store_state(Durability::kNone));
  }
  // A roll that was cut short by a kill may not have synced the names.
  if (point < last) TRY(env_.fs.sync_dir(place_.dir));
  if (tail_.next_offset < point && place_.ours) return pass_lost_end(point, false);
  return {};
}

Result<void> Appender::open_recovering(const PartitionFiles& files, const FileStat& folder) {
  Offset point = state_ ? state_->trusted_point() : Offset(0);
  if (!state_) {
    TRY_ASSIGN(const auto known,
               checkpoint_offset(env_.fs, join_path(env_.root, "recovery-point-offset-checkpoint"),
                                 place_.topic, place_.partition));
    point = known.value_or(Offset(0));
  }
  TRY_ASSIGN(Tail tail, recover_from(env_, place_, files, point, indexes_));
  // A copy may have a newer epoch file than log: its last epoch began behind what is here.
  TRY_ASSIGN(const auto epochs, read_epochs(env_.fs, place_.dir));
  const bool ahead = place_.ours && !epochs.empty() && epochs.back().start > tail.next_offset;
  const bool take_over = ahead || (!state_ && tail.next_offset > Offset(0));
  // A lost state: what was read from the very start says it too.
  const bool all_read = place_.ours && point <= files.segments.front();
  const bool plain = !tail.transactional && ((state_ && state_->plain) || all_read);
  const bool copied = state_ && !state_->same_folder(folder);
  // A copy made beside a trim may be older than the start that the trim wrote down.
  TRY_ASSIGN(const auto log_start,
             checkpoint_offset(env_.fs, join_path(env_.root, kLogStartCheckpoint), place_.topic,
                               place_.partition));
  Offset promised(0);
  if (place_.ours)
    promised = std::max(log_start.value_or(promised), state_ ? state_->recovery_point : promised);
  const Offset end = std::max(tail.next_offset, promised);
  state_ = PartitionState{env_.boot_id, folder.device, folder.inode, end, plain, false};
  TRY(adopt_tail(std::move(tail), take_over));
  // At once, and before the state says that all is well: the next appender may be another one.
  if (tail_.cut || take_over) TRY(raise_epoch());
  TRY(indexes_->sync());
  if (tail_.next_offset < promised) TRY(pass_lost_end(promised, copied));
  if (place_.ours)
    TRY(fit_first_epoch(env_.fs, place_.dir, files.segments.front(), log_start, env_.file_mode));
  return store_state(Durability::kNamed);
}

/// Takes the found end as the one to append at.
Result<void> Appender::adopt_tail(Tail tail, bool take_over) {
  const bool same_segment = tail_.file && tail_.base == tail.base;
  tail_ = std::move(tail);
  std::array<std::byte, kBatchHeaderBytes> raw{};
  TRY_ASSIGN(const std::size_t got, tail_.file->read_at(raw, 0));
  segment_first_timestamp_ = got == raw.size() && tail_.size > 0
                                 ? BatchHeader::decode(raw.data()).max_timestamp
                                 : kNoTimestamp;
  // What was synced before says nothing of what others have made of the segment.
  synced_end_ = state_->recovery_point >= tail_.next_offset ? tail_.size : 0;
  if (!same_segment) {
    began_at_ = tail_.next_offset;
    synced_ = false;  // whatever was synced was another segment
  }
  ours_from_ = tail_.size;  // what came in between is others'
  TRY_ASSIGN(const auto epochs, read_epochs(env_.fs, place_.dir));
  const Epoch known = epochs.empty() ? Epoch(-1) : epochs.back().epoch;
  epoch_ = std::max({known, tail_.epoch, Epoch(0)});
  if (tail_.cut || take_over) epoch_ += 1;
  epoch_is_new_ = epoch_ != known;
  return {};
}

Result<void> Appender::raise_epoch() {
  if (!epoch_is_new_) return {};
  TRY_ASSIGN(auto epochs, read_epochs(env_.fs, place_.dir));
  while (!epochs.empty() && epochs.back().start >= tail_.next_offset)
    epochs.pop_back();
  epochs.push_back({epoch_, tail_.next_offset});
  TRY(write_epochs(env_.fs, place_.dir, epochs, env_.file_mode));
  epoch_is_new_ = false;
  return {};
}

bool Appender::must_roll(const BatchHeader& header) const {
  if (tail_.size == 0) return false;
  const LogConfig& c = place_.config;
  constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();
  const bool full = tail_.size + header.size() > std::min(c.segment_bytes, kInt32Max);
  const bool old = segment_first_timestamp_ >= TimestampMs(0) &&
                   header.max_timestamp - segment_first_timestamp_ > c.segment_ms;
  const bool index_full = indexes_->full(c.segment_index_bytes, header.max_timestamp);
  // A batch that is still to be placed has base offset 0.
  const Offset last = std::max(tail_.next_offset, header.base_offset) + header.last_offset_delta;
  const bool far = last - tail_.base > kInt32Max;
  return full || old || index_full || far;
}

/// Closes the segment and begins the next one; durable, whatever is promised of records: a segment
/// that is not the last one is never looked at again after a crash.
Result<void> Appender::roll() {
  Result<void> synced;
  {
    const std::lock_guard one_sync(sync_mutex_);
    if (sync_failed_) return fail(Errc::kIo, "'" + place_.dir + "': an earlier sync failed");
    synced = tail_.file->sync();
    if (!synced) sync_failed_ = true;
  }
  if (!synced) {
    on_sync_failure(synced.error(), {tail_.file, tail_.base, false, true});
    return synced;
  }
  TRY(indexes_->close_segment(*tail_.file));
  return begin_segment(tail_.next_offset);
}

/// Makes the segment that is appended to from now on; its name is on disk on return.
Result<void> Appender::begin_segment(Offset base) {
  TRY(create_segment(base));
  TRY(env_.fs.sync_dir(place_.dir));
  TRY(renew_state(base, Durability::kSynced));
  TRY_ASSIGN(std::shared_ptr<File> file, env_.fs.open(segment_path(place_.dir, base, kLogSuffix),
                                                      OpenMode::kReadWrite, env_.file_mode));
  TRY_ASSIGN(SegmentIndexes indexes,
             SegmentIndexes::open(env_.fs, place_.dir, base, *file, 0,
                                  place_.config.index_interval_bytes, env_.file_mode));
  const Epoch epoch = tail_.epoch;
  tail_ = Tail{};
  tail_.base = tail_.next_offset = base;
  tail_.file = std::move(file);
  tail_.epoch = epoch;
  indexes_ = std::move(indexes);
  segment_first_timestamp_ = kNoTimestamp;
  synced_end_ = ours_from_ = 0;
  began_at_ = base;
  synced_ = false;
  return {};
}

Result<Appender::Appended> Appender::write(Bytes batch, const BatchHeader& header) {
  if (header.transactional() && state_ && state_->plain) {
    // Before anybody can read the batch.
    state_->plain = false;
    TRY(store_state(Durability::kNone));
  }
  if (auto done = tail_.file->write_at(batch, tail_.size); !done) {
    undo_write();
    return fail(done.error());
  }
  // It may have been read already, so that it stays; the next append brings the indexes up to date.
  if (!indexes_->note(*tail_.file, tail_.size, header)) open_ = false;
  if (segment_first_timestamp_ == kNoTimestamp) segment_first_timestamp_ = header.max_timestamp;
  const Appended result{header.base_offset, header.last_offset()};
  tail_.last_batch = header;
  tail_.last_batch_position = tail_.size;
  tail_.size += header.size();
  tail_.next_offset = header.next_offset();
  tail_.epoch = std::max(tail_.epoch, header.leader_epoch);
  return result;
}

Result<void> Appender::sync() {
  std::shared_ptr<File> file;
  Offset base;
  std::int64_t upto = 0;
  Result<void> done;
  {
    const std::lock_guard guard(mutex_);
    if (failed_) return fail(*failed_);
    if (!tail_.file) return {};
    file = tail_.file;
    base = tail_.base;
    upto = tail_.size;
  }
  {
    const std::lock_guard one_sync(sync_mutex_);
    if (sync_failed_) return fail(Errc::kIo, "'" + place_.dir + "': an earlier sync failed");
    done = file->sync();
    if (!done) sync_failed_ = true;
  }
  const std::lock_guard guard(mutex_);
  if (!done) {
    on_sync_failure(done.error(), {file, base, true, false});
    return done;
  }
  if (file == tail_.file) {
    synced_ = true;
    synced_end_ = std::max(synced_end_, upto);
  }
  return {};
}

/// Takes the state from its file; needs the append byte, as all that follow.
Result<void> Appender::load_state() {
  TRY_ASSIGN(state_, read_state(env_.fs, place_.dir));
  state_file_ = {};
  if (!state_) return {};
  TRY_ASSIGN(state_file_, env_.fs.stat(state_path(place_.dir)));
  return {};
}

Result<void> Appender::store_state(Durability durability) {
  TRY(write_state(env_.fs, place_.dir, *state_, env_.file_mode, durability));
  TRY_ASSIGN(state_file_, env_.fs.stat(state_path(place_.dir)));
  return {};
}

/// Raises the recovery point to `recovery_point`, never lowers it. Needs the append byte.
Result<void> Appender::renew_state(Offset recovery_point, Durability durability) {
  TRY_ASSIGN(const auto state, read_state(env_.fs, place_.dir));
  if (!state || state->recovery_point >= recovery_point) return {};
  state_ = state;
  state_->recovery_point = recovery_point;
  return store_state(durability);
}

Result<void> Appender::close() {
  const std::lock_guard guard(mutex_);
  if (failed_ || !open_ || !synced_ || !state_ || state_->recovery_point >= began_at_) return {};
  TRY_ASSIGN(const auto operation, env_.locks.begin());
  TRY_ASSIGN(const auto byte,
             env_.locks.lock_byte(DirLocks::append_name(place_.topic, place_.partition.value())));
  // Only the folder that was written to: it may have been deleted and made again since.
  TRY_ASSIGN(const bool same, unchanged());
  if (!same) return {};
  TRY(indexes_->sync());
  return renew_state(began_at_, Durability::kSynced);
}

}  // namespace spool
