/// `spool topics list` and `describe`.

#include <algorithm>

#include <fmt/format.h>

#include "log/lookup.h"
#include "topics_actions.h"

namespace spool {

int topics_list(const TopicsCall& call) {
  if (!call.words.empty() && !call.args.has("regex"))
    return usage_error(
        "topics", Error{Errc::kUsage, 0,
                        "list takes names only with --regex; 'topics describe T' shows one topic"});
  const auto store = Store::open(store_options(call.common), call.common.dir);
  if (!store) return report_open_error(store.error(), call.common.dir);
  const auto topics = choose_topics(**store, call);
  if (!topics) return report_topics_error(topics.error());
  if (call.format == TableFormat::kText) {
    std::string out;
    for (const TopicInfo& t : *topics)
      out += t.name + '\n';
    return print_out(out);
  }
  Table table{{"topic", "partitions", "replication_factor", "topic_id"}, {}};
  for (const TopicInfo& t : *topics)
    table.rows.push_back({t.name, static_cast<std::int64_t>(t.partitions.size()), std::int64_t{1},
                          t.id ? t.id->text() : std::string()});
  return print_out(format_table(table, call.format));
}

int topics_describe(const TopicsCall& call) {
  const auto opened = Store::open(store_options(call.common), call.common.dir);
  if (!opened) return report_error(opened.error());
  Store& store = **opened;
  const auto topics = choose_topics(store, call);
  if (!topics) return report_topics_error(topics.error());
  Table all{{"topic", "topic_id", "partition", "leader", "replicas", "start_offset", "end_offset",
             "segments", "bytes", "configs"},
            {}};
  std::string text;
  int result = status::kOk;
  for (const TopicInfo& t : *topics) {
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
                          std::string("0"), start, end, segments, bytes, config_text(t.config)});
    }
    text += fmt::format("{}TOPIC: {}  ID: {}  PARTITIONS: {}  REPLICATION-FACTOR: 1  CONFIGS: {}\n",
                        text.empty() ? "" : "\n", t.name, t.id ? t.id->text() : "-",
                        t.partitions.size(), t.ours ? config_text(t.config) : "not known");
    text += format_table(one, TableFormat::kText);
  }
  const bool as_text = call.format == TableFormat::kText;
  const int printed = print_out(as_text ? text : format_table(all, call.format));
  return std::max(result, printed);
}

}  // namespace spool
