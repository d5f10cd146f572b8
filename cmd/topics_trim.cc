/// `spool topics trim` and `offsets`: where offsets lie, and taking away what is before one.

#include <algorithm>

#include <fmt/format.h>

#include "confirm.h"
#include "escapes.h"
#include "log/lookup.h"
#include "log/trim.h"
#include "offset_spec.h"
#include "store/internal_topics.h"
#include "topics_actions.h"
#include "values.h"

namespace spool {

namespace {

Result<Offset> resolve(const LogEnv& env, const PartitionPlace& place, const PartitionView& view,
                       const Bound& bound) {
  const Offset first = view.log_start;
  const Offset end = view.log_end;
  switch (bound.kind) {
    case Bound::Kind::kStart:
      return first;
    case Bound::Kind::kEnd:
      return end;
    case Bound::Kind::kOffset:
      return Offset(bound.value);
    case Bound::Kind::kFromStart:
      return bound.value < end - first ? first + bound.value : end;
    case Bound::Kind::kFromEnd:
      return bound.value < end - first ? end - bound.value : first;
    case Bound::Kind::kTime:
      return offset_for_time(env, place, view, TimestampMs(bound.value));
  }
  return first;
}

/// The partitions of -p, or all.
Result<std::vector<PartitionId>> chosen_partitions(const TopicsCall& call, const TopicInfo& topic) {
  const auto list = call.args.value("partitions");
  if (!list) return topic.partitions;
  TRY_ASSIGN(auto wanted, parse_partitions(*list));
  for (const PartitionId p : wanted)
    if (!std::binary_search(topic.partitions.begin(), topic.partitions.end(), p))
      return fail(Errc::kNotFound, fmt::format("topic '{}' has no partition {}; it has {}",
                                               topic.name, p.value(), topic.partitions.size()));
  return wanted;
}

/// -o of trim: one offset or time.
Result<Bound> read_trim_bound(const Args& args, TimestampMs now) {
  const auto text = args.value("offset");
  if (!text) return fail(Errc::kUsage, "trim needs --offset: N, end or @TIME");
  TRY_ASSIGN(const OffsetSpec spec, parse_offset_spec(*text, now));
  if (!spec.from || spec.until || spec.partition)
    return fail(Errc::kUsage,
                fmt::format("{} is no place to trim to: N, end, -N or @TIME", in_quotes(*text)));
  return *spec.from;
}

/// --at of offsets: a time, start or end; end where it is missing.
Result<Bound> read_at(const Args& args, TimestampMs now) {
  std::string text = args.value("at").value_or("end");
  if (text == "-1") text = "end";  // Kafka's numbers for the two
  if (text == "-2") text = "start";
  for (const std::string_view word : {"start", "beginning", "earliest", "end", "latest"})
    if (text == word) return parse_bound(text, now);
  if (text.starts_with('@')) text.erase(0, 1);
  TRY_ASSIGN(const TimestampMs time, parse_time(text, now));
  return Bound{Bound::Kind::kTime, time.value()};
}

/// One partition that is to be trimmed.
struct Trim {
  PartitionPlace place;
  Offset target;
  TrimResult plan;
};

class Trimmer {
 public:
  Trimmer(const TopicsCall& call, Store& store, const Bound& bound)
      : call_(call),
        store_(store),
        bound_(bound),
        // A place that was found may have been trimmed away meanwhile; a number that was given is
        // meant.
        below_(bound.kind == Bound::Kind::kOffset ? TrimBelowStart::kFails
                                                  : TrimBelowStart::kNothing) {}

  int run(const std::vector<TopicInfo>& topics);

 private:
  [[nodiscard]] Result<void> plan(const TopicInfo& topic);
  void failed(const Error& error) {
    ++failures_;
    status_ = report_topics_error(error);
  }
  [[nodiscard]] int status(std::size_t of) const {
    return failures_ > 0 && of > 1 && status_ != status::kUsage ? status::kFailure : status_;
  }
  [[nodiscard]] std::string question() const;
  [[nodiscard]] int print_plan() const;

  const TopicsCall& call_;
  Store& store_;
  const Bound bound_;
  const TrimBelowStart below_;
  std::vector<Trim> trims_;
  std::size_t failures_ = 0;
  int status_ = status::kOk;
};

/// All partitions of the topic, or an error and none of them.
Result<void> Trimmer::plan(const TopicInfo& topic) {
  TRY(check_not_state(topic.name));
  if (topic.config_known && topic.config.compacts() && !topic.config.deletes())
    return fail(Errc::kConflict,
                fmt::format("topic '{}' is compacted only: its cleanup.policy has no 'delete'",
                            topic.name));
  TRY_ASSIGN(const auto partitions, chosen_partitions(call_, topic));
  for (const PartitionId p : partitions) {
    Trim trim{store_.place(topic, p), Offset(0), {}};
    TRY_ASSIGN(const PartitionView view, view_partition(store_.env(), trim.place));
    TRY_ASSIGN(trim.target, resolve(store_.env(), trim.place, view, bound_));
    auto plan = plan_trim(store_.env(), trim.place, trim.target, below_);
    if (!plan && plan.error().code == Errc::kOutOfRange) {
      failed(plan.error());  // the other partitions are trimmed
      continue;
    }
    if (!plan) return fail(plan.error());
    trim.plan = *plan;
    trims_.push_back(std::move(trim));
  }
  return {};
}

std::string Trimmer::question() const {
  std::int64_t records = 0;
  std::int64_t bytes = 0;
  for (const Trim& t : trims_) {
    records += t.plan.new_start - t.plan.old_start;
    bytes += t.plan.bytes;
  }
  return fmt::format("remove {} offsets of {} {}, {} bytes?", records, trims_.size(),
                     trims_.size() == 1 ? "partition" : "partitions", bytes);
}

int Trimmer::print_plan() const {
  const bool text = call_.format == TableFormat::kText;
  Table table{
      {"topic", "partition", "start_offset", "new_start_offset", "end_offset", "segments", "bytes"},
      {}};
  if (text)
    table.columns = {"TOPIC",      "PARTITION", "START-OFFSET", "NEW-START-OFFSET",
                     "END-OFFSET", "SEGMENTS",  "BYTES"};
  for (const Trim& t : trims_)
    table.rows.push_back({t.place.topic, std::int64_t{t.place.partition.value()},
                          t.plan.old_start.value(), t.plan.new_start.value(),
                          t.plan.log_end.value(), t.plan.segments, t.plan.bytes});
  return print_out(format_table(table, call_.format));
}

int Trimmer::run(const std::vector<TopicInfo>& topics) {
  for (const TopicInfo& topic : topics)
    if (const auto planned = plan(topic); !planned) failed(planned.error());
  const std::size_t all = trims_.size() + failures_;
  if (call_.args.has("dry-run")) return std::max(print_plan(), status(all));
  if (trims_.empty()) return status(all);
  if (!confirmed(call_.args, question())) {
    say("nothing was trimmed");
    return status::kFailure;
  }
  for (const Trim& t : trims_) {
    const auto done = trim_partition(store_.env(), t.place, t.target, below_);
    if (!done) {
      failed(done.error());
    } else if (call_.common.verbose) {
      say(fmt::format("{}: starts at {} now; {} segments of {} bytes were removed", t.place.name(),
                      done->new_start.value(), done->segments, done->bytes));
    }
  }
  return status(all);
}

}  // namespace

int topics_trim(const TopicsCall& call) {
  const Store::Options options = store_options(call.common);
  const auto bound = read_trim_bound(call.args, options.clock.now());
  if (!bound) return usage_error("topics", bound.error());
  if (call.words.empty()) return usage_error("topics", Error{Errc::kUsage, 0, "no topic to trim"});
  if (const auto partitions = call.args.value("partitions"))
    if (const auto list = parse_partitions(*partitions); !list)
      return usage_error("topics", list.error());
  if (const auto ask = may_ask(call.args, "trim"); !ask) return usage_error("topics", ask.error());
  const auto store = call.args.has("dry-run")
                         ? Store::open(options, call.common.dir)
                         : Store::open_for_writing(options, call.common.dir, false);
  if (!store) return report_open_error(store.error(), call.common.dir);
  int missing = status::kOk;
  const auto topics = choose_each(**store, call, missing);
  if (!topics) return report_topics_error(topics.error());
  const int trimmed = Trimmer(call, **store, *bound).run(*topics);
  if (missing == status::kOk) return trimmed;
  return call.words.size() == 1 && topics->empty() ? missing : status::kFailure;
}

int topics_offsets(const TopicsCall& call) {
  const Store::Options options = store_options(call.common);
  const auto at = read_at(call.args, options.clock.now());
  if (!at) return usage_error("topics", at.error());
  if (call.words.empty())
    return usage_error("topics", Error{Errc::kUsage, 0, "no topic to look at"});
  const auto store = Store::open(options, call.common.dir);
  if (!store) return report_open_error(store.error(), call.common.dir);
  int result = status::kOk;
  const auto topics = choose_each(**store, call, result);
  if (!topics) return report_topics_error(topics.error());
  if (result != status::kOk && call.words.size() > 1) result = status::kFailure;
  Table table{{"topic", "partition", "offset"}, {}};
  std::string text;
  const auto add = [&](const TopicInfo& topic) -> Result<void> {
    TRY_ASSIGN(const auto partitions, chosen_partitions(call, topic));
    for (const PartitionId p : partitions) {
      const PartitionPlace place = (*store)->place(topic, p);
      TRY_ASSIGN(const PartitionView view, view_partition((*store)->env(), place));
      TRY_ASSIGN(const Offset offset, resolve((*store)->env(), place, view, *at));
      table.rows.push_back({topic.name, std::int64_t{p.value()}, offset.value()});
      text += fmt::format("{} {} {}\n", topic.name, p.value(), offset.value());
    }
    return {};
  };
  for (const TopicInfo& topic : *topics)
    if (const auto added = add(topic); !added) {
      result = report_topics_error(added.error());
      if (topics->size() > 1 && result != status::kUsage) result = status::kFailure;
    }
  const bool as_text = call.format == TableFormat::kText;
  return std::max(result, print_out(as_text ? text : format_table(table, call.format)));
}

}  // namespace spool
