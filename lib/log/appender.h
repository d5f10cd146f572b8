#pragma once
/// Appends batches to one partition, among other processes that do the same.
///
/// Per append, under the partition's append byte: is the file still what the path names, did
/// somebody roll, are size and last batch as remembered (else: look at what is new); then one
/// write. The byte is given back before any sync, so that writers share syncs.
///
/// States: fresh (nothing opened) -> open -> failed. A failed write of a batch cuts the file back
/// to the last whole batch and goes to fresh; a failed sync, or a cut that fails, goes to failed,
/// which is for ever.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "base/result.h"
#include "log/place.h"
#include "log/recover.h"
#include "log/segment_indexes.h"
#include "log/state_file.h"

namespace spool {

/// The file of a partition folder that says whose it is.
inline constexpr const char* kMetadataFile = "partition.metadata";

/// The topic id in a partition folder's partition.metadata; nullopt when there is no such file or
/// line.
[[nodiscard]] Result<std::optional<Uuid>> read_topic_id(Fs& fs, const std::string& dir);

/// One thread may append while another one syncs; all other uses are one at a time.
class Appender {
 public:
  Appender(const LogEnv& env, PartitionPlace place) : env_(env), place_(std::move(place)) {}

  struct Appended {
    Offset base;
    Offset last;
  };

  /// Opens the partition (made when it is ours and missing, durably), recovers what others left.
  /// Waits for the append byte. append() does it too when it was not done.
  [[nodiscard]] Result<void> open();

  /// Sets base offset, leader epoch and, where the topic wants it, append time of one sealed batch,
  /// and appends it. On return it is written: seen by readers, and there after a kill -9, not yet
  /// after a power cut. On failure nothing of it is left. Errc::kDeleted when the topic was deleted
  /// or made again.
  /// `check` is asked under the append byte, when all that others appended is there to be read; the
  /// batch is written only if it agrees.
  [[nodiscard]] Result<Appended> append(MutableBytes batch,
                                        const std::function<Result<void>()>& check = {});

  /// As append() does for each of `batches`, in one go: other writers wait for all of them. `done`
  /// hears of each when it is written, and must not use this appender. On failure those that it
  /// heard of are appended, the others are not.
  [[nodiscard]] Result<void> append_all(std::span<const MutableBytes> batches,
                                        const std::function<void(const Appended&)>& done);

  /// Appends a whole batch just as it stands, base offset and leader epoch too: for copies, also of
  /// transactions and their markers. The log must end at `end` (Errc::kConflict), and the batch
  /// must not begin below that; an empty log begins with it, another one gets a gap, which the
  /// partition must be allowed to have. Otherwise as append().
  [[nodiscard]] Result<Appended> append_as_it_stands(Bytes batch, Offset end);

  /// On return all that was appended before the call is on disk. After a failure (for ever) nothing
  /// is known of what no earlier sync covered: it was cut away again where it was all ours, else
  /// the segment was copied to a new file, which others notice, or the partition is marked so that
  /// the next append of anybody copies it. A sync that fails where append() ends a segment cuts
  /// nothing, for a caller that never syncs has reported what it appended.
  [[nodiscard]] Result<void> sync();

  /// Renews the recovery point, when something was synced, to where this appender began. Leaving it
  /// out costs time after a power cut, never safety.
  [[nodiscard]] Result<void> close();

  [[nodiscard]] const PartitionPlace& place() const { return place_; }
  [[nodiscard]] Offset next_offset() const { return tail_.next_offset; }

 private:
  [[nodiscard]] Result<void> refresh();
  [[nodiscard]] Result<void> open_folder();
  [[nodiscard]] Result<void> open_log();
  [[nodiscard]] Result<void> create_folder(bool folder_exists);
  [[nodiscard]] Result<void> create_segment(Offset base);
  [[nodiscard]] Result<void> begin_segment(Offset base);
  [[nodiscard]] Result<void> check_id();
  [[nodiscard]] Result<void> raise_epoch();
  [[nodiscard]] Result<bool> unchanged();
  [[nodiscard]] Result<bool> state_unchanged();
  [[nodiscard]] Result<void> rewrite_suspects(const PartitionFiles& files);
  [[nodiscard]] Result<void> open_same_life(Offset last);
  [[nodiscard]] Result<void> open_recovering(const PartitionFiles& files, const FileStat& folder);
  [[nodiscard]] Result<void> pass_lost_end(Offset point, bool copied);
  [[nodiscard]] Result<void> adopt_tail(Tail tail, bool take_over);
  [[nodiscard]] bool must_roll(const BatchHeader& header) const;
  [[nodiscard]] Result<void> roll();
  [[nodiscard]] Result<void> roll_for(const BatchHeader& header);
  [[nodiscard]] Result<void> begin_at(const BatchHeader& header);
  [[nodiscard]] Result<Appended> place_and_write(MutableBytes batch);
  [[nodiscard]] Result<Appended> write(Bytes batch, const BatchHeader& header);
  void undo_write();
  /// The file of a sync that failed, and whether what it did not cover may be cut.
  struct FailedSync {
    std::shared_ptr<File> file;
    Offset base;
    bool may_cut = false;
    bool byte_held = false;
  };
  void on_sync_failure(const Error& error, const FailedSync& what);
  [[nodiscard]] Result<void> cut_or_rewrite(const FailedSync& what);
  [[nodiscard]] Result<bool> cut_unsynced();
  [[nodiscard]] Result<void> mark_suspect(Offset base);
  [[nodiscard]] Result<void> load_state();
  [[nodiscard]] Result<void> store_state(Durability durability);
  [[nodiscard]] Result<void> renew_state(Offset recovery_point, Durability durability);

  LogEnv env_;
  const PartitionPlace place_;

  std::mutex mutex_;  ///< guards all below but sync_failed_
  std::optional<Error> failed_;
  bool open_ = false;
  Tail tail_;
  std::optional<SegmentIndexes> indexes_;
  std::optional<PartitionState> state_;
  FileStat state_file_;  ///< of the file that state_ was read from or written to
  TimestampMs segment_first_timestamp_ = kNoTimestamp;
  Epoch epoch_;
  bool epoch_is_new_ = false;  ///< not in the epoch file yet

  /// Of the current segment: bytes below synced_end_ are on disk; all in [ours_from_, tail_.size)
  /// is ours.
  std::int64_t synced_end_ = 0;
  std::int64_t ours_from_ = 0;
  Offset
      began_at_;  ///< log end when this appender began; what close() renews the recovery point to
  bool synced_ = false;

  std::mutex sync_mutex_;  ///< one sync in flight; taken after mutex_ by roll, alone by sync
  std::atomic<bool> sync_failed_{false};
};

}  // namespace spool
