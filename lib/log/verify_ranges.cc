#include "log/verify_ranges.h"

#include <algorithm>

#include "log/batch_reader.h"
#include "log/index_file.h"
#include "log/records_flaw.h"

namespace spool {

namespace {

/// Small enough that a batch is still in the processor's cache when its records are looked at.
constexpr std::size_t kChunkBytes = std::size_t{1} << 18;
constexpr std::size_t kIndexPiece = std::size_t{64} << 10;
constexpr std::size_t kScratchKeep = std::size_t{4} << 20;

}  // namespace

CheckedBatch check_records(const BatchView& batch, std::int64_t position,
                           Decompressor& decompressor, Buffer& scratch, std::string& flaw) {
  CheckedBatch out{batch.header, position, std::nullopt};
  flaw = records_flaw(batch, decompressor, scratch);
  scratch.shrink(kScratchKeep);
  if (batch.header.control() && batch.header.count > 0)
    if (const auto type = control_type(batch)) out.control = *type;
  return out;
}

struct RangeChecks::Workspace {
  explicit Workspace(const std::shared_ptr<File>& log) : reader(log, 0, kChunkBytes) {}
  BatchReader reader;
  Decompressor decompressor;
  Buffer scratch;
};

RangeChecks::RangeChecks(std::shared_ptr<File> log, const std::vector<std::int64_t>& starts,
                         std::int64_t limit, std::size_t ahead)
    : log_(std::move(log)), ahead_(std::max<std::size_t>(ahead, 1)), ranges_(starts.size()) {
  for (std::size_t i = 0; i < starts.size(); ++i) {
    ranges_[i].checked.from = ranges_[i].checked.end = starts[i];
    ranges_[i].until = i + 1 < starts.size() ? starts[i + 1] : limit;
  }
}

RangeChecks::~RangeChecks() = default;

Result<std::vector<std::int64_t>> RangeChecks::starts(Fs& fs, const std::string& index,
                                                      std::int64_t limit) {
  std::vector<std::int64_t> out{0};
  auto file = fs.open(index, OpenMode::kRead, 0);
  if (!file && file.error().code == Errc::kNotFound) return out;
  if (!file) return fail(file.error());
  Buffer piece(kIndexPiece);
  constexpr auto kEntry = static_cast<std::size_t>(OffsetEntry::kBytes);
  for (std::int64_t at = 0;; at += static_cast<std::int64_t>(kIndexPiece)) {
    piece.resize(kIndexPiece);
    TRY_ASSIGN(const std::size_t got, (*file)->read_at(piece.mutable_bytes(), at));
    for (std::size_t i = 0; i + kEntry <= got; i += kEntry) {
      const std::int64_t position = OffsetEntry::decode(piece.data() + i, Offset(0)).position;
      if (position >= out.back() + kRangeBytes && position < limit) out.push_back(position);
    }
    if (got < kIndexPiece) return out;
  }
}

/// Needs mutex_. The first range that nobody is at, of those that may be done now.
std::optional<std::size_t> RangeChecks::claim() {
  const std::size_t end = std::min(ranges_.size(), next_ + ahead_);
  for (std::size_t i = next_; i < end; ++i)
    if (ranges_[i].state == Range::State::kOpen) {
      ranges_[i].state = Range::State::kTaken;
      return i;
    }
  return std::nullopt;
}

Result<void> RangeChecks::check_range(Range& range, Workspace& space) {
  BatchReader& reader = space.reader;
  CheckedRange& out = range.checked;
  std::string flaw;
  for (reader.seek(out.from); reader.position() < range.until; out.end = reader.position()) {
    TRY_ASSIGN(const BatchReader::Item item, reader.next());
    if (item != BatchReader::Item::kBatch) return {};
    out.batches.push_back(check_records(reader.view(), reader.batch_position(), space.decompressor,
                                        space.scratch, flaw));
    if (!flaw.empty()) out.flaws.emplace_back(out.batches.size() - 1, std::move(flaw));
  }
  return {};
}

/// Needs mutex_ in `guard`, gives it back while at work.
void RangeChecks::check(std::size_t i, std::unique_lock<std::mutex>& guard) {
  std::unique_ptr<Workspace> space;
  if (!idle_.empty()) {
    space = std::move(idle_.back());
    idle_.pop_back();
  }
  Range& range = ranges_[i];
  guard.unlock();
  if (!space) space = std::make_unique<Workspace>(log_);
  auto checked = check_range(range, *space);
  guard.lock();
  if (!checked) range.error = checked.error();
  range.state = Range::State::kDone;
  if (i < next_) range.checked = {};  // not wanted any more
  idle_.push_back(std::move(space));
  done_.notify_all();
}

bool RangeChecks::help() {
  std::unique_lock guard(mutex_);
  const auto mine = claim();
  if (!mine) return false;
  check(*mine, guard);
  return true;
}

Result<std::optional<CheckedRange>> RangeChecks::take(std::int64_t position) {
  std::unique_lock guard(mutex_);
  while (next_ < ranges_.size() && ranges_[next_].checked.from < position) {
    if (ranges_[next_].state == Range::State::kDone) ranges_[next_].checked.batches = {};
    ++next_;
  }
  if (next_ == ranges_.size() || ranges_[next_].checked.from != position)
    return std::optional<CheckedRange>();
  Range& wanted = ranges_[next_];
  while (wanted.state != Range::State::kDone) {
    if (const auto mine = claim()) {
      check(*mine, guard);
    } else {
      done_.wait(guard);
    }
  }
  ++next_;
  if (wanted.error) return fail(*wanted.error);
  return std::optional(std::move(wanted.checked));
}

}  // namespace spool
