#include "log/producer_replay.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/crc32c.h"
#include "log/batch_reader.h"
#include "log/find_batch.h"
#include "log/transactions.h"

namespace spool {

namespace {

constexpr std::size_t kHeadBytes = 10;
constexpr std::size_t kEntryBytes = 46;
constexpr std::size_t kCrcFrom = 6;
constexpr std::size_t kAbortedBytes = 34;
constexpr std::size_t kMarkerBytesMax = 4096;
constexpr std::size_t kChunkBytes = std::size_t{1} << 18;
constexpr std::int64_t kSegmentSpan = std::int64_t{1} << 31;

/// The coordinator epoch in the value of a marker: int16 version, int32 epoch.
std::int32_t coordinator_epoch(const BatchView& batch) {
  Decompressor decompressor;
  Buffer scratch;
  auto records = open_records(batch, decompressor, kMarkerBytesMax, scratch);
  if (!records) return -1;
  const RecordView* record = records->next();
  if (record == nullptr || !record->value || record->value->size() < 6) return -1;
  return load_be<std::int32_t>(as_bytes(*record->value).data() + 2);
}

std::int32_t last_sequence_of(const BatchHeader& h) {
  if (h.base_sequence < 0) return -1;
  // Sequences wrap to 0 behind the greatest int32.
  return static_cast<std::int32_t>((std::int64_t{h.base_sequence} + h.last_offset_delta) &
                                   0x7fffffff);
}

}  // namespace

std::optional<AbortedEntry> ProducerReplay::note(const BatchView& batch) {
  const BatchHeader& h = batch.header;
  if (h.producer_id < 0) return std::nullopt;
  ProducerEntry& p = producers_[h.producer_id];
  if (!h.control()) {
    p.epoch = h.producer_epoch;
    p.last_sequence = last_sequence_of(h);
    p.last_offset = h.last_offset();
    p.offset_delta = h.last_offset_delta;
    p.timestamp = h.max_timestamp;
    if (h.transactional() && p.first_offset < Offset(0)) p.first_offset = h.base_offset;
    return std::nullopt;
  }
  const auto type = h.count > 0 ? control_type(batch) : Result<std::int16_t>(kControlCommit);
  if (h.count == 0 || !type || (*type != kControlAbort && *type != kControlCommit))
    return std::nullopt;
  // A new epoch begins with this marker: sequences of the one before mean nothing in it.
  if (h.producer_epoch != p.epoch) {
    p.epoch = h.producer_epoch;
    p.last_sequence = -1;
    p.last_offset = Offset(-1);
    p.offset_delta = 0;
  }
  p.timestamp = h.max_timestamp;
  p.coordinator_epoch = coordinator_epoch(batch);
  const Offset first = std::exchange(p.first_offset, Offset(-1));
  if (*type != kControlAbort || first < Offset(0)) return std::nullopt;
  AbortedEntry out{h.producer_id, first, h.base_offset, h.base_offset + 1};
  for (const auto& [id, other] : producers_)
    if (other.first_offset >= Offset(0))
      out.last_stable = std::min(out.last_stable, other.first_offset);
  return out;
}

Result<void> ProducerReplay::load(std::string_view snapshot, const std::string& path) {
  TRY(parse_snapshot(snapshot, path));
  producers_.clear();
  const std::byte* const end = as_bytes(snapshot).data() + snapshot.size();
  for (const std::byte* at = as_bytes(snapshot).data() + kHeadBytes; at < end; at += kEntryBytes) {
    ProducerEntry& p = producers_[load_be<std::int64_t>(at)];
    p.epoch = load_be<std::int16_t>(at + 8);
    p.last_sequence = load_be<std::int32_t>(at + 10);
    p.last_offset = Offset(load_be<std::int64_t>(at + 14));
    p.offset_delta = load_be<std::int32_t>(at + 22);
    p.timestamp = TimestampMs(load_be<std::int64_t>(at + 26));
    p.coordinator_epoch = load_be<std::int32_t>(at + 34);
    p.first_offset = Offset(load_be<std::int64_t>(at + 38));
  }
  return {};
}

std::string ProducerReplay::snapshot() const {
  Buffer out(kHeadBytes + kEntryBytes * producers_.size());
  out.resize(kHeadBytes + kEntryBytes * producers_.size());
  std::byte* at = out.data();
  store_be<std::int16_t>(at, 1);
  store_be<std::int32_t>(at + 6, static_cast<std::int32_t>(producers_.size()));
  at += kHeadBytes;
  for (const auto& [id, p] : producers_) {
    store_be<std::int64_t>(at, id);
    store_be<std::int16_t>(at + 8, p.epoch);
    store_be<std::int32_t>(at + 10, p.last_sequence);
    store_be<std::int64_t>(at + 14, p.last_offset.value());
    store_be<std::int32_t>(at + 22, p.offset_delta);
    store_be<std::int64_t>(at + 26, p.timestamp.value());
    store_be<std::int32_t>(at + 34, p.coordinator_epoch);
    store_be<std::int64_t>(at + 38, p.first_offset.value());
    at += kEntryBytes;
  }
  store_be<std::uint32_t>(out.data() + 2, crc32c(out.bytes().subspan(kCrcFrom)));
  return std::string(out.text());
}

std::string encode_aborted(const std::vector<AbortedEntry>& entries) {
  std::string out;
  std::array<std::byte, kAbortedBytes> raw{};
  for (const AbortedEntry& e : entries) {
    store_be<std::int16_t>(raw.data(), 0);
    store_be<std::int64_t>(raw.data() + 2, e.producer_id);
    store_be<std::int64_t>(raw.data() + 10, e.first.value());
    store_be<std::int64_t>(raw.data() + 18, e.last.value());
    store_be<std::int64_t>(raw.data() + 26, e.last_stable.value());
    out += as_text(raw);
  }
  return out;
}

Result<ProducerReplay> replay_producers(const LogEnv& env, const PartitionPlace& place,
                                        const PartitionFiles& files, Offset upto) {
  ProducerReplay replay;
  Offset from = files.segments.empty() ? Offset(0) : files.segments.front();
  for (auto at = files.snapshots.rbegin(); at != files.snapshots.rend(); ++at) {
    if (*at > upto || *at < from) continue;
    const std::string path = segment_path(place.dir, *at, kSnapshotSuffix);
    const auto text = read_file(env.fs, path);
    if (!text || !replay.load(*text, path)) continue;
    from = *at;
    break;
  }
  for (std::size_t i = 0; i < files.segments.size() && files.segments[i] < upto; ++i) {
    const Offset base = files.segments[i];
    if (i + 1 < files.segments.size() && files.segments[i + 1] <= from) continue;
    TRY_ASSIGN(std::shared_ptr<File> file,
               env.fs.open(segment_path(place.dir, base, kLogSuffix), OpenMode::kRead, 0));
    BatchReader reader(file, 0, kChunkBytes);
    Offset due = base;
    for (;;) {
      TRY_ASSIGN(const BatchReader::Item item, reader.next());
      if (item == BatchReader::Item::kBatch) {
        const BatchHeader& h = reader.view().header;
        if (h.base_offset >= upto) break;
        if (h.base_offset >= from) (void)replay.note(reader.view());
        due = std::max(due, h.next_offset());
        continue;
      }
      if (item == BatchReader::Item::kEnd) break;
      TRY_ASSIGN(const auto found, find_batch(*file, reader.position(), due, base + kSegmentSpan));
      if (!found) break;
      reader.seek(found->position);
    }
  }
  return replay;
}

}  // namespace spool
