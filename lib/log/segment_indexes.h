#pragma once
/// Keeps both indexes of the segment that is appended to, by Kafka's rules: an entry when more than
/// `interval` bytes were written since the last one, the first batch never gets one, time entries
/// only when the greatest timestamp grew, and once more when the segment is closed.

#include <cstdint>
#include <optional>
#include <string>

#include "io/fs.h"
#include "log/index_file.h"
#include "record/batch.h"

namespace spool {

/// Not thread-safe; every call needs the partition's append byte. Indexes are hints, so nothing is
/// synced but by sync().
class SegmentIndexes {
 public:
  /// Opens both and keeps of them only what agrees with the log, `log_size` bytes long: where the
  /// last offset entry does not, all of them go, and resume_position() is 0.
  [[nodiscard]] static Result<SegmentIndexes> open(Fs& fs, const std::string& dir, Offset base,
                                                   File& log, std::int64_t log_size,
                                                   std::int64_t interval, std::uint32_t mode);
  /// As open(), but entries behind `offset_max` go too: what a power cut may have torn.
  [[nodiscard]] Result<void> distrust_behind(Offset offset_max);

  /// The batch of the last entry begins here: a scan from here, each batch noted, brings them up to
  /// date.
  [[nodiscard]] std::int64_t resume_position() const { return resume_position_; }

  /// A batch stands at `position` of `log`, behind all that were noted before.
  [[nodiscard]] Result<void> note(File& log, std::int64_t position, const BatchHeader& header);
  /// Drops entries at or behind `position`, after a failed append.
  [[nodiscard]] Result<void> drop_from(std::int64_t position);
  /// The last time entry, when the segment takes no more.
  [[nodiscard]] Result<void> close_segment(File& log);

  /// For a recovery point within the segment: entries below it are believed after a power cut.
  [[nodiscard]] Result<void> sync();

  /// Whether an index of at most `bytes` has no room for the entries of one more batch, whose
  /// greatest timestamp is `newest`.
  [[nodiscard]] bool full(std::int64_t bytes, TimestampMs newest) const;

 private:
  [[nodiscard]] Result<void> drop_late_times();
  [[nodiscard]] Result<void> resume();
  [[nodiscard]] Result<void> append_time_entry(File& log, std::int64_t log_end);
  [[nodiscard]] Result<void> verify_times(File& log, std::int64_t log_end);
  [[nodiscard]] Result<std::optional<std::int64_t>> position_of_last_time(File& log);

  OffsetIndex offsets_;
  TimeIndex times_;
  std::int64_t interval_ = 0;
  std::int64_t resume_position_ = 0;
  std::int64_t bytes_since_entry_ = 0;
  TimestampMs last_time_entry_ = kNoTimestamp;
  TimestampMs max_timestamp_ = kNoTimestamp;
  Offset max_timestamp_offset_;
  Offset base_;
  /// Entries of the time index may be missing between the last one and here, the greatest timestamp
  /// with them: looked at before the next one is added. That never happens where times do not grow.
  std::int64_t times_unverified_to_ = 0;
  bool times_lost_ =
      false;  ///< no more time entries: what the greatest timestamp is cannot be told
};

/// Whether a whole batch begins at `entry.position` and `entry` may speak of it.
[[nodiscard]] Result<bool> entry_holds(File& log, const OffsetEntry& entry, Offset base);

}  // namespace spool
