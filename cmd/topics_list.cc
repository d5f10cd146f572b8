/// `spool topics list`, and `describe` of topics.

#include <algorithm>

#include <fmt/format.h>

#include "log/appender.h"
#include "log/lookup.h"
#include "topics_actions.h"

namespace spool {

namespace {

/// A directory keeps one copy; a broker's metadata may say that there are others elsewhere.
std::int64_t replication_factor(const TopicInfo& topic) {
  return topic.replicas.empty()
             ? 1
             : static_cast<std::int64_t>(topic.replicas.begin()->second.replicas.size());
}

std::string numbers(const std::vector<std::int32_t>& all) {
  std::string out;
  for (const std::int32_t n : all)
    out += fmt::format("{}{}", out.empty() ? "" : ",", n);
  return out;
}

/// What `describe` prints of several topics, in both shapes.
class Description {
 public:
  explicit Description(Store& store) : store_(store) {}
  void add(TopicInfo topic);
  [[nodiscard]] int print(TableFormat format) const {
    const bool as_text = format == TableFormat::kText;
    return std::max(status_, print_out(as_text ? text_ : format_table(all_, format)));
  }

 private:
  Store& store_;
  std::string text_;
  Table all_{{"topic", "topic_id", "partition", "leader", "replicas", "start_offset", "end_offset",
              "segments", "bytes", "configs"},
             {}};
  int status_ = status::kOk;
};

void Description::add(TopicInfo topic) {
  if (!topic.id && !topic.partitions.empty()) {
    const auto first = store_.place(topic, topic.partitions.front());
    if (const auto id = read_topic_id(store_.env().fs, first.dir)) topic.id = *id;
  }
  const std::string id = topic.id ? topic.id->text() : std::string();
  Table one{{"PARTITION", "START-OFFSET", "END-OFFSET", "SEGMENTS", "BYTES"}, {}};
  for (const PartitionId p : topic.partitions) {
    const auto place = store_.place(topic, p);
    const auto view = view_partition(store_.env(), place);
    if (!view) {
      status_ = std::max(status_, report_error(view.error()));
      continue;
    }
    const std::int64_t number = p.value();
    const std::int64_t start = view->log_start.value();
    const std::int64_t end = view->log_end.value();
    const std::int64_t bytes = partition_bytes(store_.env(), place, *view);
    const auto segments = static_cast<std::int64_t>(view->files.segments.size());
    const auto known = topic.replicas.find(p);
    const bool told = known != topic.replicas.end();
    one.rows.push_back({number, start, end, segments, bytes});
    all_.rows.push_back({topic.name, id, number, std::int64_t{told ? known->second.leader : 0},
                         told ? numbers(known->second.replicas) : "0", start, end, segments, bytes,
                         config_text(topic.config)});
  }
  text_ += fmt::format("{}TOPIC: {}  ID: {}  PARTITIONS: {}  REPLICATION-FACTOR: {}  CONFIGS: {}\n",
                       text_.empty() ? "" : "\n", topic.name, topic.id ? id : "-",
                       topic.partitions.size(), replication_factor(topic),
                       topic.config_known ? config_text(topic.config) : "not known");
  text_ += format_table(one, TableFormat::kText);
}

}  // namespace

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
    table.rows.push_back({t.name, static_cast<std::int64_t>(t.partitions.size()),
                          replication_factor(t), t.id ? t.id->text() : std::string()});
  return print_out(format_table(table, call.format));
}

int topics_describe(const TopicsCall& call) {
  if (call.args.has("cluster")) return topics_describe_cluster(call);
  const auto store = Store::open(store_options(call.common), call.common.dir);
  if (!store) return report_open_error(store.error(), call.common.dir);
  auto topics = choose_topics(**store, call);
  if (!topics) return report_topics_error(topics.error());
  Description description(**store);
  for (TopicInfo& topic : *topics)
    description.add(std::move(topic));
  return description.print(call.format);
}

}  // namespace spool
