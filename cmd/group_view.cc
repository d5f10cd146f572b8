#include "group_view.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "log/lookup.h"
#include "values.h"

namespace spool {

Result<std::vector<TopicChoice>> parse_topic_choices(const std::vector<std::string>& texts) {
  std::vector<TopicChoice> out;
  for (const std::string& text : texts) {
    const std::size_t colon = text.find(':');
    TopicChoice choice{text.substr(0, colon), {}};
    TRY(check_topic_name(choice.topic));
    if (colon != std::string::npos) {
      TRY_ASSIGN(choice.partitions, parse_partitions(text.substr(colon + 1)));
    }
    out.push_back(std::move(choice));
  }
  return out;
}

bool is_chosen(const std::vector<TopicChoice>& choices, const TopicPartition& at) {
  if (choices.empty()) return true;
  return std::any_of(choices.begin(), choices.end(), [&](const TopicChoice& c) {
    return c.topic == at.topic &&
           (!c.partitions ||
            std::binary_search(c.partitions->begin(), c.partitions->end(), at.partition));
  });
}

std::size_t GroupView::member_count() const {
  std::set<std::pair<std::int32_t, std::int64_t>> processes;
  for (const LiveMember& m : members)
    processes.emplace(m.record.pid, m.record.start_ticks);
  return processes.size();
}

std::string member_name(const MemberRecord& record) {
  if (record.pid == 0) return "unknown";
  return fmt::format("{}-{}", record.client_id, record.pid);
}

std::string member_names(const std::vector<LiveMember>& members) {
  std::set<std::string> names;
  for (const LiveMember& m : members)
    names.insert(m.record.pid == 0 ? "one that just joins"
                                   : fmt::format("process {}", m.record.pid));
  std::string out;
  for (const std::string& name : names)
    out += (out.empty() ? "" : ", ") + name;
  return out;
}

Result<std::map<std::string, GroupView>> view_groups(Store& store, OffsetStore& offsets) {
  std::map<std::string, GroupView> out;
  TRY_ASSIGN(auto records, offsets.groups());
  for (auto& [name, record] : records)
    out[name] = {name, std::move(record), {}};
  TRY_ASSIGN(auto members, live_members(store.env(), std::nullopt, {}));
  for (LiveMember& m : members) {
    GroupView& group = out[m.record.group];
    group.name = m.record.group;
    group.members.push_back(std::move(m));
  }
  return out;
}

Result<std::optional<GroupView>> view_group(Store& store, OffsetStore& offsets,
                                            const std::string& name) {
  TRY_ASSIGN(auto record, offsets.group(name));
  std::vector<std::string> topics;
  if (record)
    for (const auto& [at, value] : record->offsets)
      if (topics.empty() || topics.back() != at.topic) topics.push_back(at.topic);
  TRY_ASSIGN(auto members, live_members(store.env(), name, topics));
  if (!record && members.empty()) return std::optional<GroupView>();
  return std::optional(
      GroupView{name, record ? std::move(*record) : GroupRecord{}, std::move(members)});
}

Result<const TopicInfo*> LogEnds::topic(const std::string& name) {
  const auto [at, fresh] = topics_.try_emplace(name);
  if (fresh) {
    auto found = store_.find_topic(name);
    if (!found && found.error().code != Errc::kNotFound) return fail(found.error());
    if (found) at->second = std::move(*found);
  }
  return at->second ? &*at->second : nullptr;
}

Result<std::optional<LogEnds::Ends>> LogEnds::of(const TopicPartition& at) {
  const auto [known, fresh] = ends_.try_emplace(at);
  if (!fresh) return known->second;
  TRY_ASSIGN(const TopicInfo* const info, topic(at.topic));
  if (info == nullptr ||
      !std::binary_search(info->partitions.begin(), info->partitions.end(), at.partition))
    return known->second;
  const PartitionPlace place = store_.place(*info, at.partition);
  TRY_ASSIGN(const PartitionView view, view_partition(store_.env(), place));
  known->second = Ends{view.log_start, view.log_end};
  return known->second;
}

Result<std::vector<OffsetRow>> offset_rows(LogEnds& ends, const GroupView& group,
                                           const std::vector<TopicChoice>& choices) {
  std::map<TopicPartition, OffsetRow> rows;
  for (const auto& [at, value] : group.record.offsets)
    rows[at].committed = value.offset;
  for (const LiveMember& m : group.members)
    for (const std::int32_t p : m.claimed)
      rows[{m.record.topic, PartitionId(p)}].member = &m;
  std::vector<OffsetRow> out;
  for (auto& [at, row] : rows) {
    if (!is_chosen(choices, at)) continue;
    row.at = at;
    TRY_ASSIGN(const auto log, ends.of(at));
    if (log) {
      row.log_start = log->start;
      row.log_end = log->end;
      if (row.committed) {
        // What was deleted before it was read is not waiting any more.
        const Offset from = std::max(*row.committed, log->start);
        row.lag = std::max<std::int64_t>(log->end - from, 0);
      }
    }
    out.push_back(row);
  }
  return out;
}

}  // namespace spool
