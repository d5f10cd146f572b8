#include "lane.h"

#include <algorithm>

#include <fmt/format.h>

#include "context.h"

namespace spool {

namespace {

constexpr std::size_t kChunk = std::size_t{1} << 18;
/// Read-ahead of all partitions together, and the least for each.
constexpr std::size_t kChunksTogether = std::size_t{8} << 20;
constexpr std::size_t kChunkMin = std::size_t{8} << 10;
/// With more partitions than this nothing is read ahead: it takes three chunks for each.
constexpr std::size_t kReadAheadLanesMax = 4;

}  // namespace

Result<std::vector<PartitionId>> choose_partitions(const TopicInfo& topic,
                                                   const ConsumeOptions& options) {
  const auto check = [&](PartitionId p, std::string_view where) -> Result<void> {
    if (std::binary_search(topic.partitions.begin(), topic.partitions.end(), p)) return {};
    return fail(Errc::kNotFound, fmt::format("{}topic '{}' has no partition {}; it has {}", where,
                                             topic.name, p.value(), topic.partitions.size()));
  };
  for (const OffsetSpec& spec : options.for_partition)
    TRY(check(*spec.partition, fmt::format("-o {}=..: ", spec.partition->value())));
  if (!options.partitions) return topic.partitions;
  for (const PartitionId p : *options.partitions)
    TRY(check(p, ""));
  return *options.partitions;
}

RecordStream::Options LaneContext::stream_options(std::size_t lanes) const {
  return {options.read_committed, options.control,
          std::clamp(kChunksTogether / std::max<std::size_t>(lanes, 1), kChunkMin, kChunk),
          lanes <= kReadAheadLanesMax ? reader : nullptr};
}

Result<void> Lane::look(LaneContext& context, bool late) {
  const ConsumeOptions& options = context.options;
  TRY_ASSIGN(view, view_partition(context.env, place));
  stable = view.log_end;
  start = view.log_start;
  std::optional<Bound> from = options.from;
  std::optional<Bound> to = options.until;
  for (const OffsetSpec& spec : options.for_partition) {
    if (*spec.partition != place.partition) continue;
    from = spec.from;
    to = spec.until;
  }
  if (late) from.reset();
  Offset at_end = view.log_end;
  // A start behind the log start, or an end that is counted from the end, needs to know what is
  // stable.
  const bool at_start = !from || from->kind == Bound::Kind::kStart;
  if (options.read_committed && (!at_start || to || options.tail)) {
    TRY_ASSIGN(at_end, last_stable_offset(context.env, place, view.log_start, at_end));
    stable = at_end;
  }
  if (from) {
    TRY_ASSIGN(start, resolve(context.env, *from, at_end));
  }
  if (to) {
    TRY_ASSIGN(const Offset stop, resolve(context.env, *to, at_end));
    if (options.follow && to->kind == Bound::Kind::kTime && stop >= at_end) {
      until_time = TimestampMs(to->value);  // it lies ahead
    } else {
      until = stop;
    }
  }
  const Offset first = view.log_start;
  if (start < first) {
    context.tell(fmt::format("{}: offsets {} to {} are gone; reading starts at {}", place.name(),
                             start.value(), first.value() - 1, first.value()));
    start = first;
  }
  if (start > at_end && from && from->kind == Bound::Kind::kOffset) {
    context.tell(fmt::format("{}: offset {} is behind the end, which is {}", place.name(),
                             start.value(), at_end.value()));
    if (!options.follow) start = at_end;
  }
  if (!options.follow) end = at_end;
  return {};
}

Result<Offset> Lane::resolve(const LogEnv& env, const Bound& bound, Offset at_end) const {
  const Offset first = view.log_start;
  switch (bound.kind) {
    case Bound::Kind::kStart:
      return first;
    case Bound::Kind::kEnd:
      return at_end;
    case Bound::Kind::kOffset:
      return Offset(bound.value);
    case Bound::Kind::kFromStart:
      return bound.value < at_end - first ? first + bound.value : at_end;
    case Bound::Kind::kFromEnd:
      return bound.value < at_end - first ? at_end - bound.value : first;
    case Bound::Kind::kTime:
      return offset_for_time(env, place, view, TimestampMs(bound.value));
  }
  return first;
}

void Lane::open(const LaneContext& context, Offset from, std::size_t lanes) {
  stream.emplace(context.env, place, from, context.stream_options(lanes));
}

Result<bool> Lane::advance(LaneContext& context) {
  const ConsumeOptions& options = context.options;
  const Offset stop = limit();
  for (;;) {
    if (stream->position() >= stop) {
      finished = true;
      return false;
    }
    auto step = stream->next();
    if (const std::int64_t gone = stream->take_gone(); gone > 0)
      context.tell(
          fmt::format("{}: {} records were deleted before they were read", place.name(), gone));
    if (!step) {
      if (step.error().code != Errc::kCorrupt || !options.skip_damaged) return fail(step.error());
      say(step.error().message());
      ++context.damages;
      stream->skip_damage();
      continue;
    }
    if (*step == RecordStream::Step::kRecord) {
      const RecordView& record = stream->record();
      if (record.offset >= stop || (until_time && record.timestamp >= *until_time)) {
        finished = true;
        return false;
      }
      return true;
    }
    if (*step == RecordStream::Step::kUndecided) {
      if (!told_open)
        context.tell(fmt::format(
            "{}: a transaction is open from offset {} on; nothing behind it is shown{}",
            place.name(), stream->position().value(), options.follow ? " until it ends" : ""));
      told_open = true;
    }
    if (*step == RecordStream::Step::kEnd && end != kNoLimit && stream->position() < stop &&
        !stream->ended_unrecovered())
      return fail(
          Errc::kCorrupt,
          fmt::format("'{}' is damaged: offsets {} to {} were there when reading began, and "
                      "are gone",
                      place.dir, stream->position().value(), stop.value() - 1));
    if (!options.follow) finished = true;
    return false;
  }
}

}  // namespace spool
