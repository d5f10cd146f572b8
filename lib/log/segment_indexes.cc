#include "log/segment_indexes.h"

#include <algorithm>
#include <limits>

#include "log/batch_reader.h"
#include "log/segment.h"

namespace spool {

namespace {

constexpr std::size_t kProbeBytes = 4096;
/// No entry tells of times up to this one: that of the first record would be all zeros.
constexpr TimestampMs kNoEntry{0};
constexpr std::size_t kScanChunk = std::size_t{1} << 16;

}  // namespace

Result<bool> entry_holds(File& log, const OffsetEntry& entry, Offset base) {
  if (entry.position < 0 || entry.offset < base) return false;
  // The handle is borrowed for the probe only.
  BatchReader probe(std::shared_ptr<File>(std::shared_ptr<File>(), &log), entry.position,
                    kProbeBytes);
  TRY_ASSIGN(const BatchReader::Item item, probe.next());
  if (item != BatchReader::Item::kBatch) return false;
  const BatchHeader& h = probe.view().header;
  // A set of several batches is indexed by its last offset and its first byte.
  return h.base_offset >= base && h.last_offset() <= entry.offset;
}

Result<SegmentIndexes> SegmentIndexes::open(Fs& fs, const std::string& dir, Offset base, File& log,
                                            std::int64_t log_size, std::int64_t interval,
                                            std::uint32_t mode) {
  SegmentIndexes s;
  s.interval_ = interval;
  s.base_ = base;
  TRY_ASSIGN(s.offsets_,
             OffsetIndex::open_append(fs, segment_path(dir, base, kIndexSuffix), base, mode));
  TRY_ASSIGN(s.times_,
             TimeIndex::open_append(fs, segment_path(dir, base, kTimeIndexSuffix), base, mode));
  while (s.offsets_.count() > 0) {
    TRY_ASSIGN(const OffsetEntry last, s.offsets_.at(s.offsets_.count() - 1));
    if (last.position < log_size) {
      TRY_ASSIGN(const bool holds, entry_holds(log, last, base));
      if (holds) break;
      TRY(s.offsets_.keep(0));
    } else {
      TRY(s.drop_from(log_size));  // a cut log leaves these behind
    }
  }
  TRY(s.drop_late_times());
  TRY_ASSIGN(const auto time_holds, s.position_of_last_time(log));
  if (s.times_.count() > 0 && !time_holds) {
    TRY(s.offsets_.keep(0));
    TRY(s.times_.keep(0));
  }
  TRY(s.resume());
  return s;
}

/// The time index must not speak of offsets that a scan from the last offset entry brings again.
Result<void> SegmentIndexes::drop_late_times() {
  if (offsets_.count() == 0) return times_.keep(0);
  TRY_ASSIGN(const OffsetEntry last, offsets_.at(offsets_.count() - 1));
  TRY_ASSIGN(const std::int64_t count,
             times_.partition_point([&](const TimeEntry& e) { return e.offset <= last.offset; }));
  return times_.keep(count);
}

Result<void> SegmentIndexes::resume() {
  TRY(offsets_.keep(offsets_.count()));  // cuts what a broker preallocated
  TRY(times_.keep(times_.count()));
  // The batch of the last entry is noted again; its bytes count from there.
  bytes_since_entry_ = 0;
  resume_position_ = 0;
  last_time_entry_ = kNoEntry;
  max_timestamp_ = kNoTimestamp;
  max_timestamp_offset_ = base_;
  times_lost_ = false;
  if (offsets_.count() > 0) {
    TRY_ASSIGN(const OffsetEntry last, offsets_.at(offsets_.count() - 1));
    resume_position_ = last.position;
  }
  if (times_.count() > 0) {
    TRY_ASSIGN(const TimeEntry last, times_.at(times_.count() - 1));
    last_time_entry_ = max_timestamp_ = last.timestamp;
    max_timestamp_offset_ = last.offset;
  }
  times_unverified_to_ = resume_position_;
  return {};
}

Result<void> SegmentIndexes::distrust_behind(Offset offset_max) {
  TRY_ASSIGN(const std::int64_t keep,
             offsets_.partition_point([&](const OffsetEntry& e) { return e.offset < offset_max; }));
  TRY(offsets_.keep(keep));
  TRY(drop_late_times());
  return resume();
}

Result<void> SegmentIndexes::note(File& log, std::int64_t position, const BatchHeader& header) {
  if (header.max_timestamp > max_timestamp_) {
    max_timestamp_ = header.max_timestamp;
    max_timestamp_offset_ = header.last_offset();
  }
  if (bytes_since_entry_ > interval_) {
    // In this order: a process that dies between the two leaves a time entry too many, which the
    // next one drops. One too few would hide its timestamp from every look-up by time.
    TRY(append_time_entry(log, position));
    TRY(offsets_.append({header.last_offset(), position}));
    bytes_since_entry_ = 0;
  }
  bytes_since_entry_ += header.size();
  return {};
}

/// An entry claims that nothing before it is later. What was found when the indexes were opened may
/// lack its end, so that the claim is checked once.
Result<void> SegmentIndexes::append_time_entry(File& log, std::int64_t log_end) {
  if (max_timestamp_ <= last_time_entry_ || times_lost_) return {};
  if (times_unverified_to_ > 0) {
    TRY(verify_times(log, std::min(times_unverified_to_, log_end)));
    times_unverified_to_ = 0;
    if (max_timestamp_ <= last_time_entry_ || times_lost_) return {};
  }
  TRY(times_.append({max_timestamp_, max_timestamp_offset_}));
  last_time_entry_ = max_timestamp_;
  return {};
}

/// Where the batch of the last time entry begins; nullopt when no batch is as the entry says.
Result<std::optional<std::int64_t>> SegmentIndexes::position_of_last_time(File& log) {
  if (times_.count() == 0) return std::optional<std::int64_t>();
  TRY_ASSIGN(const TimeEntry last, times_.at(times_.count() - 1));
  TRY_ASSIGN(const std::int64_t before, offsets_.partition_point([&](const OffsetEntry& e) {
    return e.offset <= last.offset;
  }));
  std::int64_t from = 0;
  if (before > 0) {
    TRY_ASSIGN(const OffsetEntry entry, offsets_.at(before - 1));
    TRY_ASSIGN(const bool holds, entry_holds(log, entry, base_));
    if (holds) from = entry.position;
  }
  BatchReader reader(std::shared_ptr<File>(std::shared_ptr<File>(), &log), from, kScanChunk);
  for (;;) {
    TRY_ASSIGN(const BatchReader::Item item, reader.next());
    if (item != BatchReader::Item::kBatch) return std::optional<std::int64_t>();
    const BatchHeader& h = reader.view().header;
    if (h.last_offset() < last.offset) continue;
    if (h.last_offset() > last.offset || h.max_timestamp != last.timestamp)
      return std::optional<std::int64_t>();
    return std::optional(reader.batch_position());
  }
}

/// Looks for later times between the last time entry and `log_end`.
Result<void> SegmentIndexes::verify_times(File& log, std::int64_t log_end) {
  TRY_ASSIGN(const auto known, position_of_last_time(log));
  if (!known) {
    TRY(times_.keep(0));
    last_time_entry_ = kNoEntry;
  }
  TimestampMs newest = kNoTimestamp;
  Offset newest_offset = base_;
  BatchReader reader(std::shared_ptr<File>(std::shared_ptr<File>(), &log), known.value_or(0),
                     kScanChunk);
  while (reader.position() < log_end) {
    TRY_ASSIGN(const BatchReader::Item item, reader.next());
    if (item != BatchReader::Item::kBatch) {
      times_lost_ = true;  // damage: look-ups scan from the last entry on
      return {};
    }
    const BatchHeader& h = reader.view().header;
    if (h.max_timestamp <= newest) continue;
    newest = h.max_timestamp;
    newest_offset = h.last_offset();
  }
  if (newest < max_timestamp_ || newest <= last_time_entry_) return {};
  max_timestamp_ = newest;
  max_timestamp_offset_ = newest_offset;
  return {};
}

bool SegmentIndexes::full(std::int64_t bytes, TimestampMs newest) const {
  return (offsets_.count() + 1) * OffsetEntry::kBytes > bytes ||
         (std::max(newest, max_timestamp_) > last_time_entry_ &&
          (times_.count() + 1) * TimeEntry::kBytes > bytes);
}

Result<void> SegmentIndexes::drop_from(std::int64_t position) {
  TRY_ASSIGN(const std::int64_t count,
             offsets_.partition_point([&](const OffsetEntry& e) { return e.position < position; }));
  return offsets_.keep(count);
}

Result<void> SegmentIndexes::sync() {
  TRY(offsets_.sync());
  return times_.sync();
}

Result<void> SegmentIndexes::close_segment(File& log) {
  return append_time_entry(log, std::numeric_limits<std::int64_t>::max());
}

}  // namespace spool
