#include "log/verify.h"

#include <algorithm>

#include <fmt/format.h>

#include "io/atomic_file.h"
#include "log/batch_reader.h"
#include "log/checkpoint.h"
#include "log/records_flaw.h"
#include "log/state_file.h"
#include "log/transactions.h"

namespace spool {

namespace {

constexpr const char* kEpochFile = "leader-epoch-checkpoint";
constexpr const char* kMetadataFile = "partition.metadata";
constexpr const char* kRecoveryPoints = "recovery-point-offset-checkpoint";
constexpr const char* kStateFile = "spool.state";
constexpr std::string_view kCheckpointSuffix = ".checkpoint";  // -checkpoint is another matter
constexpr std::size_t kBatchesChunk = std::size_t{1} << 20;
constexpr int kEpochLooks = 5;
constexpr int kEpochLookMs = 20;
constexpr std::size_t kSmallFileBytesMax = std::size_t{64} << 20;

bool is_segment_file(std::string_view name) {
  for (const char* suffix :
       {kLogSuffix, kIndexSuffix, kTimeIndexSuffix, kTxnIndexSuffix, kSnapshotSuffix})
    if (segment_base(name, suffix)) return true;
  return false;
}

/// What a file of this name is, when it is not one that is checked by itself; empty otherwise.
std::string leftover(std::string_view name) {
  if (name.starts_with("spool.cut-")) return "bytes that recovery or repair took out and kept";
  if (name.starts_with("spool.bad-")) return "a damaged file that repair replaced and kept";
  if (name.ends_with(".tmp")) return "left by a process that died while it wrote a file";
  if (name.ends_with(".swap")) return "an unfinished compaction; 'spool topics repair' finishes it";
  if (name.ends_with(".cleaned")) return "a compaction that came to nothing";
  if (name.ends_with(".deleted")) return "deleted; a broker removes it when it starts";
  if (name.ends_with(".checkpoint.part")) return "an unfinished snapshot of metadata";
  if (name == "quorum-state") return "a broker's vote; not checked";
  return {};
}

}  // namespace

Result<std::optional<std::string>> PartitionCheck::read_small(const std::string& path) const {
  auto text = read_file(env_.fs, path, kSmallFileBytesMax);
  if (text) return std::optional(std::move(*text));
  if (text.error().code == Errc::kNotFound) return std::optional<std::string>();
  return fail(text.error());
}

Result<void> PartitionCheck::begin() {
  auto entries = env_.fs.list(place_.dir);
  if (!entries && entries.error().code == Errc::kNotFound) return {};
  if (!entries) return fail(entries.error());
  TRY_ASSIGN(files_, list_partition(env_.fs, place_.dir));
  check_names(*entries);
  for (const DirEntry& e : *entries) {
    // Where its .log is gone, a .log.swap is checked as the segment that it is.
    const auto swap = segment_base(e.name, kLogSwapSuffix);
    if (swap && env_.fs.stat(segment_path(place_.dir, *swap, kLogSuffix)))
      TRY(check_batches(path(e.name), "the result of an unfinished compaction", false));
    if (!e.is_dir && e.name.ends_with(kCheckpointSuffix))
      TRY(check_batches(path(e.name), "a snapshot of metadata", true));
  }
  TRY(check_metadata());
  TRY(check_state());
  TRY(check_snapshots());
  reports_.resize(files_.segments.size());
  for (const Offset base : files_.segments) {
    std::int64_t size = 0;
    for (const char* suffix : {kLogSuffix, kIndexSuffix, kTimeIndexSuffix, kTxnIndexSuffix})
      if (const auto st = env_.fs.stat(segment_path(place_.dir, base, suffix))) size += st->size;
    sizes_.push_back(size);
  }
  return {};
}

void PartitionCheck::check_names(const std::vector<DirEntry>& entries) {
  for (const DirEntry& e : entries) {
    if (e.is_dir) {
      findings_.push_back(note_on(path(e.name), "an unknown folder; not checked"));
      continue;
    }
    if (e.name == kEpochFile || e.name == kMetadataFile || e.name == kStateFile) continue;
    if (e.name.ends_with(kCheckpointSuffix)) continue;
    if (!is_segment_file(e.name)) {
      const std::string what = leftover(e.name);
      findings_.push_back(
          note_on(path(e.name), what.empty() ? "an unknown file; not checked" : what));
      continue;
    }
    for (const char* suffix : {kIndexSuffix, kTimeIndexSuffix, kTxnIndexSuffix}) {
      const auto base = segment_base(e.name, suffix);
      if (base && !std::binary_search(files_.segments.begin(), files_.segments.end(), *base))
        findings_.push_back(note_on(path(e.name), "an index without a .log; not checked"));
    }
  }
}

/// A file of batches that is no segment; `what` it is. `dense`: offsets begin at 0 and have no
/// gaps, and all is of one epoch.
Result<void> PartitionCheck::check_batches(const std::string& file, const char* what, bool dense) {
  auto opened = env_.fs.open(file, OpenMode::kRead, 0);
  if (!opened && opened.error().code == Errc::kNotFound) return {};  // renamed or replaced
  if (!opened) return fail(opened.error());
  std::shared_ptr<File> log = std::move(*opened);
  TRY_ASSIGN(const FileStat st, log->stat());
  BatchReader reader(log, 0, kBatchesChunk);
  Decompressor decompressor;
  Buffer scratch;
  Offset due(0);
  std::optional<Epoch> epoch;
  while (reader.position() < st.size) {
    const std::int64_t at = reader.position();
    TRY_ASSIGN(const BatchReader::Item item, reader.next());
    const BatchHeader& h = reader.view().header;
    std::string flaw = "no whole batch begins here";
    if (item == BatchReader::Item::kBatch)
      flaw = records_flaw(reader.view(), decompressor, scratch);
    if (flaw.empty() && (dense ? h.base_offset != due : h.base_offset < due))
      flaw =
          fmt::format("the base offset is {}, and {} was due", h.base_offset.value(), due.value());
    if (flaw.empty() && dense && epoch.value_or(h.leader_epoch) != h.leader_epoch)
      flaw = fmt::format("the leader epoch is {} instead of {}", h.leader_epoch.value(),
                         epoch->value());
    if (flaw.empty()) {
      due = h.next_offset();
      epoch = h.leader_epoch;
      continue;
    }
    findings_.push_back(
        damage_at(file, at, Offset(-1), Offset(-1), fmt::format("{}: {}", what, flaw)));
    return {};
  }
  return {};
}

Result<void> PartitionCheck::check_metadata() {
  const std::string file = path(kMetadataFile);
  TRY_ASSIGN(const auto text, read_small(file));
  if (!text) return {};
  constexpr std::string_view kHead = "version: 0\ntopic_id: ";
  const auto id = text->starts_with(kHead)
                      ? Uuid::parse(std::string_view(*text).substr(kHead.size()))
                      : std::nullopt;
  if (!id || *text != std::string(kHead) + id->text()) {
    findings_.push_back(damage_in(file, "it is malformed"));
  } else if (facts_.topic_id && *facts_.topic_id != *id) {
    findings_.push_back(damage_at(
        file, static_cast<std::int64_t>(kHead.size()), Offset(-1), Offset(-1),
        fmt::format("the topic id is {} instead of {}", id->text(), facts_.topic_id->text())));
  }
  return {};
}

Result<void> PartitionCheck::check_state() {
  if (facts_.recovery_point) {
    known_end_ = *facts_.recovery_point;
    known_by_ = kRecoveryPoints;
  }
  const std::string file = path(kStateFile);
  TRY_ASSIGN(const auto text, read_small(file));
  if (!text) return {};
  if (const auto body = without_checksum(*text, file); !body) {
    findings_.push_back(damage_in(file, "its checksum is wrong"));
    return {};
  }
  const auto state = read_state(env_.fs, place_.dir);
  if (!state) return fail(state.error());
  if (!*state) {
    findings_.push_back(damage_in(file, "it is malformed"));
    return {};
  }
  const auto folder = env_.fs.stat(place_.dir);
  const auto boot = env_.fs.boot_id();
  same_life_ = folder && boot && (*state)->same_life(*boot, *folder);
  plain_ = (*state)->plain;
  // A copy made under writers may have a state that is newer than its log.
  if (same_life_ && (*state)->recovery_point > known_end_) {
    known_end_ = (*state)->recovery_point;
    known_by_ = kStateFile;
  }
  if ((*state)->suspect)
    findings_.push_back(note_on(file, "a sync failed here; the next append writes the end anew"));
  return {};
}

Result<void> PartitionCheck::check_snapshots() {
  for (const Offset at : files_.snapshots) {
    const std::string file = segment_path(place_.dir, at, kSnapshotSuffix);
    TRY_ASSIGN(const auto text, read_small(file));
    if (!text) continue;  // replaced by a newer one
    const auto entries = parse_snapshot(*text, file);
    if (!entries) {
      // A broker writes the file in place: it may not be whole yet.
      wait_(20);
      TRY_ASSIGN(const auto again, read_small(file));
      if (!again || parse_snapshot(*again, file)) continue;
      findings_.push_back(damage_at(file, 0, at, at, "its version, length or CRC is wrong"));
      continue;
    }
    for (const SnapshotEntry& e : *entries)
      if (e.first_offset >= at)
        findings_.push_back(damage_at(file, 0, e.first_offset, e.first_offset,
                                      "a transaction in it begins behind the snapshot"));
    if (at > known_end_ && (same_life_ || facts_.clean_stop)) {
      known_end_ = at;
      known_by_ = fmt::format("{:020}{}", at.value(), kSnapshotSuffix);
    }
  }
  return {};
}

Result<void> PartitionCheck::check_segment(std::size_t i, VerifyProgress& progress,
                                           Helpers* helpers) {
  SegmentRules rules;
  rules.dense = place_.dense;
  rules.last = i + 1 == files_.segments.size();
  rules.indexes_may_lead = rules.last && !same_life_ && !facts_.clean_stop;
  if (!rules.last) rules.next_base = files_.segments[i + 1];
  TRY_ASSIGN(reports_[i],
             verify_segment(env_, place_, files_.segments[i], rules, wait_, progress, helpers));
  return {};
}

std::int64_t PartitionCheck::batches() const {
  std::int64_t sum = 0;
  for (const SegmentReport& r : reports_)
    sum += r.batches;
  return sum;
}

std::int64_t PartitionCheck::records() const {
  std::int64_t sum = 0;
  for (const SegmentReport& r : reports_)
    sum += r.records;
  return sum;
}

Result<void> PartitionCheck::finish() {
  if (!reports_.empty()) {
    join_segments();
    check_last_batch();
    check_end();
    TRY(check_epochs());
  }
  for (SegmentReport& r : reports_) {
    if (plain_ && r.transactional && !r.gone) {
      findings_.push_back(
          damage_in(path(kStateFile), "it says that there never was a transaction, and there was"));
      plain_ = false;
    }
    for (Finding& f : r.findings)
      findings_.push_back(std::move(f));
    if (r.tail) findings_.push_back(*r.tail);
  }
  std::stable_sort(findings_.begin(), findings_.end(), [](const Finding& a, const Finding& b) {
    return std::tie(a.file, a.position) < std::tie(b.file, b.position);
  });
  return {};
}

Offset PartitionCheck::known_end() const {
  const bool alone = known_by_ == kRecoveryPoints && !reports_.empty() && !reports_.back().tail;
  return alone ? Offset(0) : known_end_;
}

bool PartitionCheck::damaged(const std::string& path) const {
  return std::any_of(findings_.begin(), findings_.end(),
                     [&](const Finding& f) { return f.file == path && f.damage(); });
}

/// Where the log starts by the checkpoints of the directory: when the check began, and now.
std::vector<Offset> PartitionCheck::trimmed_to() const {
  std::vector<Offset> out;
  if (facts_.log_start) out.push_back(*facts_.log_start);
  const auto now = checkpoint_offset(env_.fs, join_path(env_.root, kLogStartCheckpoint),
                                     place_.topic, place_.partition);
  if (now && *now) out.push_back(**now);
  return out;
}

/// Where one segment ends and the next one begins.
void PartitionCheck::join_segments() {
  Offset start(0);
  for (const Offset o : trimmed_to())
    start = std::max(start, o);
  for (std::size_t i = 0; i + 1 < reports_.size(); ++i) {
    const SegmentReport& one = reports_[i];
    const SegmentReport& next = reports_[i + 1];
    if (one.gone || next.gone) continue;
    if (next.base <= start) continue;  // trimmed: nobody reads there
    if (one.next_offset > next.base) {
      // What it was made from goes when it takes its place.
      if (one.log_path.ends_with(kLogSwapSuffix)) continue;
      findings_.push_back(
          damage_at(one.log_path, 0, next.base, one.next_offset - 1,
                    fmt::format("it ends at offset {}, and the next segment begins at {}",
                                one.next_offset.value(), next.base.value())));
    } else if (place_.dense && one.next_offset < next.base) {
      findings_.push_back(damage_at(one.log_path, one.bytes, one.next_offset, next.base - 1,
                                    fmt::format("offsets {} to {} are missing behind its end",
                                                one.next_offset.value(), next.base.value() - 1)));
    }
  }
}

/// The very last batch has nothing behind it that could vouch for its base offset.
void PartitionCheck::check_last_batch() {
  SegmentReport& r = reports_.back();
  if (!r.late || r.gone) return;
  const LateBatch& late = *r.late;
  const bool gaps_elsewhere =
      facts_.compacted || std::any_of(reports_.begin(), reports_.end(),
                                      [](const SegmentReport& s) { return s.compacted; });
  if (!place_.dense && gaps_elsewhere) return;
  r.findings.push_back(damage_at(
      r.log_path, late.position, late.due, late.base - 1,
      fmt::format("the base offset is {}, and {} was due: it was changed, or offsets are missing",
                  late.base.value(), late.due.value())));
}

/// Whether the log reaches as far as is known of it.
void PartitionCheck::check_end() {
  SegmentReport& r = reports_.back();
  if (r.gone || r.next_offset >= known_end_) return;
  const std::string why = fmt::format("'{}' says that everything below offset {} was on disk",
                                      known_by_, known_end_.value());
  if (r.tail) {
    r.tail->kind = Finding::Kind::kDamage;
    r.tail->last = known_end_ - 1;
    r.tail->what += "; " + why;
    return;
  }
  Finding f =
      damage_at(r.log_path, r.bytes, r.next_offset, known_end_ - 1,
                fmt::format("the log ends at offset {}, and {}", r.next_offset.value(), why));
  // A copy made under writers looks like this; and a broker's checkpoint has no checksum.
  if ((!same_life_ && !facts_.clean_stop) || known_by_ == kRecoveryPoints)
    f.kind = Finding::Kind::kNote;
  r.findings.push_back(std::move(f));
}

Result<void> PartitionCheck::check_epochs() {
  std::vector<EpochRun> runs;
  std::vector<std::size_t> segments;  // where each run is
  for (std::size_t i = 0; i < reports_.size(); ++i) {
    if (reports_[i].gone) continue;
    for (const EpochRun& run : reports_[i].epochs) {
      runs.push_back(run);
      segments.push_back(i);
      if (runs.size() > 1) runs.back().behind = runs[runs.size() - 2].last + 1;
    }
  }
  const std::size_t before = findings_.size();
  // A trim writes down the start first and the epochs then; the next one may come in between.
  for (int look = 0;; ++look) {
    TRY(check_epoch_file(runs, segments));
    const bool damaged = std::any_of(findings_.begin() + static_cast<std::ptrdiff_t>(before),
                                     findings_.end(), [](const Finding& f) { return f.damage(); });
    if (!damaged || look == kEpochLooks) return {};
    findings_.resize(before);
    odd_epochs_.clear();
    wait_(kEpochLookMs);
  }
}

Result<void> PartitionCheck::check_epoch_file(const std::vector<EpochRun>& runs,
                                              const std::vector<std::size_t>& segments) {
  const std::string file = path(kEpochFile);
  TRY_ASSIGN(const auto text, read_small(file));
  const auto starts = parse_epochs(text.value_or(""), file);
  const bool canonical = starts && (!text || text->empty() || *text == "0\n0\n" ||
                                    *text == "0\n0" || format_epochs(*starts) == *text);
  if (!canonical) findings_.push_back(damage_in(file, "it is malformed"));
  if (canonical && !starts->empty()) {
    check_epoch_runs(*starts, runs, segments);
    // What was trimmed since: the epochs begin at the log's start then.
    std::vector<Offset> log_starts = trimmed_to();
    if (const auto now = list_partition(env_.fs, place_.dir);
        now && !now->segments.empty() && now->segments.front() > files_.segments.front())
      log_starts.push_back(now->segments.front());
    check_epoch_starts(*starts, runs, log_starts);
    return {};
  }
  for (std::size_t i = 1; i < runs.size(); ++i)
    if (runs[i].epoch < runs[i - 1].epoch)
      findings_.push_back(damage_at(reports_[segments[i]].log_path, runs[i].position, runs[i].first,
                                    runs[i].last,
                                    fmt::format("the leader epoch falls from {} to {}",
                                                runs[i - 1].epoch.value(), runs[i].epoch.value())));
  return {};
}

/// Each batch against the file.
void PartitionCheck::check_epoch_runs(const std::vector<EpochStart>& starts,
                                      const std::vector<EpochRun>& runs,
                                      const std::vector<std::size_t>& segments) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const EpochRun& run = runs[i];
    const auto at =
        std::upper_bound(starts.begin(), starts.end(), run.last,
                         [](const Offset offset, const EpochStart& s) { return offset < s.start; });
    // Trimmed away together with the epochs of then.
    if (at == starts.begin()) continue;
    const EpochStart& due = *(at - 1);
    if (due.epoch == run.epoch) continue;
    findings_.push_back(damage_at(reports_[segments[i]].log_path, run.position, run.first, run.last,
                                  fmt::format("the leader epoch is {}, and {} by '{}'",
                                              run.epoch.value(), due.epoch.value(), kEpochFile)));
    // One batch among others of the due epoch; many are an epoch file that is wrong.
    const bool among = (i > 0 && runs[i - 1].epoch == due.epoch) ||
                       (i + 1 < runs.size() && runs[i + 1].epoch == due.epoch);
    if (run.batches == 1 && among) odd_epochs_.push_back({segments[i], run.position, due.epoch});
  }
}

/// Each entry of the file against the batches.
void PartitionCheck::check_epoch_starts(const std::vector<EpochStart>& starts,
                                        const std::vector<EpochRun>& runs,
                                        const std::vector<Offset>& log_starts) {
  const Offset log_end = reports_.back().next_offset;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const EpochStart& s = starts[i];
    // An epoch that wrote nothing yet; and one whose batches are deleted, all or those in front.
    if (s.start >= log_end || runs.empty()) continue;
    if (i + 1 < starts.size() && starts[i + 1].start <= runs.front().first) continue;
    const bool is_log_start =
        std::find(log_starts.begin(), log_starts.end(), s.start) != log_starts.end();
    const bool holds = std::any_of(runs.begin(), runs.end(), [&](const EpochRun& run) {
      if (run.epoch != s.epoch) return false;
      if (is_log_start && s.start <= run.last) return true;
      return s.start <= run.first && (&run == &runs.front() || s.start >= run.behind);
    });
    if (holds) continue;
    // A trim moves the first epoch's start. Where nobody stopped cleanly, or in a copy, the file
    // may be newer than the checkpoint that tells of it.
    const bool within = std::any_of(runs.begin(), runs.end(), [&](const EpochRun& run) {
      return run.epoch == s.epoch && run.first < s.start && s.start <= run.last;
    });
    if (i == 0 && within && !(place_.ours && same_life_) && !facts_.clean_stop) {
      findings_.push_back(
          note_on(path(kEpochFile),
                  fmt::format("it begins at offset {}, as after a trim that nothing else tells of",
                              s.start.value())));
      continue;
    }
    findings_.push_back(
        damage_at(path(kEpochFile), 0, s.start, s.start,
                  fmt::format("it says that epoch {} began at offset {}, and no batch does",
                              s.epoch.value(), s.start.value())));
  }
}

}  // namespace spool
