#include <algorithm>
#include <array>
#include <cerrno>
#include <regex.h>
#include <unistd.h>

#include <fmt/format.h>

#include "commands.h"
#include "context.h"
#include "log/lookup.h"
#include "produce_options.h"
#include "table.h"

namespace spool {

namespace {

constexpr std::array<std::string_view, 3> kActions{"list", "create", "describe"};

struct TopicsCommand {
  std::string action;
  std::vector<std::string> names;
};

/// The action, and whether it takes the options that were given.
Result<TopicsCommand> read_action(const Args& args) {
  TopicsCommand out;
  if (args.words().empty()) return fail(Errc::kUsage, "no action: list, create or describe");
  out.action = args.words().front();
  out.names.assign(args.words().begin() + 1, args.words().end());
  if (std::find(kActions.begin(), kActions.end(), out.action) == kActions.end())
    return fail(Errc::kUsage, fmt::format("unknown action '{}'", out.action));
  for (const OptionDef& o : find_command("topics")->options) {
    if (!args.has(o.name) || o.actions.empty()) continue;
    const std::string padded = fmt::format(" {} ", o.actions);
    if (padded.find(fmt::format(" {} ", out.action)) == std::string::npos)
      return fail(Errc::kUsage, fmt::format("--{} does not go with {}", o.name, out.action));
  }
  if (out.action == "create" && out.names.empty()) return fail(Errc::kUsage, "no topic to create");
  if (out.action == "list" && !out.names.empty() && !args.has("regex"))
    return fail(Errc::kUsage,
                "list takes names only with --regex; 'topics describe T' shows one topic");
  return out;
}

int print(const std::string& text) {
  if (write_all(STDOUT_FILENO, text)) return status::kOk;
  return report_error(system_error(errno, "cannot write to stdout"));
}

int create(const Args& args, const std::vector<std::string>& names, const Common& common) {
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
  for (const std::string& name : names)
    if (const auto legal = check_topic_name(name); !legal)
      return usage_error("topics", legal.error());
  const auto store = Store::open_for_writing(store_options(common), common.dir, true);
  if (!store) return report_open_error(store.error(), common.dir);
  int result = status::kOk;
  for (const std::string& name : names) {
    const auto made = (*store)->create_topic(name, partitions, *config);
    if (made) continue;
    if (made.error().code == Errc::kExists && args.has("if-not-exists") &&
        (*store)->find_topic(name))
      continue;
    const int failed = report_error(made.error());
    // One of several: the others are still made.
    result = names.size() == 1 ? failed : status::kFailure;
  }
  return result;
}

/// The topics that the words choose, all of them where there are none. Errc::kNotFound for a name
/// that is not there.
Result<std::vector<TopicInfo>> choose(Store& store, const Args& args,
                                      const std::vector<std::string>& names) {
  std::vector<TopicInfo> out;
  if (!args.has("regex") && !names.empty()) {
    for (const std::string& name : names) {
      TRY_ASSIGN(TopicInfo topic, store.find_topic(name));
      out.push_back(std::move(topic));
    }
    return out;
  }
  TRY_ASSIGN(auto all, store.list_topics());
  std::vector<bool> chosen(all.size(), names.empty());
  for (const std::string& pattern : names) {
    regex_t regex;
    const std::string anchored = "^(" + pattern + ")$";
    if (::regcomp(&regex, anchored.c_str(), REG_EXTENDED | REG_NOSUB) != 0)
      return fail(Errc::kUsage, fmt::format("'{}' is no regular expression", pattern));
    for (std::size_t i = 0; i < all.size(); ++i)
      if (::regexec(&regex, all[i].name.c_str(), 0, nullptr, 0) == 0) chosen[i] = true;
    ::regfree(&regex);
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    if (chosen[i] && (args.has("internal") || !is_internal_topic(all[i].name)))
      out.push_back(std::move(all[i]));
  return out;
}

int list(const std::vector<TopicInfo>& topics, TableFormat format) {
  if (format == TableFormat::kText) {
    std::string out;
    for (const TopicInfo& t : topics)
      out += t.name + '\n';
    return print(out);
  }
  Table table{{"topic", "partitions", "replication_factor", "topic_id"}, {}};
  for (const TopicInfo& t : topics)
    table.rows.push_back({t.name, static_cast<std::int64_t>(t.partitions.size()), std::int64_t{1},
                          t.id ? t.id->text() : std::string()});
  return print(format_table(table, format));
}

std::string config_text(const TopicInfo& topic) {
  std::string out;
  for (const auto& [name, value] : topic.config.values())
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", name, value);
  return out;
}

int describe(Store& store, const std::vector<TopicInfo>& topics, TableFormat format) {
  Table all{{"topic", "topic_id", "partition", "leader", "replicas", "start_offset", "end_offset",
             "segments", "bytes", "configs"},
            {}};
  std::string text;
  int result = status::kOk;
  for (const TopicInfo& t : topics) {
    Table one{{"PARTITION", "START-OFFSET", "END-OFFSET", "SEGMENTS", "BYTES"}, {}};
    for (const PartitionId p : t.partitions) {
      const auto place = store.place(t, p);
      const auto view = view_partition(store.env(), place);
      if (!view) {
        result = std::max(result, report_error(view.error()));
        continue;
      }
      const std::int64_t number = p.value();
      const std::int64_t start = view->log_start.value();
      const std::int64_t end = view->log_end.value();
      const auto segments = static_cast<std::int64_t>(view->files.segments.size());
      const std::int64_t bytes = partition_bytes(store.env(), place, *view);
      one.rows.push_back({number, start, end, segments, bytes});
      all.rows.push_back({t.name, t.id ? t.id->text() : std::string(), number, std::int64_t{0},
                          std::string("0"), start, end, segments, bytes, config_text(t)});
    }
    text += fmt::format("{}TOPIC: {}  ID: {}  PARTITIONS: {}  REPLICATION-FACTOR: 1  CONFIGS: {}\n",
                        text.empty() ? "" : "\n", t.name, t.id ? t.id->text() : "-",
                        t.partitions.size(), t.ours ? config_text(t) : "not known");
    text += format_table(one, TableFormat::kText);
  }
  const int printed = print(format == TableFormat::kText ? text : format_table(all, format));
  return std::max(result, printed);
}

}  // namespace

int run_topics(const Args& args) {
  const auto common = read_common(args);
  if (!common) return usage_error("topics", common.error());
  const auto command = read_action(args);
  if (!command) return usage_error("topics", command.error());
  if (command->action == "create") return create(args, command->names, *common);
  const TableFormat format = table_format(args.value("format").value_or("text"));
  const auto store = Store::open(store_options(*common), common->dir);
  if (!store) return report_open_error(store.error(), common->dir);
  const auto topics = choose(**store, args, command->names);
  if (!topics)
    return topics.error().code == Errc::kUsage ? usage_error("topics", topics.error())
                                               : report_error(topics.error());
  if (command->action == "list") return list(*topics, format);
  return describe(**store, *topics, format);
}

}  // namespace spool
