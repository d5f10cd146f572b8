#include "replay_resume.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "log/cursor.h"
#include "log/lookup.h"
#include "store/partitioner.h"

namespace spool {

PartitionId PartitionRule::choose(PartitionId source, Offset offset,
                                  const std::optional<std::string_view>& key) const {
  if (keep) return source;
  const auto count = static_cast<std::int64_t>(partitions.size());
  const std::int64_t at = key ? (murmur2(*key) & INT32_MAX) % count
                              : (source.value() + offset.value() / kKeylessRun) % count;
  return partitions[static_cast<std::size_t>(at)];
}

Result<std::string> ReplayResume::lock_name(Fs& fs, const std::string& path) {
  TRY_ASSIGN(const FileStat folder, fs.stat(parent_path(path)));
  return fmt::format("replay {} {} {}", folder.device, folder.inode,
                     path.substr(path.rfind('/') + 1));
}

Result<ReplayResume> ReplayResume::open(Fs& fs, const std::string& path) {
  ReplayResume out(fs, path);
  TRY_ASSIGN(auto progress, load_progress(fs, path));
  if (!progress) return out;
  out.loaded_ = true;
  out.progress_ = std::move(*progress);
  out.count_ = out.progress_.count;
  for (std::size_t i = 0; i < out.progress_.sources.size(); ++i)
    out.by_producer_.emplace(out.progress_.sources[i].producer_id, i);
  return out;
}

std::int64_t ReplayResume::new_producer_id() const {
  // Those that brokers give count up from 0: far from them, and from those of other replays.
  std::random_device seed;
  for (;;) {
    const std::uint64_t bits = (std::uint64_t{seed()} << 32 | seed()) >> 1;
    const auto id = static_cast<std::int64_t>(bits | std::uint64_t{1} << 62);
    if (!by_producer_.contains(id)) return id;
  }
}

tl::unexpected<Error> ReplayResume::other_topic(const std::string& topic) const {
  return fail(
      Errc::kConflict,
      fmt::format("'{}' speaks of another topic '{}' than this one: remove it to begin anew", path_,
                  topic));
}

std::optional<Offset> ReplayResume::known(const std::string& topic, PartitionId partition) {
  const auto* source = progress_.source(topic, partition);
  if (source == nullptr) return std::nullopt;
  return source->next;
}

Result<std::size_t> ReplayResume::add_source(const TopicInfo& topic, PartitionId partition,
                                             Offset start) {
  if (const auto* source = progress_.source(topic.name, partition)) {
    if (source->id != topic.id) return other_topic(topic.name);
    return static_cast<std::size_t>(source - progress_.sources.data());
  }
  const std::int64_t id = new_producer_id();
  progress_.sources.push_back({topic.name, topic.id, partition, id, start});
  by_producer_.emplace(id, progress_.sources.size() - 1);
  return progress_.sources.size() - 1;
}

Result<PartitionRule> ReplayResume::add_target(Store& store, const TopicInfo& topic,
                                               const PartitionRule& wanted) {
  auto* target = progress_.target(topic.name);
  if (target == nullptr && loaded_ && !progress_.targets.empty())
    return fail(Errc::kConflict,
                fmt::format("'{}' is of a replay into topic '{}', not '{}': give another file",
                            path_, progress_.targets.front().topic, topic.name));
  if (target == nullptr)
    target = &progress_.targets.emplace_back(
        ReplayProgress::Target{topic.name, topic.id, wanted.keep, 0});
  if (target->id != topic.id) return other_topic(topic.name);
  PartitionRule rule = wanted;
  const auto count = static_cast<std::int32_t>(wanted.partitions.size());
  if (target->partitions == 0) {  // nothing is to be finished
    target->keep = wanted.keep;
    target->partitions = count;
  } else {
    rule.keep = target->keep;
    if (target->partitions != count) {
      rule.partitions.clear();
      for (std::int32_t p = 0; p < target->partitions; ++p)
        rule.partitions.emplace_back(p);
    }
  }
  for (const PartitionId partition : topic.partitions) {
    const PartitionPlace place = store.place(topic, partition);
    Seen& seen = seen_[{topic.name, partition}];
    if (const auto* end = progress_.end(topic.name, partition)) {
      seen.end_at = static_cast<std::size_t>(end - progress_.ends.data());
      TRY(scan(store.env(), place, end->offset, seen));
      continue;
    }
    TRY_ASSIGN(const PartitionView view, view_partition(store.env(), place));
    seen.end_at = progress_.ends.size();
    progress_.ends.push_back({topic.name, partition, view.log_end});
  }
  return rule;
}

/// Looks for what is ours from `from` on.
Result<void> ReplayResume::scan(const LogEnv& env, const PartitionPlace& place, Offset from,
                                Seen& seen) {
  TRY_ASSIGN(const PartitionView view, view_partition(env, place));
  if (view.log_end < from || view.log_start > from)
    return fail(Errc::kConflict,
                fmt::format("{} ended at offset {} when '{}' was written, and now it has {} to {}: "
                            "what was replayed cannot be told; remove the file to begin anew",
                            place.name(), from.value(), path_, view.log_start.value(),
                            view.log_end.value()));
  Cursor cursor(env, place, from);
  for (;;) {
    TRY(env.go_on());
    TRY_ASSIGN(const Cursor::Step step, cursor.next());
    if (step == Cursor::Step::kEnd) break;
    const BatchHeader& h = cursor.batch().header;
    const auto source = by_producer_.find(h.producer_id);
    if (source == by_producer_.end() || h.base_offset < from) continue;
    const auto last = static_cast<std::int32_t>(
        (std::int64_t{h.base_sequence} + h.last_offset_delta) & INT32_MAX);
    const Offset offset = offset_of(last, progress_.sources[source->second].next);
    Offset& found = seen.found.try_emplace(source->second, offset).first->second;
    found = std::max(found, offset);
    seen.end = h.next_offset();
    seen.records += h.count;
    count_ += h.count;
  }
  found_ += seen.found.size();
  return {};
}

std::vector<PartitionId> ReplayResume::found_in(const std::string& target) const {
  std::vector<PartitionId> out;
  for (const auto& [place, seen] : seen_)
    if (place.first == target && seen.end) out.push_back(place.second);
  return out;
}

bool ReplayResume::has(std::size_t source, const std::string& target, PartitionId partition,
                       Offset offset) const {
  if (found_ == 0) return false;
  const auto seen = seen_.find(Place(target, partition));
  if (seen == seen_.end()) return false;
  const auto found = seen->second.found.find(source);
  return found != seen->second.found.end() && offset <= found->second;
}

void ReplayResume::note_appended(const std::string& target, PartitionId partition,
                                 Offset next_offset, std::int64_t records) {
  Seen& seen = seen_[{target, partition}];
  seen.end = next_offset;
  seen.records += records;
  count_ += records;
}

ReplayProgress ReplayResume::snapshot(const std::vector<std::pair<std::size_t, Offset>>& next,
                                      bool ended) {
  for (const auto& [source, offset] : next)
    progress_.sources[source].next = std::max(progress_.sources[source].next, offset);
  std::int64_t behind = 0;
  found_ = 0;
  for (auto& [place, seen] : seen_) {
    std::erase_if(seen.found,
                  [&](const auto& f) { return f.second < progress_.sources[f.first].next; });
    found_ += seen.found.size();
    // What was found and is not passed yet must be found again; and of what others appended
    // nothing is known to be on disk.
    if (seen.found.empty() && seen.end) {
      progress_.ends[seen.end_at].offset = *seen.end;
      seen.records = 0;
    }
    behind += seen.records;
  }
  progress_.count = count_ - behind;
  if (ended && found_ == 0)
    for (auto& target : progress_.targets)
      target.partitions = 0;
  return progress_;
}

}  // namespace spool
