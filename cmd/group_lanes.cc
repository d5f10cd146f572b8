#include "group_lanes.h"

#include <fmt/format.h>

#include "log/transactions.h"
#include "offsets_file.h"

namespace spool {

Result<std::map<TopicPartition, Offset>> Offsets::committed() {
  if (options_.offsets_file) return read_offsets_file(store_.env().fs, *options_.offsets_file);
  std::map<TopicPartition, Offset> out;
  if (!options_.name) return out;
  TRY_ASSIGN(const auto group, group_.group(*options_.name));
  if (!group) return out;
  for (const auto& [at, value] : group->offsets)
    out[at] = value.offset;
  return out;
}

Result<void> Offsets::commit(std::int32_t generation,
                             const std::map<TopicPartition, Offset>& offsets,
                             const std::map<TopicPartition, PartitionPlace>& places) {
  for (const auto& [at, offset] : offsets)
    TRY(sync_.sync(places.at(at), offset));
  // Of a topic that was deleted nothing is committed any more: one that is made again under its
  // name would be read from there.
  const auto still = [&]() -> Result<void> {
    std::string asked;
    for (const auto& [at, offset] : offsets) {
      const PartitionPlace& place = places.at(at);
      if (!place.confirm || at.topic == asked) continue;
      TRY(place.confirm());
      asked = at.topic;
    }
    return {};
  };
  if (options_.offsets_file) {
    if (!options_.name)
      return update_offsets_file(store_.env().fs, *options_.offsets_file, offsets);
    // Members of one group may share the file.
    TRY_ASSIGN(const auto byte,
               store_.env().locks.lock_byte("offsets-file " + *options_.offsets_file));
    return update_offsets_file(store_.env().fs, *options_.offsets_file, offsets);
  }
  if (!options_.name) return {};
  std::vector<OffsetChange> changes;
  for (const auto& [at, offset] : offsets)
    changes.push_back({at, offset, ""});
  return group_.commit(*options_.name, generation, changes, still);
}

Result<Offset> end_for(Store& store, const ConsumeOptions& options, const PartitionPlace& place) {
  TRY_ASSIGN(const PartitionView view, view_partition(store.env(), place));
  if (!options.read_committed) return view.log_end;
  return last_stable_offset(store.env(), place, view.log_start, view.log_end);
}

namespace {

/// Without a commit that holds.
Result<void> start_by_policy(const LaneContext& context, const std::string& why, GroupLane& lane) {
  const ResetPolicy policy = context.options.group.reset;
  if (policy == ResetPolicy::kError)
    return fail(Errc::kOutOfRange,
                fmt::format("{}: {} (--reset error); 'spool reset-offsets' sets one",
                            lane.place.name(), why));
  lane.start = lane.view.log_start;
  if (policy == ResetPolicy::kEarliest) return {};
  if (context.options.read_committed) {
    TRY_ASSIGN(lane.stable,
               last_stable_offset(context.env, lane.place, lane.view.log_start, lane.view.log_end));
  }
  lane.start = lane.stable;
  // Else the next run would start at the end of then, and what comes between were lost.
  lane.start_counts = true;
  return {};
}

bool start_is_given(const ConsumeOptions& options, PartitionId partition) {
  for (const OffsetSpec& spec : options.for_partition)
    if (*spec.partition == partition) return spec.from.has_value();
  return options.from.has_value();
}

}  // namespace

Result<void> set_group_span(LaneContext& context, std::optional<Offset> committed, bool first_time,
                            GroupLane& lane) {
  const GroupOptions& group = context.options.group;
  TRY(lane.look(context, !first_time));
  const Offset log_start = lane.view.log_start;
  const Offset log_end = lane.view.log_end;
  if (first_time && start_is_given(context.options, lane.tp.partition)) {
    lane.start_counts = true;
  } else if (!committed) {
    const std::string where = group.name           ? fmt::format("group '{}'", *group.name)
                              : group.offsets_file ? fmt::format("'{}'", *group.offsets_file)
                                                   : std::string("nobody");
    TRY(start_by_policy(context, where + " has no offset for it", lane));
  } else if (*committed > log_end) {
    const std::string why = fmt::format("the committed offset {} is behind the end, which is {}",
                                        committed->value(), log_end.value());
    TRY(start_by_policy(context, why, lane));
    context.tell(
        fmt::format("{}: {}; reading starts at {}", lane.place.name(), why, lane.start.value()));
  } else {
    lane.start = *committed;
  }
  if (lane.start < log_start) {
    context.tell(fmt::format("{}: offsets {} to {} are gone; reading starts at {}",
                             lane.place.name(), lane.start.value(), log_start.value() - 1,
                             log_start.value()));
    lane.start = log_start;
  }
  lane.printed = lane.start;
  return {};
}

}  // namespace spool
