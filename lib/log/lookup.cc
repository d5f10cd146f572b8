#include "log/lookup.h"

#include <algorithm>

#include "log/checkpoint.h"
#include "log/index_file.h"
#include "log/segment_indexes.h"
#include "log/state_file.h"
#include "log/transactions.h"

namespace spool {

namespace {

constexpr std::size_t kChunk = std::size_t{1} << 18;

}  // namespace

Result<WalkEnd> end_of_segment(const LogEnv& env, const PartitionPlace& place, Offset base,
                               Offset promised) {
  TRY_ASSIGN(std::shared_ptr<File> file, open_segment_log(env.fs, place.dir, base));
  const std::int64_t from = position_for(env.fs, place.dir, base, *file,
                                         Offset(std::numeric_limits<std::int64_t>::max()));
  BatchReader reader(std::move(file), from, kChunk);
  const auto expected = from == 0 ? std::optional(base) : std::nullopt;
  return walk_segment(reader, expected, base,
                      {.dense = place.dense, .pass_rot = true, .rot_below = promised},
                      [&](std::int64_t, const BatchView&) { return env.go_on(); }, {});
}

namespace {

/// Appends never go before the recovery point, should the log have lost its end.
Offset promised_end(const LogEnv& env, const PartitionPlace& place) {
  if (!place.ours) return Offset(0);
  const auto folder = env.fs.stat(place.dir);
  const auto state = read_state(env.fs, place.dir);
  if (!folder || !state || !*state || !(*state)->same_folder(*folder)) return Offset(0);
  return (*state)->recovery_point;
}

/// A time entry is a hint; it is believed when the batch that ends at its offset has just that
/// greatest timestamp.
Result<std::optional<Offset>> batch_of(const LogEnv& env, const PartitionPlace& place, Offset base,
                                       const TimeEntry& entry) {
  Cursor cursor(env, place, entry.offset);
  cursor.start_in(base);
  const auto step = cursor.next();
  if (!step || *step != Cursor::Step::kBatch) return std::optional<Offset>();
  const BatchHeader& h = cursor.batch().header;
  if (h.last_offset() != entry.offset || h.max_timestamp != entry.timestamp)
    return std::optional<Offset>();
  return std::optional(h.base_offset);
}

}  // namespace

Result<PartitionView> view_partition(const LogEnv& env, const PartitionPlace& place) {
  constexpr int kAttempts = 10;
  PartitionView view;
  TRY_ASSIGN(const auto checkpoint,
             checkpoint_offset(env.fs, join_path(env.root, kLogStartCheckpoint), place.topic,
                               place.partition));
  for (int attempt = 0;; ++attempt) {
    auto files = list_partition(env.fs, place.dir);
    if (!files && files.error().code == Errc::kNotFound) return view;
    if (!files) return fail(files.error());
    view.files = std::move(*files);
    const Offset promised = promised_end(env, place);
    view.log_end = promised;
    if (view.files.segments.empty()) return view;
    view.log_start = std::max(view.files.segments.front(), checkpoint.value_or(Offset(0)));
    auto end = end_of_segment(env, place, view.files.segments.back(), promised);
    if (!end && end.error().code == Errc::kNotFound && attempt < kAttempts) continue;
    if (!end) return fail(end.error());
    view.log_end = std::max({end->next_offset, view.log_start, promised});
    return view;
  }
}

std::int64_t partition_bytes(const LogEnv& env, const PartitionPlace& place,
                             const PartitionView& view) {
  std::int64_t bytes = 0;
  for (const Offset base : view.files.segments) {
    const auto st = stat_segment_log(env.fs, place.dir, base);
    if (st) bytes += st->size;
  }
  return bytes;
}

namespace {

/// Everything below the returned offset of this segment is older than `time`; the segment's base
/// when nothing is known.
Result<Offset> older_below(const LogEnv& env, const PartitionPlace& place, Offset base,
                           TimestampMs time) {
  const auto index =
      TimeIndex::open_read(env.fs, segment_path(place.dir, base, kTimeIndexSuffix), base);
  if (!index) return base;
  const auto count = index->partition_point([&](const TimeEntry& e) { return e.timestamp < time; });
  if (!count || *count == 0) return base;
  const auto entry = index->at(*count - 1);
  if (!entry || entry->offset < base) return base;
  TRY_ASSIGN(const auto found, batch_of(env, place, base, *entry));
  return found.value_or(base);
}

/// The first record at or after `time` in a batch, not below `from`.
Result<std::optional<Offset>> first_in_batch(const BatchView& batch, Offset from, TimestampMs time,
                                             Decompressor& decompressor, Buffer& scratch) {
  TRY_ASSIGN(RecordIterator records,
             open_records(batch, decompressor, kDecompressedBytesMax, scratch));
  while (const RecordView* r = records.next())
    if (r->offset >= from && r->timestamp >= time) return std::optional(r->offset);
  if (!records.ok()) return fail(Errc::kCorrupt, "its records do not parse");
  return std::optional<Offset>();
}

}  // namespace

Result<Offset> offset_for_time(const LogEnv& env, const PartitionPlace& place,
                               const PartitionView& view, TimestampMs time) {
  Decompressor decompressor;
  Buffer scratch;
  for (std::size_t i = 0; i < view.files.segments.size(); ++i) {
    const Offset base = view.files.segments[i];
    const Offset segment_end =
        i + 1 < view.files.segments.size() ? view.files.segments[i + 1] : view.log_end;
    if (segment_end <= view.log_start) continue;
    TRY_ASSIGN(const Offset from, older_below(env, place, base, time));
    Cursor cursor(env, place, std::max(from, view.log_start));
    cursor.start_in(base);
    while (cursor.next_offset() < segment_end) {
      TRY(env.go_on());
      TRY_ASSIGN(const Cursor::Step step, next_whole(cursor));
      if (step == Cursor::Step::kEnd) break;
      const BatchHeader& h = cursor.batch().header;
      if (h.control() || h.max_timestamp < time) continue;
      const auto found =
          first_in_batch(cursor.batch(), view.log_start, time, decompressor, scratch);
      if (!found) return std::max(h.base_offset, view.log_start);  // one of its records it is
      if (*found) return **found;
    }
  }
  return view.log_end;
}

void NewestRecords::offer(const RecordTime& r) {
  if (limit_ == 0) return;
  if (heap_.size() == limit_) {
    if (r <= heap_.top()) return;
    heap_.pop();
  }
  heap_.push(r);
}

std::vector<RecordTime> NewestRecords::take() {
  std::vector<RecordTime> out;
  out.reserve(heap_.size());
  for (; !heap_.empty(); heap_.pop())
    out.push_back(heap_.top());
  return out;
}

namespace {

/// A run of offsets, and the time entry that bounds everything before it in its segment.
struct Block {
  Offset from;
  Offset to;
  std::optional<TimeEntry> older_max;  ///< unset: not known
};

/// How many entries of an offset index speak of what the log still has: a log that was cut short
/// leaves the others behind.
std::int64_t entries_of_log(const LogEnv& env, const PartitionPlace& place, Offset base,
                            const OffsetIndex& offsets) {
  const auto log = env.fs.open(segment_path(place.dir, base, kLogSuffix), OpenMode::kRead, 0);
  if (!log) return 0;
  const auto st = (*log)->stat();
  if (!st) return 0;
  const auto inside =
      offsets.partition_point([&](const OffsetEntry& e) { return e.position < st->size; });
  for (std::int64_t count = inside ? *inside : 0; count > 0; --count) {
    const auto last = offsets.at(count - 1);
    const auto holds = last ? entry_holds(**log, *last, base) : Result<bool>(false);
    if (holds && *holds) return count;
  }
  return 0;
}

/// Cuts a segment into blocks at its offset-index entries, oldest first.
std::vector<Block> blocks_of(const LogEnv& env, const PartitionPlace& place, Offset base,
                             Offset end) {
  std::vector<Block> blocks{{base, end, std::nullopt}};
  const auto offsets =
      OffsetIndex::open_read(env.fs, segment_path(place.dir, base, kIndexSuffix), base);
  const auto times =
      TimeIndex::open_read(env.fs, segment_path(place.dir, base, kTimeIndexSuffix), base);
  if (!offsets || !times || times->count() == 0) return blocks;
  std::int64_t t = 0;
  const std::int64_t count = entries_of_log(env, place, base, *offsets);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto entry = offsets->at(i);
    if (!entry || entry->offset < blocks.back().from || entry->offset >= end) break;
    // Bounded by the first time entry that is not before: the end of a time index may be lost, and
    // then an earlier entry says nothing about what is between it and this place.
    std::optional<TimeEntry> bound;
    for (; t < times->count() && !bound; ++t) {
      const auto time = times->at(t);
      if (!time) break;
      if (time->offset >= entry->offset) bound = *time;
    }
    if (!bound) break;
    --t;  // it may bound the next one too
    // The entry's batch ends at its offset: what is behind it begins a block.
    blocks.back().to = entry->offset + 1;
    blocks.push_back({entry->offset + 1, end, bound});
  }
  return blocks;
}

/// Offers the records of [from, to), all in the segment `base`, that are wanted.
Result<void> offer_block(const LogEnv& env, const PartitionPlace& place, Offset base, Offset from,
                         Offset to, bool read_committed, RecordTimes& newest) {
  Decompressor decompressor;
  Buffer scratch;
  TransactionFilter filter(env, place);
  Cursor cursor(env, place, from);
  cursor.start_in(base);
  while (cursor.next_offset() < to) {
    TRY(env.go_on());
    TRY_ASSIGN(const Cursor::Step step, next_whole(cursor));
    if (step == Cursor::Step::kEnd) break;
    const BatchView& batch = cursor.batch();
    if (batch.header.control() || !newest.wants(batch.header.max_timestamp)) continue;
    if (read_committed) {
      TRY_ASSIGN(const auto verdict, filter.judge(batch.header));
      if (verdict != TransactionFilter::Verdict::kDeliver) continue;
    }
    auto records = open_records(batch, decompressor, kDecompressedBytesMax, scratch);
    if (!records) continue;  // whoever reads it says so
    while (const RecordView* r = records->next())
      if (r->offset >= from && r->offset < to)
        newest.offer({r->timestamp, place.partition, r->offset});
  }
  return {};
}

/// Whether nothing up to the entry's offset can be wanted any more.
Result<bool> too_old(const LogEnv& env, const PartitionPlace& place, Offset base,
                     const std::optional<TimeEntry>& entry, const RecordTimes& newest) {
  if (!entry || newest.wants(entry->timestamp)) return false;
  TRY_ASSIGN(const auto found, batch_of(env, place, base, *entry));
  return found.has_value();
}

}  // namespace

Result<void> find_newest(const LogEnv& env, const PartitionPlace& place, const PartitionView& view,
                         Offset end, bool read_committed, RecordTimes& newest) {
  Offset segment_end = end;
  for (auto base = view.files.segments.rbegin(); base != view.files.segments.rend(); ++base) {
    if (*base >= end) continue;
    const auto blocks = blocks_of(env, place, *base, segment_end);
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
      const Offset from = std::max(block->from, view.log_start);
      if (from < block->to)
        TRY(offer_block(env, place, *base, from, block->to, read_committed, newest));
      TRY_ASSIGN(const bool enough, too_old(env, place, *base, block->older_max, newest));
      if (enough) break;
    }
    segment_end = *base;
    if (*base <= view.log_start) break;
  }
  return {};
}

}  // namespace spool
