/// `spool topics create`, and what else changes the list of topics.

#include <fmt/format.h>

#include "produce_options.h"
#include "topics_actions.h"

namespace spool {

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
  const auto store = Store::open_for_writing(store_options(call.common), call.common.dir, true);
  if (!store) return report_error(store.error());
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

}  // namespace spool
