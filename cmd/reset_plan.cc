#include "reset_plan.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "context.h"
#include "group/undo_file.h"
#include "log/lookup.h"
#include "produce_options.h"
#include "values.h"

namespace spool {

using Mode = ResetOptions::Mode;

namespace {

constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

struct ModeOption {
  std::string_view name;
  Mode mode;
};
constexpr auto kModes = std::to_array<ModeOption>({
    {"to-earliest", Mode::kEarliest},
    {"to-latest", Mode::kLatest},
    {"to-current", Mode::kCurrent},
    {"to-offset", Mode::kOffset},
    {"shift-by", Mode::kShift},
    {"to-datetime", Mode::kTime},
    {"by-duration", Mode::kTime},
    {"from-file", Mode::kFile},
    {"to-group", Mode::kGroup},
    {"to", Mode::kBound},
    {"undo", Mode::kUndo},
});

Result<void> read_mode_value(const Args& args, TimestampMs now, ResetOptions& out) {
  if (const auto n = args.value("to-offset")) {
    TRY_ASSIGN(out.number, read_number("to-offset", *n, 0, kInt64Max));
  }
  if (const auto n = args.value("shift-by")) {
    const std::string_view digits = n->starts_with('+') ? std::string_view(*n).substr(1) : *n;
    TRY_ASSIGN(out.number, read_number("shift-by", digits, -kInt64Max, kInt64Max));
  }
  if (const auto t = args.value("to-datetime")) {
    TRY_ASSIGN(const TimestampMs time, parse_time(*t, now));
    out.number = time.value();
  }
  if (const auto d = args.value("by-duration")) {
    TRY_ASSIGN(const std::int64_t ms, parse_duration_ms(*d));
    out.number = std::max<std::int64_t>(now.value() - ms, 0);
  }
  if (const auto spec = args.value("to")) {
    TRY_ASSIGN(const OffsetSpec parsed, parse_offset_spec(*spec, now));
    if (!parsed.from || parsed.until || parsed.partition)
      return fail(Errc::kUsage, fmt::format("--to takes one place, not '{}'", *spec));
    out.bound = parsed.from;
  }
  out.source = args.value("from-file").value_or(args.value("to-group").value_or(""));
  return {};
}

}  // namespace

Result<ResetOptions> read_reset_options(const Args& args, TimestampMs now) {
  ResetOptions out;
  if (!args.words().empty())
    return fail(Errc::kUsage, fmt::format("'{}' has no place here: groups are named by -g, topics "
                                          "by -t",
                                          args.words().front()));
  for (const std::string& group : args.list("group"))
    if (std::find(out.groups.begin(), out.groups.end(), group) == out.groups.end())
      out.groups.push_back(group);
  if (out.groups.empty()) return fail(Errc::kUsage, "no group: -g G");
  for (const std::string& name : out.groups)
    if (name.empty()) return fail(Errc::kUsage, "-g needs the name of a group, not ''");
  TRY_ASSIGN(out.topics, parse_topic_choices(args.list("topic")));
  out.all_topics = args.has("all-topics");
  TRY(exclusive(args, {"topic", "all-topics"}));
  TRY(exclusive(args, {"execute", "dry-run"}));
  TRY(exclusive(args, {"execute", "export"}));
  TRY(exclusive(args, {"export", "format"}));
  std::string_view given;
  for (const auto& [name, mode] : kModes) {
    if (!args.has(name)) continue;
    if (!given.empty())
      return fail(Errc::kUsage, fmt::format("--{} and --{} exclude each other", given, name));
    given = name;
    out.mode = mode;
  }
  out.export_csv = args.has("export");
  if (given.empty() && !out.export_csv)
    return fail(Errc::kUsage,
                "where to? --to-earliest, --to-latest, --to-current, --to-offset, --shift-by, "
                "--to-datetime, --by-duration, --from-file, --to-group, --to or --undo");
  const bool names_its_own =
      out.mode == Mode::kFile || out.mode == Mode::kUndo || out.mode == Mode::kGroup;
  if (out.topics.empty() && !out.all_topics && !names_its_own)
    return fail(Errc::kUsage, "which topics? -t T, or --all-topics");
  TRY(read_mode_value(args, now, out));
  out.execute = args.has("execute");
  out.strict = args.has("strict");
  out.force = args.has("force");
  return out;
}

namespace {

/// Where a row is to go, before it is held against the range. nullopt: it is left out, or goes.
struct Target {
  std::optional<Offset> offset;
  bool skip = false;
  std::string note;
  bool exact = false;  ///< put back as it was, range or not
};

class Planner {
 public:
  Planner(Store& store, OffsetStore& offsets, LogEnds& ends, const ResetOptions& options,
          const std::string& group, const FileOffsets& file)
      : store_(store), offsets_(offsets), ends_(ends), options_(options), group_(group) {
    if (const auto all = file.find(""); all != file.end()) wanted_ = all->second;
    if (const auto own = file.find(group); own != file.end())
      for (const auto& [at, offset] : own->second)
        wanted_[at] = offset;
  }

  Result<std::vector<ResetRow>> plan() {
    TRY_ASSIGN(const auto record, offsets_.group(group_));
    if (record)
      for (const auto& [at, value] : record->offsets)
        before_[at] = value.offset;
    if (options_.all_topics && !record)
      return fail(Errc::kNotFound, fmt::format("group '{}' does not exist", group_));
    if (options_.mode == Mode::kUndo) {
      TRY_ASSIGN(undo_, read_undo(store_.env(), group_));
    }
    if (options_.mode == Mode::kGroup) {
      TRY_ASSIGN(const auto other, offsets_.group(options_.source));
      if (!other)
        return fail(Errc::kNotFound, fmt::format("group '{}' does not exist", options_.source));
      for (const auto& [at, value] : other->offsets)
        wanted_[at] = value.offset;
    }
    TRY_ASSIGN(const auto partitions, chosen());
    std::vector<ResetRow> out;
    for (const TopicPartition& at : partitions) {
      TRY_ASSIGN(ResetRow row, plan_row(at));
      out.push_back(std::move(row));
    }
    return out;
  }

 private:
  /// The partitions that the options name.
  Result<std::vector<TopicPartition>> chosen() {
    std::set<TopicPartition> out;
    for (const TopicChoice& c : options_.topics) {
      TRY_ASSIGN(const TopicInfo* const topic, ends_.topic(c.topic));
      if (topic == nullptr)
        return fail(Errc::kNotFound, fmt::format("topic '{}' does not exist", c.topic));
      for (const PartitionId p : c.partitions ? *c.partitions : topic->partitions) {
        if (!std::binary_search(topic->partitions.begin(), topic->partitions.end(), p))
          return fail(Errc::kNotFound,
                      fmt::format("topic '{}' has no partition {}", c.topic, p.value()));
        out.insert({c.topic, p});
      }
    }
    const bool from_wanted = options_.mode == Mode::kFile || options_.mode == Mode::kGroup;
    if (from_wanted || options_.mode == Mode::kUndo) {
      const std::set<TopicPartition> named = out;
      if (options_.mode == Mode::kFile || named.empty()) out.clear();
      const auto add = [&](const TopicPartition& at) {
        if (named.empty() || named.contains(at)) out.insert(at);
      };
      if (options_.mode == Mode::kUndo) {
        out.clear();
        for (const auto& [at, offset] : undo_)
          add(at);
      } else {
        for (const auto& [at, offset] : wanted_)
          add(at);
      }
    } else if (options_.all_topics) {
      for (const auto& [at, offset] : before_)
        out.insert(at);
    }
    return std::vector<TopicPartition>(out.begin(), out.end());
  }

  Result<ResetRow> plan_row(const TopicPartition& at) {
    ResetRow row;
    row.at = at;
    if (const auto known = before_.find(at); known != before_.end()) row.before = known->second;
    TRY_ASSIGN(const auto log, ends_.of(at));
    if (!log && options_.all_topics) {  // its topic was deleted
      row.skipped = true;
      row.note = "the partition is not there";
      return row;
    }
    if (!log)
      return fail(Errc::kNotFound, fmt::format("partition {} of topic '{}' does not exist",
                                               at.partition.value(), at.topic));
    row.log_end = log->end;
    TRY_ASSIGN(const Target target, target_of(at, *log, row.before));
    row.note = target.note;
    row.skipped = target.skip;
    if (target.skip) return row;
    row.after = target.offset;
    if (!row.after || target.exact) return row;
    const Offset inside = std::clamp(*row.after, log->start, log->end);
    if (inside == *row.after) return row;
    const std::string what = fmt::format("{} is out of range {} to {}", row.after->value(),
                                         log->start.value(), log->end.value());
    if (options_.strict)
      return fail(Errc::kOutOfRange,
                  fmt::format("{}-{}: {} (--strict)", at.topic, at.partition.value(), what));
    row.after = inside;
    row.note = what;
    return row;
  }

  Result<Target> target_of(const TopicPartition& at, const LogEnds::Ends& log,
                           const std::optional<Offset>& before) {
    switch (options_.mode) {
      case Mode::kEarliest:
        return Target{log.start, false, "", false};
      case Mode::kLatest:
        return Target{log.end, false, "", false};
      case Mode::kCurrent:
        if (before) return Target{before, false, "", true};
        return Target{{}, true, "the group has no offset for it", false};
      case Mode::kOffset:
        return Target{Offset(options_.number), false, "", false};
      case Mode::kShift: {
        if (!before) return Target{{}, true, "the group has no offset for it", false};
        std::int64_t moved = 0;
        if (__builtin_add_overflow(before->value(), options_.number, &moved))
          moved = options_.number < 0 ? 0 : kInt64Max;
        return Target{Offset(moved), false, "", false};
      }
      case Mode::kTime:
        return by_time(at, log, options_.number);
      case Mode::kBound:
        return by_bound(at, log);
      case Mode::kFile:
      case Mode::kGroup: {
        const auto known = wanted_.find(at);
        if (known != wanted_.end()) return Target{known->second, false, "", false};
        return Target{
            {}, true, fmt::format("group '{}' has no offset for it", options_.source), false};
      }
      case Mode::kUndo: {
        const auto known = undo_.find(at);
        if (known == undo_.end()) return Target{{}, true, "the last reset left it alone", false};
        return Target{known->second, false, known->second ? "" : "it had no offset", true};
      }
    }
    return Target{};
  }

  Result<Target> by_time(const TopicPartition& at, const LogEnds::Ends& log, std::int64_t ms) {
    TRY_ASSIGN(const TopicInfo* const topic, ends_.topic(at.topic));
    const PartitionPlace place = store_.place(*topic, at.partition);
    TRY_ASSIGN(const PartitionView view, view_partition(store_.env(), place));
    TRY_ASSIGN(const Offset found, offset_for_time(store_.env(), place, view, TimestampMs(ms)));
    Target out{found, false, "", false};
    if (found >= log.end && log.end > log.start) out.note = "no record is so late: the end";
    return out;
  }

  Result<Target> by_bound(const TopicPartition& at, const LogEnds::Ends& log) {
    const std::int64_t n = options_.bound->value;
    switch (options_.bound->kind) {
      case Bound::Kind::kStart:
        return Target{log.start, false, "", false};
      case Bound::Kind::kEnd:
        return Target{log.end, false, "", false};
      case Bound::Kind::kOffset:
        return Target{Offset(n), false, "", false};
      case Bound::Kind::kFromStart:
        return Target{n < log.end - log.start ? log.start + n : log.end, false, "", false};
      case Bound::Kind::kFromEnd:
        return Target{n < log.end - log.start ? log.end - n : log.start, false, "", false};
      case Bound::Kind::kTime:
        return by_time(at, log, n);
    }
    return Target{};
  }

  Store& store_;
  OffsetStore& offsets_;
  LogEnds& ends_;
  const ResetOptions& options_;
  const std::string& group_;
  std::map<TopicPartition, Offset> wanted_;
  std::map<TopicPartition, Offset> before_;
  OffsetsBefore undo_;
};

}  // namespace

Result<std::vector<ResetRow>> plan_reset(Store& store, OffsetStore& offsets, LogEnds& ends,
                                         const ResetOptions& options, const std::string& group,
                                         const FileOffsets& file) {
  return Planner(store, offsets, ends, options, group, file).plan();
}

}  // namespace spool
