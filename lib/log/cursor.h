#pragma once
/// Reads a partition forward from an offset, batch by batch, without any lock, while others append,
/// roll, trim and delete.
///
/// Bytes at the end that hold no whole batch, with no whole batch behind them, are "not there yet".
/// A bad batch with a whole one behind it is, after one re-read, damage: Errc::kCorrupt. But where
/// a power cut or a copy was not recovered from yet, the first bad batch behind the recovery point
/// ends the log, as it will for the next appender.
///
/// Where offsets are dense, a segment that is missing or ends early is damage, and so is a log that
/// ends before its recovery point. Offsets that were trimmed away under the reader are counted and
/// skipped.

#include <cstdint>
#include <memory>
#include <optional>

#include "log/batch_reader.h"
#include "log/place.h"
#include "log/segment.h"

namespace spool {

/// Not thread-safe. Works on folders of any state; never writes.
class Cursor {
 public:
  Cursor(const LogEnv& env, const PartitionPlace& place, Offset from,
         std::size_t chunk_bytes = std::size_t{1} << 18, Executor* executor = nullptr)
      : env_(env), place_(place), chunk_bytes_(chunk_bytes), executor_(executor), next_(from) {}

  enum class Step {
    kBatch,  ///< batch() holds next_offset() or, for a start within it, offsets from there on
    kEnd,    ///< nothing more for now; call again when the partition may have grown
  };
  /// Errc::kCorrupt at damage (skip_damage() goes on behind it), Errc::kDeleted when the topic was
  /// deleted or made again.
  [[nodiscard]] Result<Step> next();

  /// The batch of the last next(); valid until the next call. Records below the start offset are
  /// the caller's to skip.
  [[nodiscard]] const BatchView& batch() const { return reader_->view(); }
  /// Gives file and memory back; next() opens them again. batch() is gone.
  void park() {
    if (!damage_) reader_.reset();
  }
  /// For a caller that has listed the folder: the start offset is in the segment `base`, which is
  /// opened without listing it again. With many segments that is what a look-up costs.
  void start_in(Offset base) { known_base_ = base; }
  /// Gives the memory of batch() back, but for its header.
  void release() { reader_->release(); }
  /// Where batch() stands, for messages.
  [[nodiscard]] std::string batch_path() const;
  [[nodiscard]] std::int64_t batch_position() const { return reader_->batch_position(); }
  /// The log ended before what was written to it, where a power cut or a copy was not recovered
  /// from yet.
  [[nodiscard]] bool ended_unrecovered() const { return told_unrecovered_; }
  /// The offset that is due next.
  [[nodiscard]] Offset next_offset() const { return next_; }
  /// After Errc::kCorrupt: goes on at the first whole batch behind the damage.
  void skip_damage();
  /// Offsets that were asked for and had been deleted from the front; resets the count.
  [[nodiscard]] std::int64_t take_gone() { return std::exchange(gone_, 0); }

 private:
  struct Damage {
    Offset resume_base;
    std::int64_t resume_position = 0;
    Offset resume_offset;
  };

  [[nodiscard]] Result<bool> open_segment();
  [[nodiscard]] Result<bool> open_known();
  [[nodiscard]] Result<void> open_at(Offset base, std::int64_t position);
  [[nodiscard]] Result<void> check_id();
  [[nodiscard]] Result<bool> still_named();
  [[nodiscard]] Result<std::optional<Offset>> segment_behind(BatchReader::Item item);
  [[nodiscard]] Result<bool> reread(bool& whole);
  [[nodiscard]] Result<std::optional<Step>> damaged(std::int64_t position, Damage resume);
  [[nodiscard]] Result<bool> unrecovered();
  [[nodiscard]] Result<std::optional<Step>> at_stop(BatchReader::Item item);
  [[nodiscard]] Result<std::optional<Step>> at_end();
  [[nodiscard]] Result<std::optional<Step>> at_segment_end(Offset behind);
  [[nodiscard]] Result<std::optional<Step>> at_log_end();
  [[nodiscard]] Result<std::optional<FoundBatch>> whole_behind(std::int64_t position);
  [[nodiscard]] Result<Offset> promised_end();
  [[nodiscard]] bool fits(const BatchHeader& header) const;
  [[nodiscard]] bool accept();

  const LogEnv& env_;
  const PartitionPlace& place_;
  std::size_t chunk_bytes_;
  Executor* executor_;
  Offset next_;
  std::optional<Offset> known_base_;
  std::int64_t gone_ = 0;
  bool opened_once_ = false;
  bool due_known_ =
      false;       ///< whether next_ is where the reader stands, or it still has to get there
  Offset base_;    ///< of the open segment
  Offset passed_;  ///< a lower bound of the offsets that stand at the reader
  Offset promised_at_{-1};      ///< the end at which the recovery point was looked at
  Offset promised_;             ///< the recovery point as it was then
  bool listed_behind_ = false;  ///< segments behind base_ were looked for by listing
  FileStat file_;               ///< its identity
  std::optional<BatchReader> reader_;
  std::optional<Damage> damage_;
  bool told_unrecovered_ = false;
};

/// Errc::kCorrupt for a batch that is whole by its CRC and cannot be taken apart.
[[nodiscard]] tl::unexpected<Error> content_error(const Cursor& cursor, const Error& why);

/// As next(), passing over damage: for look-ups, where what does not read decides nothing.
[[nodiscard]] Result<Cursor::Step> next_whole(Cursor& cursor);

/// Where to start reading a segment for `target`: the position of a whole batch at or before it, by
/// the offset index where that holds, else 0.
[[nodiscard]] std::int64_t position_for(Fs& fs, const std::string& dir, Offset base, File& log,
                                        Offset target);

}  // namespace spool
