#include "log/repair.h"

#include <algorithm>

#include <fmt/format.h>

#include "io/atomic_file.h"
#include "log/producer_replay.h"
#include "log/state_file.h"

namespace spool {

namespace {

constexpr const char* kEpochFile = "leader-epoch-checkpoint";
constexpr const char* kMetadataFile = "partition.metadata";
constexpr const char* kStateFile = "spool.state";
constexpr const char* kRebuilt = "built anew from the log";
constexpr const char* kNewLog = "spool.repair.tmp";

}  // namespace

void PartitionRepair::step(const std::string& file, std::int64_t position, Offset first,
                           Offset last, std::string what) {
  steps_.push_back({file, position, first, last, std::move(what), true});
}

Result<DirLocks::ByteLock> PartitionRepair::append_lock() {
  if (!apply_) return DirLocks::ByteLock();
  return env_.locks.lock_byte(DirLocks::append_name(place_.topic, place_.partition.value()));
}

Result<void> PartitionRepair::run(bool apply) {
  apply_ = apply;
  DirLocks::Operation operation;
  DirLocks::ByteLock compact;
  if (apply_) {
    TRY_ASSIGN(operation, env_.locks.begin());
    TRY_ASSIGN(compact, env_.locks.lock_byte(
                            fmt::format("compact {} {}", place_.topic, place_.partition.value())));
  }
  const auto folder = env_.fs.stat(place_.dir);
  if (!folder && folder.error().code == Errc::kNotFound) return {};
  if (!folder) return fail(folder.error());
  TRY(finish_swaps());
  TRY(repair_logs());
  return repair_small_files();
}

Result<std::unique_ptr<PartitionCheck>> PartitionRepair::check() {
  auto check = std::make_unique<PartitionCheck>(env_, place_, facts_, wait_);
  TRY(check->begin());
  VerifyProgress progress;
  for (std::size_t i = 0; i < check->segments(); ++i)
    TRY(check->check_segment(i, progress));
  TRY(check->finish());
  return check;
}

RepairRules PartitionRepair::rules_for(const PartitionCheck& check, std::size_t i) const {
  RepairRules rules;
  rules.dense = place_.dense;
  rules.last = i + 1 == check.segments();
  if (rules.last) {
    rules.known_end = check.known_end();
  } else {
    rules.next_base = check.files().segments[i + 1];
  }
  for (const auto& odd : check.odd_epochs())
    if (odd.segment == i) rules.epochs.emplace(odd.position, odd.due);
  return rules;
}

Result<void> PartitionRepair::repair_logs() {
  TRY_ASSIGN(const auto found, check());
  for (std::size_t i = 0; i < found->segments(); ++i) {
    const SegmentReport& report = found->reports()[i];
    // A .log.swap without its .log: finish_swaps() has told of it, and without -y it still is one.
    if (report.gone || report.log_path.ends_with(kLogSwapSuffix)) continue;
    const bool last = i + 1 == found->segments();
    // Appenders keep the indexes of the last segment open: with a new log they open them again.
    const bool indexes =
        last && std::any_of(found->findings().begin(), found->findings().end(), [&](const auto& f) {
          return f.damage() && f.file.starts_with(segment_path(place_.dir, report.base, "")) &&
                 f.file != report.log_path;
        });
    if (found->damaged(report.log_path) || report.tail || indexes) TRY(repair_log(*found, i));
  }
  return {};
}

Result<void> PartitionRepair::repair_log(const PartitionCheck& found, std::size_t i) {
  const RepairRules rules = rules_for(found, i);
  // The last segment is planned and replaced while nobody appends.
  DirLocks::ByteLock byte;
  if (rules.last) {
    TRY_ASSIGN(byte, append_lock());
  }
  TRY_ASSIGN(const RepairPlan plan, plan_segment(env_, place_, found.files().segments[i], rules));
  const std::string file = segment_path(place_.dir, plan.base, kLogSuffix);
  for (const RepairPiece& p : plan.pieces) {
    if (p.kind == RepairPiece::Kind::kKeep) continue;
    std::string what = p.what;
    if (p.kind == RepairPiece::Kind::kCut)
      what = fmt::format("bytes {} to {} are taken out and kept ({})", p.from, p.to - 1, p.what);
    if (p.kind == RepairPiece::Kind::kMissing) what += "; an empty batch stands for them";
    const bool offsets = p.behind > p.first;
    step(file, p.from, offsets ? p.first : Offset(-1), offsets ? p.behind - 1 : Offset(-1),
         std::move(what));
  }
  if (plan.end < plan.size)
    step(file, plan.end, plan.next_offset, Offset(-1),
         fmt::format("the last {} bytes are no whole batch: cut and kept", plan.size - plan.end));
  if (!apply_) return {};
  // A new log has new indexes; without -y they are told with those of the other segments.
  if (!plan.changes())
    for (const char* suffix : {kIndexSuffix, kTimeIndexSuffix, kTxnIndexSuffix})
      if (const std::string index = segment_path(place_.dir, plan.base, suffix);
          found.damaged(index))
        step(index, 0, Offset(-1), Offset(-1), kRebuilt);
  if (plan.changes() || rules.last) {
    if (!rules.last) {
      TRY_ASSIGN(byte, append_lock());
    }
    TRY(replace_log(plan, rules.last));
  }
  return {};
}

/// Needs the append byte.
Result<void> PartitionRepair::replace_log(const RepairPlan& plan, bool last) {
  const std::string file = segment_path(place_.dir, plan.base, kLogSuffix);
  if (!env_.fs.stat(file)) return {};  // trimmed meanwhile
  const bool torn = plan.end < plan.size;
  if (torn) {
    TRY_ASSIGN(const auto source, env_.fs.open(file, OpenMode::kRead, 0));
    TRY(save_cut(env_, place_, *source, plan.end, plan.size, plan.next_offset));
  }
  const std::string fresh = path(kNewLog);
  auto done = write_segment(env_, place_, plan, fresh);
  if (!done) {
    (void)env_.fs.unlink(fresh);  // the first failure is the one to report
    return fail(done.error());
  }
  TRY(env_.fs.rename(fresh, file));
  TRY(env_.fs.sync_dir(place_.dir));
  const bool aborted =
      env_.fs.stat(segment_path(place_.dir, plan.base, kTxnIndexSuffix)).has_value();
  TRY(rebuild_indexes(env_, place_, plan.base, !last, aborted));
  if (!torn || !place_.ours) return {};
  // Whoever has seen the end that is gone can tell.
  auto epochs = read_epochs(env_.fs, place_.dir);
  if (!epochs) return {};  // built anew later
  const Epoch known = epochs->empty() ? Epoch(-1) : epochs->back().epoch;
  while (!epochs->empty() && epochs->back().start >= plan.next_offset)
    epochs->pop_back();
  epochs->push_back({std::max(known, plan.epoch) + 1, plan.next_offset});
  return write_epochs(env_.fs, place_.dir, *epochs, env_.file_mode);
}

Result<void> PartitionRepair::repair_small_files() {
  TRY_ASSIGN(const auto found, check());
  TRY_ASSIGN(const auto byte, append_lock());
  TRY(repair_metadata(*found));
  TRY(repair_state(*found));
  TRY(repair_epochs(*found));
  TRY(repair_snapshots(*found));
  TRY(repair_indexes(*found));
  if (!apply_) return {};
  TRY_ASSIGN(const auto again, check());
  for (const Finding& f : again->findings())
    if (f.damage())
      steps_.push_back({f.file, f.position, f.first, f.last, "stays: " + f.what, false});
  return {};
}

/// Keeps a damaged file under another name.
Result<void> PartitionRepair::put_aside(const std::string& name) {
  const auto text = read_file(env_.fs, path(name));
  if (!text && text.error().code == Errc::kNotFound) return {};
  if (!text) return fail(text.error());
  TRY_ASSIGN(const std::string kept, free_name(name));
  return replace_file(env_.fs, kept, *text, env_.file_mode, Durability::kNamed);
}

Result<void> PartitionRepair::repair_metadata(const PartitionCheck& found) {
  if (!found.damaged(path(kMetadataFile))) return {};
  if (!facts_.topic_id || *facts_.topic_id == Uuid()) {
    steps_.push_back({path(kMetadataFile), 0, Offset(-1), Offset(-1),
                      "stays: nothing else says the topic's id", false});
    return {};
  }
  step(path(kMetadataFile), 0, Offset(-1), Offset(-1),
       fmt::format("written anew with the topic's id {}", facts_.topic_id->text()));
  if (!apply_) return {};
  TRY(put_aside(kMetadataFile));
  return replace_file(env_.fs, path(kMetadataFile),
                      fmt::format("version: 0\ntopic_id: {}", facts_.topic_id->text()),
                      env_.file_mode, Durability::kNamed);
}

Result<void> PartitionRepair::repair_state(const PartitionCheck& found) {
  if (!found.damaged(path(kStateFile))) return {};
  step(path(kStateFile), 0, Offset(-1), Offset(-1),
       "put aside: the next append checks the whole partition");
  if (!apply_) return {};
  TRY(put_aside(kStateFile));
  // Nothing is claimed: the recovery point is where the log begins.
  TRY_ASSIGN(const FileStat folder, env_.fs.stat(place_.dir));
  TRY_ASSIGN(const std::string boot, env_.fs.boot_id());
  const Offset start = found.files().segments.empty() ? Offset(0) : found.files().segments.front();
  PartitionState state;
  state.boot_id = boot;
  state.device = folder.device;
  state.inode = folder.inode;
  state.recovery_point = start;
  return write_state(env_.fs, place_.dir, state, env_.file_mode, Durability::kNamed);
}

Result<void> PartitionRepair::repair_epochs(const PartitionCheck& found) {
  const std::string file = path(kEpochFile);
  if (!found.damaged(file)) return {};
  std::vector<EpochStart> epochs;
  for (const SegmentReport& r : found.reports())
    for (const EpochRun& run : r.epochs)
      if (epochs.empty() || run.epoch > epochs.back().epoch)
        epochs.push_back({run.epoch, epochs.empty() && facts_.log_start
                                         ? std::max(run.first, *facts_.log_start)
                                         : run.first});
  // An epoch of which nothing was written yet stays, where the file can be read.
  const auto old = read_epochs(env_.fs, place_.dir);
  const Offset end = found.reports().empty() ? Offset(0) : found.reports().back().next_offset;
  if (old && !old->empty() && old->back().start >= end &&
      (epochs.empty() || old->back().epoch > epochs.back().epoch))
    epochs.push_back({old->back().epoch, std::max(old->back().start, end)});
  if (epochs.empty()) epochs.push_back({Epoch(0), Offset(0)});
  step(file, 0, Offset(-1), Offset(-1), "built anew from the batches");
  if (!apply_) return {};
  TRY(put_aside(kEpochFile));
  return write_epochs(env_.fs, place_.dir, epochs, env_.file_mode);
}

Result<void> PartitionRepair::repair_snapshots(const PartitionCheck& found) {
  for (const Offset at : found.files().snapshots) {
    const std::string file = segment_path(place_.dir, at, kSnapshotSuffix);
    if (!found.damaged(file)) continue;
    step(file, 0, Offset(-1), Offset(-1), kRebuilt);
    if (!apply_) continue;
    TRY(put_aside(file.substr(place_.dir.size() + 1)));
    PartitionFiles others = found.files();
    std::erase_if(others.snapshots, [&](const Offset s) {
      return found.damaged(segment_path(place_.dir, s, kSnapshotSuffix));
    });
    TRY_ASSIGN(const ProducerReplay replay, replay_producers(env_, place_, others, at));
    TRY(replace_file(env_.fs, file, replay.snapshot(), env_.file_mode, Durability::kNamed));
  }
  return {};
}

Result<void> PartitionRepair::repair_indexes(const PartitionCheck& found) {
  for (std::size_t i = 0; i < found.segments(); ++i) {
    const Offset base = found.files().segments[i];
    bool bad = false;
    for (const char* suffix : {kIndexSuffix, kTimeIndexSuffix, kTxnIndexSuffix}) {
      const std::string file = segment_path(place_.dir, base, suffix);
      if (!found.damaged(file)) continue;
      bad = true;
      step(file, 0, Offset(-1), Offset(-1), kRebuilt);
    }
    if (!bad || !apply_) continue;
    const bool aborted = env_.fs.stat(segment_path(place_.dir, base, kTxnIndexSuffix)).has_value();
    TRY(rebuild_indexes(env_, place_, base, i + 1 < found.segments(), aborted));
  }
  return {};
}

}  // namespace spool
