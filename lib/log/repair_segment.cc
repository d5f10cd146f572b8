#include "log/repair_segment.h"

#include <algorithm>
#include <array>
#include <memory>

#include <fmt/format.h>

#include "base/buffer.h"
#include "base/crc32c.h"
#include "io/atomic_file.h"
#include "log/batch_reader.h"
#include "log/epochs.h"
#include "log/find_batch.h"
#include "log/index_file.h"
#include "log/producer_replay.h"
#include "log/records_flaw.h"
#include "log/segment.h"
#include "log/verify_segment.h"

namespace spool {

namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
constexpr std::int64_t kSegmentSpan = std::int64_t{1} << 31;
using Kind = RepairPiece::Kind;

class Planner {
 public:
  Planner(const LogEnv& env, const PartitionPlace& place, Offset base, const RepairRules& rules)
      : env_(env), place_(place), rules_(rules), due_(base) {
    plan_.base = base;
  }
  Result<RepairPlan> run();

 private:
  /// A whole batch at another offset than is due: the one behind it tells what to do.
  struct Odd {
    std::int64_t from = 0;
    std::int64_t to = 0;
    BatchHeader header;
    Offset due;
    [[nodiscard]] Offset due_end() const { return due + header.last_offset_delta + 1; }
  };

  void on_batch(std::int64_t from, std::int64_t to, const BatchView& batch);
  Result<bool> on_bad(std::int64_t at);
  Result<std::optional<RepairPiece>> mend_header(std::int64_t from, const FoundBatch& found);
  void settle(std::optional<Offset> behind);
  void keep(std::int64_t from, std::int64_t to);
  void accept(std::int64_t from, std::int64_t to, const BatchHeader& header);
  void mend(std::int64_t from, std::int64_t to, BatchHeader header, std::string what);
  void lose(Kind kind, std::int64_t from, std::int64_t to, Offset behind, std::string what);

  const LogEnv& env_;
  const PartitionPlace& place_;
  const RepairRules& rules_;
  RepairPlan plan_;
  std::shared_ptr<File> file_;
  std::optional<BatchReader> reader_;
  std::optional<Odd> odd_;
  Offset due_;
  Decompressor decompressor_;
  Buffer scratch_;
};

Result<RepairPlan> Planner::run() {
  TRY_ASSIGN(file_,
             env_.fs.open(segment_path(place_.dir, plan_.base, kLogSuffix), OpenMode::kRead, 0));
  TRY_ASSIGN(const FileStat st, file_->stat());
  plan_.size = st.size;
  reader_.emplace(file_, 0, kChunkBytes);
  bool torn = false;
  while (reader_->position() < plan_.size) {
    TRY_ASSIGN(const BatchReader::Item item, reader_->next());
    if (item == BatchReader::Item::kBatch) {
      on_batch(reader_->batch_position(), reader_->position(), reader_->view());
      continue;
    }
    TRY_ASSIGN(const bool goes_on, on_bad(reader_->position()));
    if (goes_on) continue;
    torn = rules_.last;
    break;
  }
  settle(rules_.next_base);
  plan_.end = torn ? reader_->position() : plan_.size;
  // What was given out and is not there any more.
  const Offset end = rules_.last ? rules_.known_end : rules_.next_base.value_or(due_);
  if (end > due_ && (rules_.last || rules_.dense)) {
    lose(torn ? Kind::kCut : Kind::kMissing, plan_.end, plan_.size, end,
         torn ? "the end does not read" : "the end is missing");
    plan_.end = plan_.size;
  }
  plan_.next_offset = due_;
  return std::move(plan_);
}

void Planner::keep(std::int64_t from, std::int64_t to) {
  auto& pieces = plan_.pieces;
  if (!pieces.empty() && pieces.back().kind == Kind::kKeep && pieces.back().to == from) {
    pieces.back().to = to;
  } else {
    pieces.push_back({Kind::kKeep, from, to});
  }
}

void Planner::mend(std::int64_t from, std::int64_t to, BatchHeader header, std::string what) {
  due_ = header.next_offset();
  plan_.epoch = header.leader_epoch;
  plan_.pieces.push_back(
      {Kind::kMend, from, to, header.base_offset, header.next_offset(), header, std::move(what)});
}

void Planner::lose(Kind kind, std::int64_t from, std::int64_t to, Offset behind, std::string what) {
  BatchHeader near;
  near.leader_epoch = plan_.epoch;
  plan_.pieces.push_back({kind, from, to, due_, std::max(due_, behind), near, std::move(what)});
  due_ = std::max(due_, behind);
}

/// A batch that stands where it should.
void Planner::accept(std::int64_t from, std::int64_t to, const BatchHeader& header) {
  if (const auto other = rules_.epochs.find(from); other != rules_.epochs.end()) {
    BatchHeader mended = header;
    mended.leader_epoch = other->second;
    mend(from, to, mended,
         fmt::format("leader epoch {} becomes {}", header.leader_epoch.value(),
                     other->second.value()));
    return;
  }
  keep(from, to);
  due_ = header.next_offset();
  plan_.epoch = header.leader_epoch;
}

void Planner::on_batch(std::int64_t from, std::int64_t to, const BatchView& batch) {
  const BatchHeader& h = batch.header;
  settle(h.base_offset);
  if (std::string flaw = records_flaw(batch, decompressor_, scratch_); !flaw.empty()) {
    lose(Kind::kCut, from, to, std::max(h.next_offset(), due_), std::move(flaw));
    return;
  }
  scratch_.shrink(4 * kChunkBytes);
  if (h.base_offset == due_) {
    accept(from, to, h);
  } else {
    odd_ = Odd{from, to, h, due_};
  }
}

/// `behind`: the offset of what follows the odd batch, where something does.
void Planner::settle(std::optional<Offset> behind) {
  if (!odd_) return;
  const Odd odd = *odd_;
  odd_.reset();
  const bool stands = odd.header.base_offset > odd.due;
  const bool moved =
      behind ? *behind == odd.due_end() && *behind != odd.header.next_offset() : rules_.dense;
  if (moved) {
    BatchHeader mended = odd.header;
    mended.base_offset = odd.due;
    mend(odd.from, odd.to, mended,
         fmt::format("base offset {} becomes {}", odd.header.base_offset.value(), odd.due.value()));
    return;
  }
  if (!stands) {
    lose(Kind::kCut, odd.from, odd.to, due_,
         fmt::format("base offset {} where {} is due", odd.header.base_offset.value(),
                     odd.due.value()));
    return;
  }
  if (rules_.dense)
    lose(Kind::kMissing, odd.from, odd.from, odd.header.base_offset, "records are missing");
  accept(odd.from, odd.to, odd.header);
}

/// Length and version are outside of the CRC too: with the length that leads to what follows the
/// batch may be whole.
Result<std::optional<RepairPiece>> Planner::mend_header(std::int64_t from,
                                                        const FoundBatch& found) {
  const std::int64_t size = found.position - from;
  if (size < static_cast<std::int64_t>(kBatchHeaderBytes) || size > kSegmentSpan)
    return std::optional<RepairPiece>();
  Buffer raw;
  raw.resize(static_cast<std::size_t>(size));
  TRY_ASSIGN(const std::size_t got, file_->read_at(raw.mutable_bytes(), from));
  if (got < raw.size()) return std::optional<RepairPiece>();
  store_be<std::int8_t>(raw.data() + batch_field::kMagic, 2);
  store_be<std::int32_t>(raw.data() + batch_field::kLength,
                         static_cast<std::int32_t>(size - std::int64_t{kBatchLengthOverhead}));
  store_be<std::int64_t>(raw.data(), due_.value());
  BatchHeader header;
  if (check_batch(raw.bytes(), header) != BatchState::kWhole ||
      header.next_offset() != found.header.base_offset)
    return std::optional<RepairPiece>();
  return std::optional(RepairPiece{Kind::kMend, from, found.position, due_, header.next_offset(),
                                   header, "length or version put right"});
}

/// False at the end of what reads.
Result<bool> Planner::on_bad(std::int64_t at) {
  settle(std::nullopt);
  const Offset max =
      std::min(rules_.next_base.value_or(plan_.base + kSegmentSpan), plan_.base + kSegmentSpan);
  TRY_ASSIGN(const auto found, find_batch(*file_, at, due_, max));
  if (found) {
    TRY_ASSIGN(auto mended, mend_header(at, *found));
    if (mended) {
      mend(mended->from, mended->to, mended->mended, std::move(mended->what));
    } else {
      lose(Kind::kCut, at, found->position, found->header.base_offset, "it does not read");
    }
    reader_->seek(found->position);
    return true;
  }
  if (!rules_.last)
    lose(Kind::kCut, at, plan_.size, rules_.next_base.value_or(due_), "it does not read");
  return false;
}

/// An empty batch for offsets [first, behind), as compaction leaves one.
std::array<std::byte, kBatchHeaderBytes> empty_batch(Offset first, Offset behind, Epoch epoch) {
  std::array<std::byte, kBatchHeaderBytes> raw{};
  store_be<std::int64_t>(raw.data() + batch_field::kBaseOffset, first.value());
  store_be<std::int32_t>(raw.data() + batch_field::kLength, kBatchLengthMin);
  store_be<std::int32_t>(raw.data() + batch_field::kLeaderEpoch, epoch.value());
  store_be<std::int8_t>(raw.data() + batch_field::kMagic, 2);
  store_be<std::int32_t>(raw.data() + batch_field::kLastOffsetDelta,
                         static_cast<std::int32_t>(behind - first - 1));
  store_be<std::int64_t>(raw.data() + batch_field::kBaseTimestamp, -1);
  store_be<std::int64_t>(raw.data() + batch_field::kMaxTimestamp, -1);
  store_be<std::int64_t>(raw.data() + batch_field::kProducerId, -1);
  store_be<std::int16_t>(raw.data() + batch_field::kProducerEpoch, -1);
  store_be<std::int32_t>(raw.data() + batch_field::kBaseSequence, -1);
  store_be<std::uint32_t>(raw.data() + batch_field::kCrc,
                          crc32c(Bytes(raw).subspan(batch_field::kAttributes)));
  return raw;
}

Result<std::int64_t> copy_range(File& source, std::int64_t from, std::int64_t to, File& target,
                                std::int64_t at) {
  Buffer chunk;
  while (from < to) {
    chunk.resize(static_cast<std::size_t>(
        std::min<std::int64_t>(static_cast<std::int64_t>(kChunkBytes), to - from)));
    TRY_ASSIGN(const std::size_t got, source.read_at(chunk.mutable_bytes(), from));
    if (got == 0) return fail(Errc::kIo, "a segment shrank while it was copied");
    TRY(target.write_at(chunk.bytes().first(got), at));
    from += static_cast<std::int64_t>(got);
    at += static_cast<std::int64_t>(got);
  }
  return at;
}

/// Writes empty batches for the lost offsets of a piece at `at`, one for each leader epoch that the
/// epoch file has of them; returns the end.
Result<std::int64_t> write_empty(File& target, std::int64_t at, const RepairPiece& lost,
                                 const std::vector<EpochStart>& epochs) {
  for (Offset from = lost.first; from < lost.behind;) {
    const auto next =
        std::upper_bound(epochs.begin(), epochs.end(), from,
                         [](const Offset offset, const EpochStart& e) { return offset < e.start; });
    const Offset to = next == epochs.end() ? lost.behind : std::min(lost.behind, next->start);
    const Epoch epoch = next == epochs.begin() ? lost.mended.leader_epoch : (next - 1)->epoch;
    const auto empty = empty_batch(from, to, std::max(epoch, Epoch(0)));
    TRY(target.write_at(empty, at));
    at += static_cast<std::int64_t>(empty.size());
    from = to;
  }
  return at;
}

}  // namespace

Result<RepairPlan> plan_segment(const LogEnv& env, const PartitionPlace& place, Offset base,
                                const RepairRules& rules) {
  return Planner(env, place, base, rules).run();
}

Result<std::string> save_cut(const LogEnv& env, const PartitionPlace& place, File& source,
                             std::int64_t from, std::int64_t to, Offset offset) {
  for (int i = 0;; ++i) {
    const std::string name =
        fmt::format("spool.cut-{}{}", offset.value(), i == 0 ? "" : fmt::format("-{}", i));
    const std::string path = join_path(place.dir, name);
    const auto there = env.fs.stat(path);
    if (there) continue;
    if (there.error().code != Errc::kNotFound) return fail(there.error());
    TRY_ASSIGN(const auto target, env.fs.open(path, OpenMode::kReplace, env.file_mode));
    auto copied = copy_range(source, from, to, *target, 0);
    auto synced = copied ? target->sync() : Result<void>(fail(copied.error()));
    if (!synced) {
      (void)env.fs.unlink(path);  // half a copy helps nobody
      return fail(synced.error());
    }
    TRY(env.fs.sync_dir(place.dir));
    return name;
  }
}

Result<std::vector<std::string>> write_segment(const LogEnv& env, const PartitionPlace& place,
                                               const RepairPlan& plan, const std::string& to) {
  std::vector<std::string> saved;
  TRY_ASSIGN(const auto source,
             env.fs.open(segment_path(place.dir, plan.base, kLogSuffix), OpenMode::kRead, 0));
  for (const RepairPiece& p : plan.pieces) {
    if (p.kind != Kind::kCut || p.to == p.from) continue;
    TRY_ASSIGN(std::string name, save_cut(env, place, *source, p.from, p.to, p.first));
    saved.push_back(std::move(name));
  }
  const auto read = read_epochs(env.fs, place.dir);
  const std::vector<EpochStart> epochs = read ? *read : std::vector<EpochStart>();
  TRY_ASSIGN(const auto target, env.fs.open(to, OpenMode::kReplace, env.file_mode));
  std::int64_t at = 0;
  for (const RepairPiece& p : plan.pieces) {
    if (p.kind == Kind::kKeep || p.kind == Kind::kMend) {
      const std::int64_t begin = at;
      TRY_ASSIGN(at, copy_range(*source, p.from, p.to, *target, at));
      if (p.kind == Kind::kKeep) continue;
      std::array<std::byte, batch_field::kCrc> head{};
      store_be<std::int64_t>(head.data() + batch_field::kBaseOffset, p.mended.base_offset.value());
      store_be<std::int32_t>(head.data() + batch_field::kLength, p.mended.length);
      store_be<std::int32_t>(head.data() + batch_field::kLeaderEpoch,
                             p.mended.leader_epoch.value());
      store_be<std::int8_t>(head.data() + batch_field::kMagic, 2);
      TRY(target->write_at(head, begin));
    } else {
      TRY_ASSIGN(at, write_empty(*target, at, p, epochs));
    }
  }
  TRY(target->sync());
  return saved;
}

namespace {

/// Entries by Kafka's rules: one of each index when more than `interval` bytes came since the last,
/// the first batch gets none, time entries only where the time grew.
class IndexWriter {
 public:
  IndexWriter(OffsetIndex offsets, TimeIndex times, std::int64_t interval)
      : offsets_(std::move(offsets)), times_(std::move(times)), interval_(interval) {}

  Result<void> note(std::int64_t position, const BatchHeader& h) {
    if (h.max_timestamp > max_timestamp_) {
      max_timestamp_ = h.max_timestamp;
      max_timestamp_offset_ = h.last_offset();
    }
    if (bytes_since_entry_ > interval_) {
      TRY(add_time());
      TRY(offsets_.append({h.last_offset(), position}));
      bytes_since_entry_ = 0;
    }
    bytes_since_entry_ += h.size();
    return {};
  }
  Result<void> finish(bool closed) {
    if (closed) TRY(add_time());
    TRY(offsets_.sync());
    return times_.sync();
  }

 private:
  Result<void> add_time() {
    if (max_timestamp_ <= last_time_) return {};
    last_time_ = max_timestamp_;
    return times_.append({max_timestamp_, max_timestamp_offset_});
  }

  OffsetIndex offsets_;
  TimeIndex times_;
  std::int64_t interval_;
  std::int64_t bytes_since_entry_ = 0;
  TimestampMs last_time_ = kNoTimestamp;
  TimestampMs max_timestamp_ = kNoTimestamp;
  Offset max_timestamp_offset_;
};

Result<IndexWriter> empty_indexes(const LogEnv& env, const PartitionPlace& place, Offset base) {
  for (const char* suffix : {kIndexSuffix, kTimeIndexSuffix})
    TRY(env.fs.open(segment_path(place.dir, base, suffix), OpenMode::kReplace, env.file_mode));
  TRY_ASSIGN(OffsetIndex offsets,
             OffsetIndex::open_append(env.fs, segment_path(place.dir, base, kIndexSuffix), base,
                                      env.file_mode));
  TRY_ASSIGN(TimeIndex times,
             TimeIndex::open_append(env.fs, segment_path(place.dir, base, kTimeIndexSuffix), base,
                                    env.file_mode));
  return IndexWriter(std::move(offsets), std::move(times), place.config.index_interval_bytes);
}

}  // namespace

Result<void> rebuild_indexes(const LogEnv& env, const PartitionPlace& place, Offset base,
                             bool closed, bool aborted) {
  ProducerReplay producers;
  std::vector<AbortedEntry> entries;
  if (aborted) {
    TRY_ASSIGN(const PartitionFiles files, list_partition(env.fs, place.dir));
    TRY_ASSIGN(producers, replay_producers(env, place, files, base));
  }
  TRY_ASSIGN(IndexWriter indexes, empty_indexes(env, place, base));
  TRY_ASSIGN(std::shared_ptr<File> file,
             env.fs.open(segment_path(place.dir, base, kLogSuffix), OpenMode::kRead, 0));
  BatchReader reader(file, 0, kChunkBytes);
  for (;;) {
    TRY_ASSIGN(const BatchReader::Item item, reader.next());
    if (item != BatchReader::Item::kBatch) break;
    TRY(indexes.note(reader.batch_position(), reader.view().header));
    if (!aborted) continue;
    if (const auto entry = producers.note(reader.view())) entries.push_back(*entry);
  }
  TRY(indexes.finish(closed));
  if (!aborted) return {};
  return replace_file(env.fs, segment_path(place.dir, base, kTxnIndexSuffix),
                      encode_aborted(entries), env.file_mode, Durability::kNamed);
}

}  // namespace spool
