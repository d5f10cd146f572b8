#include "log/appender.h"

#include <limits>

#include <fmt/format.h>

#include "base/check.h"
#include "log/epochs.h"
#include "log/segment.h"
#include "record/batch.h"
#include "record/builder.h"

namespace spool {

namespace {

constexpr const char* kMetadataFile = "partition.metadata";

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

Result<Appender::Appended> Appender::append(MutableBytes batch) {
  const std::lock_guard guard(mutex_);
  if (failed_) return fail(*failed_);
  TRY_ASSIGN(const auto operation, env_.locks.begin());
  TRY_ASSIGN(const auto byte,
             env_.locks.lock_byte(DirLocks::append_name(place_.topic, place_.partition.value())));
  TRY(refresh());
  // Before anything looks at its times: they decide about rolling.
  if (place_.config.append_time) set_append_time(batch, env_.clock.now());
  const BatchHeader header = BatchHeader::decode(batch.data());
  if (must_roll(header)) {
    auto rolled = roll();
    if (!rolled) {
      open_ = false;
      if (sync_failed_) on_sync_failure(rolled.error(), true);
      return fail(rolled.error());
    }
  }
  return write(batch, header);
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

/// Whether the last segment is just as this appender left it.
Result<bool> Appender::unchanged() {
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
    TRY(write_state(env_.fs, place_.dir, *state_, env_.file_mode, Durability::kSynced));
  }
  TRY(replace_file(env_.fs, join_path(place_.dir, kMetadataFile), metadata_text(*place_.topic_id),
                   env_.file_mode, Durability::kSynced));
  TRY(env_.fs.sync_dir(place_.dir));
  return env_.fs.sync_dir(env_.root);
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
  if (files.unfinished_swap)
    return fail(Errc::kConflict, "'" + place_.dir + "' holds an unfinished compaction (*.swap)");
  TRY_ASSIGN(const FileStat folder, env_.fs.stat(place_.dir));
  TRY_ASSIGN(state_, read_state(env_.fs, place_.dir));
  const bool same_life = state_ && state_->same_life(env_.boot_id, folder);
  if (files.segments.empty()) {
    TRY_ASSIGN(const auto start,
               checkpoint_offset(env_.fs, join_path(env_.root, "log-start-offset-checkpoint"),
                                 place_.topic, place_.partition));
    files.segments.push_back(start.value_or(Offset(0)));
    TRY(create_segment(files.segments.front()));
    TRY(env_.fs.sync_dir(place_.dir));
  }
  const Offset last = files.segments.back();
  if (same_life && state_->suspect) {
    TRY(rewrite_suspect(env_, place_, last));
    state_->suspect = false;
    TRY(write_state(env_.fs, place_.dir, *state_, env_.file_mode, Durability::kNamed));
  }
  if (same_life) {
    TRY_ASSIGN(std::shared_ptr<File> file, env_.fs.open(segment_path(place_.dir, last, kLogSuffix),
                                                        OpenMode::kReadWrite, env_.file_mode));
    TRY_ASSIGN(const FileStat st, file->stat());
    TRY_ASSIGN(SegmentIndexes indexes,
               SegmentIndexes::open(env_.fs, place_.dir, last, *file, st.size,
                                    place_.config.index_interval_bytes, env_.file_mode));
    indexes_ = std::move(indexes);
    TRY_ASSIGN(Tail tail, scan_tail(env_, place_, last, *indexes_, std::move(file)));
    TRY(adopt_tail(std::move(tail), false));
    if (tail_.cut) TRY(raise_epoch());
    // A roll that was cut short by a kill may not have synced the names.
    if (state_->recovery_point < last) TRY(env_.fs.sync_dir(place_.dir));
    return {};
  }
  Offset point = state_ ? state_->recovery_point : Offset(0);
  if (!state_) {
    TRY_ASSIGN(const auto known,
               checkpoint_offset(env_.fs, join_path(env_.root, "recovery-point-offset-checkpoint"),
                                 place_.topic, place_.partition));
    point = known.value_or(Offset(0));
  }
  TRY_ASSIGN(Tail tail, recover_from(env_, place_, files, point, indexes_));
  const bool take_over = !state_ && tail.next_offset > Offset(0);
  // A lost state: what was read from the very start says it too.
  const bool all_read = place_.ours && point <= files.segments.front();
  const bool plain = (state_ && state_->plain) || (all_read && !tail.transactional);
  state_ =
      PartitionState{env_.boot_id, folder.device, folder.inode, tail.next_offset, plain, false};
  TRY(adopt_tail(std::move(tail), take_over));
  // At once, and before the state says that all is well: the next appender may be another one.
  if (tail_.cut || take_over) TRY(raise_epoch());
  TRY(indexes_->sync());
  return write_state(env_.fs, place_.dir, *state_, env_.file_mode, Durability::kNamed);
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
  if (!same_segment) {
    synced_end_ = state_->recovery_point >= tail_.next_offset ? tail_.size : 0;
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
  const bool far = tail_.next_offset + header.last_offset_delta - tail_.base > kInt32Max;
  return full || old || index_full || far;
}

/// Closes the segment and begins the next one; durable, whatever is promised of records: a segment
/// that is not the last one is never looked at again after a crash.
Result<void> Appender::roll() {
  {
    const std::lock_guard one_sync(sync_mutex_);
    if (sync_failed_) return fail(Errc::kIo, "'" + place_.dir + "': an earlier sync failed");
    auto synced = tail_.file->sync();
    if (!synced) {
      sync_failed_ = true;
      return synced;
    }
  }
  TRY(indexes_->close_segment(*tail_.file));
  const Offset base = tail_.next_offset;
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

Result<Appender::Appended> Appender::write(MutableBytes batch, BatchHeader header) {
  TRY(raise_epoch());
  place_batch(batch, tail_.next_offset, epoch_);
  header = BatchHeader::decode(batch.data());
  auto done = tail_.file->write_at(batch, tail_.size);
  if (done) done = indexes_->note(*tail_.file, tail_.size, header);
  if (!done) {
    undo_write();
    return fail(done.error());
  }
  if (segment_first_timestamp_ == kNoTimestamp) segment_first_timestamp_ = header.max_timestamp;
  const Appended result{header.base_offset, header.last_offset()};
  tail_.last_batch = header;
  tail_.last_batch_position = tail_.size;
  tail_.size += header.size();
  tail_.next_offset = header.next_offset();
  tail_.epoch = epoch_;
  return result;
}

/// Cuts a half-written batch away. If that fails too it is a torn tail, which the next appender
/// cuts; this one has lost its footing.
void Appender::undo_write() {
  auto undone = tail_.file->truncate(tail_.size);
  if (undone)
    (void)indexes_->drop_from(tail_.size);  // a stale entry is dropped by the next opener too
  open_ = false;
  if (!undone) failed_ = undone.error();
}

Result<void> Appender::sync() {
  std::shared_ptr<File> file;
  std::int64_t upto = 0;
  Result<void> done;
  Error error;
  {
    std::unique_lock guard(mutex_);
    if (failed_) return fail(*failed_);
    if (!tail_.file) return {};
    file = tail_.file;
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
    on_sync_failure(done.error(), false);
    return done;
  }
  if (file == tail_.file) {
    synced_ = true;
    synced_end_ = std::max(synced_end_, upto);
  }
  return {};
}

/// Needs mutex_; takes the append byte where the caller has not.
void Appender::on_sync_failure(const Error& error, bool byte_held) {
  if (failed_) return;
  failed_ = error;
  if (auto handled = cut_or_suspect(byte_held); !handled)
    env_.notice(fmt::format("{}: after a failed sync the end of the log could not be cut: {}",
                            place_.name(), handled.error().message()));
}

/// After a failed sync the page cache holds bytes that the disk lost. What is all ours is cut away;
/// where others have written among it or behind it, the next appender is told to rewrite the
/// segment. Not synced: after a power cut everything is checked anyway.
Result<void> Appender::cut_or_suspect(bool byte_held) {
  DirLocks::Operation operation;
  DirLocks::ByteLock byte;
  if (!byte_held) {
    TRY_ASSIGN(operation, env_.locks.begin());
    TRY_ASSIGN(byte,
               env_.locks.lock_byte(DirLocks::append_name(place_.topic, place_.partition.value())));
  }
  // Not a segment that somebody has rolled or replaced: that would leave a gap.
  TRY_ASSIGN(const bool last, unchanged());
  if (last && ours_from_ <= synced_end_ && synced_end_ <= tail_.size) {
    if (auto cut = tail_.file->truncate(synced_end_)) return cut;
  }
  TRY_ASSIGN(const auto state, read_state(env_.fs, place_.dir));
  if (!state) return {};  // no state: everything is checked by the next opener
  state_ = state;
  state_->suspect = true;
  return write_state(env_.fs, place_.dir, *state_, env_.file_mode, Durability::kNone);
}

/// Raises the recovery point to `recovery_point`, never lowers it. Needs the append byte.
Result<void> Appender::renew_state(Offset recovery_point, Durability durability) {
  TRY_ASSIGN(const auto state, read_state(env_.fs, place_.dir));
  if (!state || state->recovery_point >= recovery_point) return {};
  state_ = state;
  state_->recovery_point = recovery_point;
  return write_state(env_.fs, place_.dir, *state_, env_.file_mode, durability);
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
