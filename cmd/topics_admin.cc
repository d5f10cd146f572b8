/// `spool topics create`, `alter` and `delete`: what changes the list of topics.

#include <algorithm>

#include <fmt/format.h>

#include "confirm.h"
#include "escapes.h"
#include "log/lookup.h"
#include "produce_options.h"
#include "topics_actions.h"

namespace spool {

namespace {

/// create --dry-run: the names that would be made.
int try_create(const TopicsCall& call) {
  std::string out;
  int result = status::kOk;
  const auto store = Store::open(store_options(call.common), call.common.dir);
  if (!store && store.error().code != Errc::kNotFound) return report_error(store.error());
  for (const std::string& name : call.words) {
    const auto may = store ? (*store)->may_create(name) : Result<void>();
    if (may) {
      out += name + '\n';
    } else if (may.error().code != Errc::kExists || !call.args.has("if-not-exists")) {
      const int failed = report_error(may.error());
      result = call.words.size() == 1 ? failed : status::kFailure;
    }
  }
  return std::max(result, print_out(out));
}

/// The change that alter's options ask for.
Result<TopicChange> read_change(const Args& args) {
  TopicChange change;
  for (const std::string& pair : args.list("config")) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos)
      return fail(Errc::kUsage, fmt::format("a config is NAME=VALUE, not {}", in_quotes(pair)));
    change.set.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
    TRY(validate_topic_config(change.set.back().first, change.set.back().second));
  }
  change.erase = args.list("delete-config");
  for (const std::string& name : change.erase)
    if (std::any_of(change.set.begin(), change.set.end(),
                    [&](const auto& set) { return set.first == name; }))
      return fail(Errc::kUsage, fmt::format("config {} is both set and deleted", in_quotes(name)));
  if (const auto p = args.value("partitions")) {
    TRY_ASSIGN(const std::int64_t n, read_number("partitions", *p, 1, kPartitionsMax));
    change.partitions = static_cast<std::int32_t>(n);
  }
  if (change.set.empty() && change.erase.empty() && !change.partitions)
    return fail(Errc::kUsage, "nothing to alter: give --config, --delete-config or --partitions");
  return change;
}

/// What a delete would lose, for the question.
std::string loss(Store& store, const std::vector<TopicInfo>& topics) {
  std::string names;
  std::int64_t records = 0;
  std::int64_t bytes = 0;
  for (const TopicInfo& t : topics) {
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", t.name);
    for (const PartitionId p : t.partitions) {
      const auto place = store.place(t, p);
      const auto view = view_partition(store.env(), place);
      if (!view) continue;
      records += view->log_end - view->log_start;
      bytes += partition_bytes(store.env(), place, *view);
    }
  }
  return fmt::format("delete {} {}, with {} records, {} bytes?",
                     topics.size() == 1 ? "topic" : "topics", names, records, bytes);
}

/// delete --dry-run: what would go.
int print_topics(const std::vector<TopicInfo>& topics, TableFormat format) {
  Table table{{"topic", "partitions", "topic_id"}, {}};
  std::string text;
  for (const TopicInfo& t : topics) {
    text += t.name + '\n';
    table.rows.push_back({t.name, static_cast<std::int64_t>(t.partitions.size()),
                          t.id ? t.id->text() : std::string()});
  }
  return print_out(format == TableFormat::kText ? text : format_table(table, format));
}

/// An internal topic is deleted only when that is said twice: it holds the groups' offsets.
Result<void> check_internal(const TopicsCall& call, const TopicInfo& topic) {
  if (!is_internal_topic(topic.name) || call.args.has("internal")) return {};
  return fail(Errc::kUsage,
              fmt::format("topic '{}' is internal: give --internal if you mean it", topic.name));
}

}  // namespace

int topics_create(const TopicsCall& call) {
  const Args& args = call.args;
  if (call.words.empty())
    return usage_error("topics", Error{Errc::kUsage, 0, "no topic to create"});
  std::int32_t partitions = 1;
  if (const auto p = args.value("partitions")) {
    const auto n = read_number("partitions", *p, 1, kPartitionsMax);
    if (!n) return usage_error("topics", n.error());
    partitions = static_cast<std::int32_t>(*n);
  }
  if (const auto r = args.value("replication-factor"); r && *r != "1" && *r != "-1")
    return usage_error(
        "topics",
        Error{Errc::kUsage, 0,
              fmt::format("a directory keeps one copy: --replication-factor 1, not {}", *r)});
  auto config = read_topic_config(args.list("config"));
  if (!config) return usage_error("topics", config.error());
  // What a local command makes keeps its records until somebody says otherwise.
  if (!config->is_set("retention.ms"))
    if (const auto set = config->set("retention.ms", "-1"); !set) return report_error(set.error());
  for (const std::string& name : call.words)
    if (const auto legal = check_topic_name(name); !legal)
      return usage_error("topics", legal.error());
  if (args.has("dry-run")) return try_create(call);
  const auto store = Store::open_for_writing(store_options(call.common), call.common.dir, true);
  if (!store) return report_open_error(store.error(), call.common.dir);
  int result = status::kOk;
  for (const std::string& name : call.words) {
    const auto made = (*store)->create_topic(name, partitions, *config);
    if (made) continue;
    if (made.error().code == Errc::kExists && args.has("if-not-exists") &&
        (*store)->find_topic(name))
      continue;
    const int failed = report_error(made.error());
    // One of several: the others are still made.
    result = call.words.size() == 1 ? failed : status::kFailure;
  }
  return result;
}

int topics_alter(const TopicsCall& call) {
  if (call.words.empty()) return usage_error("topics", Error{Errc::kUsage, 0, "no topic to alter"});
  const auto change = read_change(call.args);
  if (!change) return usage_error("topics", change.error());
  const auto store = Store::open_for_writing(store_options(call.common), call.common.dir, false);
  if (!store) return report_open_error(store.error(), call.common.dir);
  int result = status::kOk;
  const auto topics = choose_each(**store, call, result);
  if (!topics) return report_topics_error(topics.error());
  if (result != status::kOk && call.words.size() > 1) result = status::kFailure;
  const bool dry_run = call.args.has("dry-run");
  std::string text;
  Table table{{"topic", "partitions", "configs"}, {}};
  for (const TopicInfo& topic : *topics) {
    const auto after = (*store)->alter_topic(topic.name, *change, dry_run);
    if (!after) {
      const int failed = report_topics_error(after.error());
      result = topics->size() == 1 && call.words.size() == 1 ? failed : status::kFailure;
      continue;
    }
    const auto partitions = static_cast<std::int64_t>(after->partitions.size());
    const std::string configs = config_text(after->config);
    table.rows.push_back({after->name, partitions, configs});
    text +=
        fmt::format("TOPIC: {}  PARTITIONS: {}  CONFIGS: {}\n", after->name, partitions, configs);
  }
  if (!dry_run) return result;
  const bool as_text = call.format == TableFormat::kText;
  return std::max(result, print_out(as_text ? text : format_table(table, call.format)));
}

int topics_delete(const TopicsCall& call) {
  if (call.words.empty())
    return usage_error("topics", Error{Errc::kUsage, 0, "no topic to delete"});
  if (const auto ask = may_ask(call.args, "delete"); !ask)
    return usage_error("topics", ask.error());
  const auto store = Store::open_for_writing(store_options(call.common), call.common.dir, false);
  if (!store) return report_open_error(store.error(), call.common.dir);
  int result = status::kOk;
  const auto found = choose_each(**store, call, result);
  if (!found) return report_topics_error(found.error());
  std::vector<TopicInfo> topics;
  for (const TopicInfo& topic : *found) {
    auto may = check_internal(call, topic);
    if (may) may = (*store)->may_delete(topic);
    if (may) {
      topics.push_back(topic);
    } else {
      result = report_topics_error(may.error());
    }
  }
  const bool several = call.words.size() > 1 || found->size() > 1;
  if (call.args.has("dry-run")) {
    const int printed = print_topics(topics, call.format);
    return std::max(printed, several && result != status::kOk ? status::kFailure : result);
  }
  if (!topics.empty() && !confirmed(call.args, loss(**store, topics))) {
    say("nothing was deleted");
    return status::kFailure;
  }
  for (const TopicInfo& topic : topics) {
    const auto done = (*store)->delete_topic(topic);
    if (done || (done.error().code == Errc::kDeleted && call.args.has("if-exists"))) continue;
    result = report_error(done.error());
  }
  return several && result != status::kOk ? status::kFailure : result;
}

}  // namespace spool
