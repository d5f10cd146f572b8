#include "log/segment_indexes.h"

#include "log/batch_reader.h"
#include "log/segment.h"

namespace spool {

namespace {

constexpr std::size_t kProbeBytes = 4096;

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
  s.max_timestamp_offset_ = base;
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
  TRY_ASSIGN(const bool agree, s.agrees());
  if (!agree) {
    TRY(s.offsets_.keep(0));
    TRY(s.times_.keep(0));
  }
  TRY(s.resume());
  return s;
}

/// The time index must reach as far as the offset index does, or the greatest timestamp so far is
/// lost; and it must not speak of offsets that a scan from the last offset entry will bring again.
Result<bool> SegmentIndexes::agrees() {
  if (offsets_.count() == 0) {
    TRY(times_.keep(0));
    return true;
  }
  if (times_.count() == 0) return false;
  TRY_ASSIGN(const OffsetEntry last, offsets_.at(offsets_.count() - 1));
  TRY_ASSIGN(const std::int64_t count,
             times_.partition_point([&](const TimeEntry& e) { return e.offset <= last.offset; }));
  if (count == 0) return false;
  TRY(times_.keep(count));
  return true;
}

Result<void> SegmentIndexes::resume() {
  TRY(offsets_.keep(offsets_.count()));  // cuts what a broker preallocated
  TRY(times_.keep(times_.count()));
  // The batch of the last entry is noted again; its bytes count from there.
  bytes_since_entry_ = 0;
  resume_position_ = 0;
  last_time_entry_ = max_timestamp_ = kNoTimestamp;
  if (offsets_.count() > 0) {
    TRY_ASSIGN(const OffsetEntry last, offsets_.at(offsets_.count() - 1));
    resume_position_ = last.position;
  }
  if (times_.count() > 0) {
    TRY_ASSIGN(const TimeEntry last, times_.at(times_.count() - 1));
    last_time_entry_ = max_timestamp_ = last.timestamp;
    max_timestamp_offset_ = last.offset;
  }
  return {};
}

Result<void> SegmentIndexes::distrust_behind(Offset offset_max) {
  TRY_ASSIGN(const std::int64_t keep,
             offsets_.partition_point([&](const OffsetEntry& e) { return e.offset < offset_max; }));
  TRY(offsets_.keep(keep));
  TRY_ASSIGN(const bool agree, agrees());
  if (!agree) {
    TRY(offsets_.keep(0));
    TRY(times_.keep(0));
  }
  return resume();
}

Result<void> SegmentIndexes::note(std::int64_t position, const BatchHeader& header) {
  if (header.max_timestamp > max_timestamp_) {
    max_timestamp_ = header.max_timestamp;
    max_timestamp_offset_ = header.last_offset();
  }
  if (bytes_since_entry_ > interval_) {
    // In this order: a process that dies between the two leaves a time entry too many, which the
    // next one drops. One too few would hide its timestamp from every look-up by time.
    TRY(append_time_entry());
    TRY(offsets_.append({header.last_offset(), position}));
    bytes_since_entry_ = 0;
  }
  bytes_since_entry_ += header.size();
  return {};
}

Result<void> SegmentIndexes::append_time_entry() {
  if (max_timestamp_ <= last_time_entry_) return {};
  TRY(times_.append({max_timestamp_, max_timestamp_offset_}));
  last_time_entry_ = max_timestamp_;
  return {};
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

Result<void> SegmentIndexes::close_segment() {
  return append_time_entry();
}

}  // namespace spool
