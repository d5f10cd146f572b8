#include "log/verify_segment.h"

#include <algorithm>
#include <array>
#include <memory>

#include <fmt/format.h>

#include "base/crc32c.h"
#include "log/batch_reader.h"
#include "log/find_batch.h"
#include "log/lookup.h"
#include "log/segment.h"
#include "log/verify_index.h"
#include "log/verify_ranges.h"

namespace spool {

namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
constexpr int kSecondLookMs = 20;
constexpr int kLooks = 3;
constexpr int kLooksMax = 100;
constexpr int kWaitsMax = 16;
constexpr std::size_t kEpochRunsMax = 100'000;

std::string moved_text(Offset base, Offset due) {
  return fmt::format("the base offset is {} instead of {}", base.value(), due.value());
}

/// Why no batch begins in these bytes, in words.
std::string why_bad(Bytes raw, std::int64_t bytes_left) {
  const bool zeros =
      std::all_of(raw.begin(), raw.end(), [](std::byte b) { return b == std::byte{0}; });
  if (zeros) return "zeros";
  if (raw.size() < kBatchHeaderBytes) return "less than the header of a batch";
  const BatchHeader h = BatchHeader::decode(raw.data());
  if (h.magic != 2) return fmt::format("the batch has format version {} instead of 2", h.magic);
  if (h.length < kBatchLengthMin)
    return fmt::format("the batch says a length of {}, and {} is the least", h.length,
                       kBatchLengthMin);
  if (!h.plausible()) return "the header of the batch makes no sense";
  if (h.size() > bytes_left)
    return fmt::format("the batch says {} bytes, and {} are left", h.size(), bytes_left);
  return "the CRC of the batch is wrong";
}

class SegmentWalk {
 public:
  SegmentWalk(const LogEnv& env, const PartitionPlace& place, Offset base,
              const SegmentRules& rules, const std::function<void(int)>& wait,
              VerifyProgress& progress, Helpers* helpers)
      : env_(env),
        place_(place),
        rules_(rules),
        wait_(wait),
        progress_(progress),
        helpers_(helpers) {
    out_.base = out_.next_offset = due_ = base;
    out_.log_path = segment_path(place.dir, base, kLogSuffix);
  }

  SegmentWalk(const SegmentWalk&) = delete;
  SegmentWalk& operator=(const SegmentWalk&) = delete;
  ~SegmentWalk() {
    if (ranges_) helpers_->forget(ranges_);
  }

  /// False when the file was deleted or replaced meanwhile: what was found is of a file that is no
  /// more.
  Result<bool> run();
  SegmentReport& report() { return out_; }

 private:
  Result<void> find_ranges();
  /// False when a batch is due that no range has.
  Result<bool> on_range();
  Result<void> on_batch(const CheckedBatch& batch, std::string flaw);
  Result<bool> on_bad();
  Result<bool> second_look();
  Result<void> on_end();
  void check_place(std::int64_t position, const BatchHeader& h);
  void resolve_late(Offset behind);
  void note_epoch(std::int64_t position, const BatchHeader& h);
  Result<std::string> why(std::int64_t position);
  void bad(std::int64_t position, Offset first, Offset last, std::string what) {
    out_.findings.push_back(damage_at(out_.log_path, position, first, last, std::move(what)));
  }

  const LogEnv& env_;
  const PartitionPlace& place_;
  const SegmentRules& rules_;
  const std::function<void(int)>& wait_;
  VerifyProgress& progress_;
  Helpers* helpers_;
  std::shared_ptr<RangeChecks> ranges_;  ///< of a large log, where somebody can help
  SegmentReport out_;
  std::shared_ptr<File> file_;
  std::optional<BatchReader> reader_;
  std::optional<IndexChecks> indexes_;
  std::int64_t limit_ = 0;  ///< size of the log when it was opened
  std::int64_t counted_ = 0;
  int waited_ = 0;
  Offset due_;
  std::optional<Offset> due_otherwise_;  ///< where the batch before had another offset than due
  Decompressor decompressor_;
  Buffer scratch_;
  std::string flaw_;
};

Result<bool> SegmentWalk::run() {
  std::string& path = out_.log_path;
  TRY_ASSIGN(IndexChecks indexes, IndexChecks::open(env_.fs, place_.dir, out_.base, place_.ours));
  indexes_ = std::move(indexes);
  auto file = env_.fs.open(path, OpenMode::kRead, 0);
  if (!file && file.error().code == Errc::kNotFound) {
    // The result of a compaction that has not taken its place yet, while the place is empty.
    std::string swap = segment_path(place_.dir, out_.base, kLogSwapSuffix);
    file = env_.fs.open(swap, OpenMode::kRead, 0);
    if (file) path = std::move(swap);
  }
  if (!file) {
    if (file.error().code != Errc::kNotFound) return fail(file.error());
    return false;
  }
  file_ = std::move(*file);
  TRY_ASSIGN(const FileStat st, file_->stat());
  limit_ = st.size;
  reader_.emplace(file_, 0, kChunkBytes);
  TRY(find_ranges());
  while (reader_->position() < limit_) {
    TRY_ASSIGN(const bool passed, on_range());
    if (passed) continue;
    TRY_ASSIGN(const BatchReader::Item item, reader_->next());
    if (item == BatchReader::Item::kBatch) {
      const CheckedBatch batch =
          check_records(reader_->view(), reader_->batch_position(), decompressor_, scratch_, flaw_);
      TRY(on_batch(batch, std::move(flaw_)));
      continue;
    }
    TRY_ASSIGN(const bool goes_on, on_bad());
    if (!goes_on) break;
  }
  TRY(on_end());
  const auto named = env_.fs.stat(path);
  if (!named && named.error().code != Errc::kNotFound) return fail(named.error());
  return named && named->same_file(st);
}

/// Where no batch could be read: looks again, in case somebody is writing it. True when it is whole
/// now.
Result<bool> SegmentWalk::second_look() {
  const std::int64_t at = reader_->position();
  // Only the last segment is written to; and where much is bad, waiting each time helps nobody.
  const bool waits = rules_.last && ++waited_ < kWaitsMax;
  int looks = waits ? kLooks : 1;
  std::int64_t size = limit_;
  for (int look = 0; look < looks; ++look) {
    if (waits) wait_(kSecondLookMs);
    TRY_ASSIGN(const FileStat st, file_->stat());
    reader_->seek(at);
    TRY_ASSIGN(const BatchReader::Item item, reader_->next());
    reader_->seek(at);
    // Whole now; or cut away, and this is the end.
    if (item == BatchReader::Item::kBatch || st.size <= at) return true;
    // A large batch that somebody is writing.
    if (item == BatchReader::Item::kPartial && st.size > size && looks < kLooksMax) ++looks;
    size = st.size;
  }
  return false;
}

Result<std::string> SegmentWalk::why(std::int64_t position) {
  std::array<std::byte, kBatchHeaderBytes> raw{};
  TRY_ASSIGN(const std::size_t got, file_->read_at(raw, position));
  return why_bad(Bytes(raw).first(got), limit_ - position);
}

/// False at the end.
Result<bool> SegmentWalk::on_bad() {
  TRY_ASSIGN(const bool whole, second_look());
  if (whole) {
    TRY_ASSIGN(const FileStat st, file_->stat());
    return st.size > reader_->position();
  }
  const std::int64_t at = reader_->position();
  resolve_late(due_);
  TRY_ASSIGN(std::string what, why(at));
  constexpr std::int64_t kSpan = std::int64_t{1} << 31;
  const Offset max = std::min(rules_.next_base.value_or(out_.base + kSpan), out_.base + kSpan);
  TRY_ASSIGN(const auto found, find_batch(*file_, at, due_, max));
  if (found) {
    const Offset behind = found->header.base_offset;
    bad(at, due_, behind - 1, std::move(what));
    indexes_->note_damage(at, found->position, due_, behind);
    due_ = behind;
    due_otherwise_.reset();
    reader_->seek(found->position);
    return true;
  }
  if (rules_.last) {
    out_.tail =
        Finding{Finding::Kind::kTail,
                out_.log_path,
                at,
                due_,
                Offset(-1),
                fmt::format("the last {} bytes hold no whole batch: {}", limit_ - at, what)};
  } else {
    const Offset behind = std::max(rules_.next_base.value_or(due_), due_);
    bad(at, due_, behind > due_ ? behind - 1 : due_, std::move(what));
    indexes_->note_damage(at, limit_, due_, behind);
    due_ = behind;
  }
  return false;
}

Result<void> SegmentWalk::find_ranges() {
  if (helpers_ == nullptr || helpers_->size() < 2 || limit_ < 2 * RangeChecks::kRangeBytes)
    return {};
  TRY_ASSIGN(
      const auto starts,
      RangeChecks::starts(env_.fs, segment_path(place_.dir, out_.base, kIndexSuffix), limit_));
  if (starts.size() < 2) return {};
  ranges_ = std::make_shared<RangeChecks>(file_, starts, limit_, 2 * helpers_->size());
  helpers_->ask(ranges_);
  return {};
}

Result<bool> SegmentWalk::on_range() {
  if (!ranges_) return false;
  TRY_ASSIGN(auto range, ranges_->take(reader_->position()));
  if (!range) return false;
  helpers_->ask(ranges_);
  auto flaw = range->flaws.begin();
  for (std::size_t i = 0; i < range->batches.size(); ++i) {
    const bool bad = flaw != range->flaws.end() && flaw->first == i;
    TRY(on_batch(range->batches[i], bad ? std::move((flaw++)->second) : std::string()));
  }
  if (range->end > range->from) reader_->seek(range->end);
  return range->end > range->from;
}

Result<void> SegmentWalk::on_batch(const CheckedBatch& batch, std::string flaw) {
  const BatchHeader& h = batch.header;
  check_place(batch.position, h);
  note_epoch(batch.position, h);
  ++out_.batches;
  out_.records += h.count;
  if (h.count <= h.last_offset_delta || (h.attributes & batch_attribute::kDeleteHorizon) != 0) {
    out_.compacted = true;
    indexes_->note_compacted();
  }
  out_.transactional = out_.transactional || h.transactional();
  if (!flaw.empty()) bad(batch.position, h.base_offset, h.last_offset(), std::move(flaw));
  TRY(indexes_->note({h, batch.position, batch.control}));
  const std::int64_t behind = batch.position + h.size();
  progress_.bytes += behind - counted_;
  progress_.records += h.count;
  counted_ = behind;
  return {};
}

/// Whether the batch may stand at its offset; due_ becomes the offset behind it.
void SegmentWalk::check_place(std::int64_t position, const BatchHeader& h) {
  const bool fits = h.base_offset == due_ || (due_otherwise_ && h.base_offset == *due_otherwise_);
  if (out_.late) resolve_late(h.base_offset);
  if (fits || h.base_offset == due_) {
    due_ = h.next_offset();
    due_otherwise_.reset();
    return;
  }
  if (h.base_offset > due_) {
    out_.late = LateBatch{position, h.base_offset, due_, h.last_offset()};
    // The next batch tells which of the two is right.
    due_otherwise_ = out_.late->due_end();
    due_ = h.next_offset();
    return;
  }
  bad(position, due_, due_ + h.last_offset_delta, moved_text(h.base_offset, due_));
  due_otherwise_ = h.next_offset();
  due_ = due_ + h.last_offset_delta + 1;
}

/// `behind`: the offset of what follows the late batch.
void SegmentWalk::resolve_late(Offset behind) {
  if (!out_.late) return;
  const LateBatch late = *out_.late;
  if (behind == late.last + 1 || behind != late.due_end()) {
    out_.late.reset();
    if (!rules_.dense) {
      out_.compacted = true;
      indexes_->note_compacted();
      return;
    }
    bad(late.position, late.due, late.base - 1,
        fmt::format("offsets {} to {} are missing in front of the batch", late.due.value(),
                    late.base.value() - 1));
    return;
  }
  out_.late.reset();
  bad(late.position, late.due, late.due_end() - 1, moved_text(late.base, late.due));
  due_ = late.due_end();
}

void SegmentWalk::note_epoch(std::int64_t position, const BatchHeader& h) {
  auto& runs = out_.epochs;
  if (!runs.empty() && runs.back().epoch == h.leader_epoch) {
    runs.back().last = h.last_offset();
    ++runs.back().batches;
    return;
  }
  if (runs.size() == kEpochRunsMax) return;
  const Offset behind = runs.empty() ? out_.base : runs.back().last + 1;
  runs.push_back({h.leader_epoch, behind, h.base_offset, h.last_offset(), position});
}

Result<void> SegmentWalk::on_end() {
  const std::int64_t read = std::min(reader_->position(), limit_);
  TRY_ASSIGN(const FileStat st, file_->stat());
  out_.bytes = limit_ + indexes_->bytes();
  out_.next_offset = due_;
  if (out_.late && rules_.next_base && !out_.tail) {
    resolve_late(*rules_.next_base);
    out_.next_offset = due_;
  }
  const bool grown = st.size > limit_;
  TRY_ASSIGN(auto findings, indexes_->finish(out_.tail ? read : reader_->position(), due_, grown,
                                             rules_.indexes_may_lead || out_.tail.has_value()));
  for (Finding& f : findings)
    out_.findings.push_back(std::move(f));
  progress_.bytes += out_.bytes - counted_;
  return {};
}

}  // namespace

Result<SegmentReport> verify_segment(const LogEnv& env, const PartitionPlace& place, Offset base,
                                     const SegmentRules& rules,
                                     const std::function<void(int ms)>& wait,
                                     VerifyProgress& progress, Helpers* helpers) {
  VerifyProgress unseen;
  for (int look = 0;; ++look) {
    SegmentWalk walk(env, place, base, rules, wait, look == 0 ? progress : unseen, helpers);
    TRY_ASSIGN(const bool same, walk.run());
    if (!same) {
      // Deleted, or replaced by compaction: then the new file is what counts.
      const auto there = stat_segment_log(env.fs, place.dir, base);
      if (!there && there.error().code != Errc::kNotFound) return fail(there.error());
      if (!there || look == kLooks) {
        SegmentReport gone;
        gone.gone = true;
        gone.base = gone.next_offset = base;
        gone.log_path = walk.report().log_path;
        return gone;
      }
      continue;
    }
    // Files change under the reader: what is really wrong is still so at a second look.
    const auto& findings = walk.report().findings;
    if (look > 0 ||
        std::none_of(findings.begin(), findings.end(), [](const Finding& f) { return f.damage(); }))
      return std::move(walk.report());
    wait(kSecondLookMs);
  }
}

}  // namespace spool
