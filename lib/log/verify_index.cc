#include "log/verify_index.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "log/segment.h"
#include "log/transactions.h"

namespace spool {

namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 10;
constexpr std::int64_t kAbortedBytes = 34;
constexpr std::size_t kAbortedProducer = 2, kAbortedFirst = 10, kAbortedLast = 18,
                      kAbortedStable = 26;

bool all_zero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

Result<EntryStream> EntryStream::open(Fs& fs, const std::string& path, std::int64_t entry_bytes,
                                      std::vector<Finding>& findings) {
  EntryStream s;
  s.path_ = path;
  s.entry_bytes_ = entry_bytes;
  auto file = fs.open(path, OpenMode::kRead, 0);
  if (!file && file.error().code == Errc::kNotFound) return s;
  if (!file) return fail(file.error());
  s.file_ = std::move(*file);
  TRY_ASSIGN(const FileStat st, s.file_->stat());
  s.size_ = st.size / entry_bytes * entry_bytes;
  if (s.size_ != st.size)
    findings.push_back(damage_at(path, s.size_, Offset(-1), Offset(-1),
                                 fmt::format("{} bytes behind the last entry, and an entry has {}",
                                             st.size - s.size_, entry_bytes)));
  return s;
}

Result<void> EntryStream::fill() {
  buffer_.resize(kReadBytes / static_cast<std::size_t>(entry_bytes_) *
                 static_cast<std::size_t>(entry_bytes_));
  const auto want = std::min<std::int64_t>(static_cast<std::int64_t>(buffer_.size()), size_ - at_);
  buffer_.resize(static_cast<std::size_t>(want));
  TRY_ASSIGN(const std::size_t got, file_->read_at(buffer_.mutable_bytes(), at_));
  buffer_.resize(got);
  buffer_at_ = at_;
  // Cut by who rebuilds it: the rest is another index.
  if (static_cast<std::int64_t>(got) < want)
    size_ = at_ + static_cast<std::int64_t>(got) / entry_bytes_ * entry_bytes_;
  return {};
}

/// At the first entry of zeros: all behind it must be zeros, too.
Result<void> EntryStream::check_zeros(std::vector<Finding>& findings) {
  ended_ = true;
  const std::int64_t zeros_from = at_;
  for (; at_ < size_; at_ += static_cast<std::int64_t>(buffer_.size())) {
    TRY(fill());
    if (buffer_.empty()) break;
    if (all_zero(buffer_.bytes())) continue;
    const Bytes bytes = buffer_.bytes();
    const auto odd =
        std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{0}; });
    const std::int64_t odd_at = at_ + std::distance(bytes.begin(), odd);
    // A broker fills its preallocated file in order: then there is an entry here by now.
    at_ = zeros_from;
    TRY(fill());
    if (all_zero(buffer_.bytes().first(
            std::min(buffer_.size(), static_cast<std::size_t>(entry_bytes_)))))
      findings.push_back(damage_at(path_, odd_at, Offset(-1), Offset(-1),
                                   "a byte that is not zero behind the entries"));
    break;
  }
  at_ = size_ = zeros_from;
  buffer_.clear();
  return {};
}

Result<const std::byte*> EntryStream::peek(std::vector<Finding>& findings) {
  const std::byte* const none = nullptr;
  if (ended_ || at_ >= size_) return none;
  // Two at a time: behind() looks at the next one.
  const std::int64_t want = std::min(at_ + 2 * entry_bytes_, size_);
  if (buffer_.empty() || want > buffer_at_ + static_cast<std::int64_t>(buffer_.size())) {
    TRY(fill());
    if (at_ >= size_) return none;
  }
  const std::byte* entry = buffer_.data() + (at_ - buffer_at_);
  if (!all_zero({entry, static_cast<std::size_t>(entry_bytes_)})) return entry;
  TRY(check_zeros(findings));
  return none;
}

const std::byte* EntryStream::behind() const {
  const std::int64_t next = at_ + entry_bytes_;
  if (next + entry_bytes_ > buffer_at_ + static_cast<std::int64_t>(buffer_.size())) return nullptr;
  const std::byte* entry = buffer_.data() + (next - buffer_at_);
  return all_zero({entry, static_cast<std::size_t>(entry_bytes_)}) ? nullptr : entry;
}

Result<IndexChecks> IndexChecks::open(Fs& fs, const std::string& dir, Offset base, bool ours) {
  IndexChecks c;
  c.base_ = base;
  c.ours_ = ours;
  TRY_ASSIGN(c.offsets_, EntryStream::open(fs, segment_path(dir, base, kIndexSuffix),
                                           OffsetEntry::kBytes, c.findings_));
  TRY_ASSIGN(c.times_, EntryStream::open(fs, segment_path(dir, base, kTimeIndexSuffix),
                                         TimeEntry::kBytes, c.findings_));
  TRY_ASSIGN(c.aborted_, EntryStream::open(fs, segment_path(dir, base, kTxnIndexSuffix),
                                           kAbortedBytes, c.findings_));
  if (c.aborted_.size() > 0) c.load_open_transactions(fs, dir);
  return c;
}

/// What was open where the segment begins: a broker writes a snapshot there.
void IndexChecks::load_open_transactions(Fs& fs, const std::string& dir) {
  open_known_ = base_ == Offset(0);
  const std::string path = segment_path(dir, base_, kSnapshotSuffix);
  const auto text = read_file(fs, path);
  if (!text) return;
  const auto entries = parse_snapshot(*text, path);
  if (!entries) return;
  open_known_ = true;
  for (const SnapshotEntry& e : *entries)
    if (e.first_offset >= Offset(0)) open_[e.producer_id] = e.first_offset;
}

void IndexChecks::note_damage(std::int64_t from, std::int64_t to, Offset first, Offset behind) {
  damage_from_ = from;
  damage_to_ = to;
  damage_first_ = first;
  damage_behind_ = behind;
  open_known_ = false;  // a marker or a first batch may be among it
}

void IndexChecks::bad(const EntryStream& in, Offset offset, std::string what) {
  findings_.push_back(damage_at(in.path(), in.position(), offset, offset, std::move(what)));
}

Result<void> IndexChecks::note(const IndexedBatch& batch) {
  TRY(note_offset(batch));
  TRY(note_time(batch));
  return note_transaction(batch);
}

Result<void> IndexChecks::note_offset(const IndexedBatch& batch) {
  for (;;) {
    TRY_ASSIGN(const std::byte* raw, offsets_.peek(findings_));
    if (raw == nullptr) return {};
    const OffsetEntry entry = OffsetEntry::decode(raw, base_);
    const std::byte* raw_behind = offsets_.behind();
    const std::optional<OffsetEntry> behind =
        raw_behind ? std::optional(OffsetEntry::decode(raw_behind, base_)) : std::nullopt;
    if (entry.position > batch.position) {
      // Positions ascend: it is this one that points too far when the next one's batch is here.
      if (!behind || behind->position < 0 || behind->position > batch.position) return {};
      bad(offsets_, entry.offset,
          fmt::format("the entry points to byte {}, behind the entry that follows it",
                      entry.position));
    } else if (entry.position == batch.position) {
      const Offset last = batch.header.last_offset();
      if (entry.offset != last) {
        const bool set =
            !ours_ && entry.offset > last && (!behind || entry.offset < behind->offset);
        bad(offsets_, entry.offset,
            fmt::format("the entry says offset {}, and the batch at byte {} ends at {}",
                        entry.offset.value(), entry.position, last.value()));
        if (set) {
          sets_.push_back(std::move(findings_.back()));
          findings_.pop_back();
        }
      }
    } else if (entry.position < damage_from_ || entry.position >= damage_to_) {
      bad(offsets_, entry.offset,
          fmt::format("the entry points to byte {}, where no batch begins", entry.position));
    }
    offsets_.pop();
  }
}

Result<void> IndexChecks::note_time(const IndexedBatch& batch) {
  const Offset last = batch.header.last_offset();
  const TimestampMs before = max_timestamp_;
  max_timestamp_ = std::max(max_timestamp_, batch.header.max_timestamp);
  for (;;) {
    TRY_ASSIGN(const std::byte* raw, times_.peek(findings_));
    if (raw == nullptr) return {};
    const TimeEntry entry = TimeEntry::decode(raw, base_);
    if (entry.offset > last) {
      const std::byte* behind = times_.behind();
      if (behind == nullptr) return {};
      const Offset next = TimeEntry::decode(behind, base_).offset;
      if (next < base_ || next > last) return {};
      bad(times_, entry.offset,
          fmt::format("the entry says offset {}, behind the entry that follows it",
                      entry.offset.value()));
    } else if (entry.offset == last) {
      if (entry.timestamp != batch.header.max_timestamp || entry.timestamp <= before)
        bad(times_, entry.offset,
            fmt::format("the entry says time {}, and the greatest up to offset {} is {}",
                        entry.timestamp.value(), last.value(), max_timestamp_.value()));
    } else if (entry.offset < damage_first_ || entry.offset >= damage_behind_) {
      bad(times_, entry.offset,
          fmt::format("the entry says offset {}, at which no batch ends", entry.offset.value()));
      if (!ours_ && entry.offset >= batch.header.base_offset && entry.timestamp == max_timestamp_) {
        sets_.push_back(std::move(findings_.back()));
        findings_.pop_back();
      }
    }
    times_.pop();
  }
}

Result<void> IndexChecks::note_transaction(const IndexedBatch& batch) {
  if (aborted_.size() == 0 || !batch.header.transactional()) return {};
  const BatchHeader& h = batch.header;
  if (!h.control()) {
    open_.emplace(h.producer_id, h.base_offset);
    return {};
  }
  if (batch.control != kControlAbort && batch.control != kControlCommit) return {};
  std::optional<Offset> first;
  if (const auto found = open_.find(h.producer_id); found != open_.end()) {
    first = found->second;
    open_.erase(found);
  }
  return note_abort(h, batch.control == kControlAbort ? first : std::nullopt);
}

/// At a marker. `first` is unset for a commit, and where the transaction's begin is not known.
Result<void> IndexChecks::note_abort(const BatchHeader& marker, std::optional<Offset> first) {
  for (;;) {
    TRY_ASSIGN(const std::byte* raw, aborted_.peek(findings_));
    if (raw == nullptr) return {};
    const Offset last(load_be<std::int64_t>(raw + kAbortedLast));
    if (last > marker.base_offset) {
      const std::byte* behind = aborted_.behind();
      if (behind == nullptr) return {};
      const Offset next(load_be<std::int64_t>(behind + kAbortedLast));
      if (next < base_ || next > marker.base_offset) return {};
      bad(aborted_, last,
          fmt::format("the entry says offset {}, behind the entry that follows it", last.value()));
    } else if (last == marker.base_offset) {
      const std::string flaw = aborted_flaw(raw, marker, first);
      if (!flaw.empty()) bad(aborted_, last, flaw);
    } else if (!compacted_ && (last < damage_first_ || last >= damage_behind_)) {
      bad(aborted_, last,
          fmt::format("the entry says offset {}, where no transaction was aborted", last.value()));
    }
    aborted_.pop();
  }
}

std::string IndexChecks::aborted_flaw(const std::byte* entry, const BatchHeader& marker,
                                      std::optional<Offset> first) const {
  const auto version = load_be<std::int16_t>(entry);
  const auto producer = load_be<std::int64_t>(entry + kAbortedProducer);
  const Offset says_first(load_be<std::int64_t>(entry + kAbortedFirst));
  const Offset says_stable(load_be<std::int64_t>(entry + kAbortedStable));
  if (version != 0) return fmt::format("the entry has version {} instead of 0", version);
  if (producer != marker.producer_id)
    return fmt::format("the entry says producer {}, and the marker at offset {} is of {}", producer,
                       marker.base_offset.value(), marker.producer_id);
  if (compacted_) return {};
  if (first ? says_first != *first : open_known_ || says_first >= base_)
    return fmt::format("the entry says that the transaction began at offset {}, and it began {}",
                       says_first.value(),
                       first ? fmt::format("at {}", first->value()) : "in an earlier segment");
  Offset stable = marker.next_offset();
  for (const auto& [id, other] : open_)
    stable = std::min(stable, other);
  if (open_known_ ? says_stable != stable : says_stable > stable || says_stable < Offset(0))
    return fmt::format("the entry says last stable offset {}, and it was {}", says_stable.value(),
                       stable.value());
  return {};
}

/// An entry that points behind the end of the log.
void IndexChecks::leads(const EntryStream& in, Offset offset, bool may_lead) {
  bad(in, offset,
      fmt::format("{} {} behind the end of the log", in.entries_left(),
                  in.entries_left() == 1 ? "entry points" : "entries point"));
  if (may_lead) findings_.back().kind = Finding::Kind::kNote;
}

Result<std::vector<Finding>> IndexChecks::finish(std::int64_t log_size, Offset log_end, bool grown,
                                                 bool may_lead) {
  for (;; offsets_.pop()) {
    TRY_ASSIGN(const std::byte* raw, offsets_.peek(findings_));
    if (raw == nullptr) break;
    const OffsetEntry entry = OffsetEntry::decode(raw, base_);
    if (entry.position < log_size) {
      bad(offsets_, entry.offset,
          fmt::format("the entry points to byte {}, where no batch begins", entry.position));
    } else if (!grown) {
      leads(offsets_, entry.offset, may_lead);
      break;
    }
  }
  for (;; times_.pop()) {
    TRY_ASSIGN(const std::byte* raw, times_.peek(findings_));
    if (raw == nullptr) break;
    const TimeEntry entry = TimeEntry::decode(raw, base_);
    if (entry.offset < log_end) {
      bad(times_, entry.offset,
          fmt::format("the entry says offset {}, at which no batch ends", entry.offset.value()));
    } else if (!grown) {
      leads(times_, entry.offset, may_lead);
      break;
    }
  }
  for (;; aborted_.pop()) {
    TRY_ASSIGN(const std::byte* raw, aborted_.peek(findings_));
    if (raw == nullptr) break;
    const Offset last(load_be<std::int64_t>(raw + kAbortedLast));
    if (last < log_end) {
      if (!compacted_)
        bad(aborted_, last,
            fmt::format("the entry says offset {}, where no transaction was aborted",
                        last.value()));
    } else if (!grown) {
      leads(aborted_, last, may_lead);
      break;
    }
  }
  if (sets_.size() == 1) findings_.push_back(std::move(sets_.front()));
  return std::move(findings_);
}

}  // namespace spool
