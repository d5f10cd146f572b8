/// `spool topics describe --cluster` of a directory: there is no cluster, and it says so.

#include <fmt/format.h>

#include "topics_actions.h"

namespace spool {

namespace {

/// Who has the directory for itself: "none", "broker" and its process, or "server" (one of ours).
Result<std::string> owner_of(const LogEnv& env) {
  const auto lock = env.fs.open(join_path(env.root, ".lock"), OpenMode::kRead, 0);
  if (!lock && lock.error().code == Errc::kNotFound) return std::string("none");
  if (!lock) return fail(lock.error());
  TRY_ASSIGN(const auto holder, (*lock)->lock_holder(LockKind::kShared, 0, 0));
  if (!holder) return std::string("none");
  return holder->pid > 0 ? fmt::format("broker {}", holder->pid) : std::string("server");
}

/// A value of a broker's meta.properties; empty when there is none.
std::string property(const std::string& text, std::string_view name) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(name) || line.substr(name.size(), 1) != "=") continue;
    line.remove_prefix(name.size() + 1);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
      line.remove_suffix(1);
    return std::string(line);
  }
  return {};
}

}  // namespace

int topics_describe_cluster(const TopicsCall& call) {
  if (!call.words.empty())
    return usage_error("topics",
                       Error{Errc::kUsage, 0, "--cluster describes the directory, not topics"});
  const auto store = Store::open(store_options(call.common), call.common.dir);
  if (!store) return report_open_error(store.error(), call.common.dir);
  const LogEnv& env = (*store)->env();
  const auto topics = (*store)->list_topics();
  if (!topics) return report_error(topics.error());
  const auto owner = owner_of(env);
  if (!owner) return report_error(owner.error());
  std::int64_t partitions = 0;
  std::int64_t under_replicated = 0;
  std::int64_t offline = 0;
  for (const TopicInfo& t : *topics) {
    partitions += static_cast<std::int64_t>(t.partitions.size());
    for (const auto& [id, p] : t.replicas) {
      under_replicated += p.isr.size() < p.replicas.size() ? 1 : 0;
      offline += p.leader < 0 ? 1 : 0;
    }
  }
  const auto properties = read_file(env.fs, join_path(env.root, "meta.properties"));
  std::string cluster = "none";
  std::string node = "none";
  if (properties) {
    cluster = property(*properties, "cluster.id");
    node = property(*properties, "node.id");
    if (node.empty()) node = property(*properties, "broker.id");
  }
  const auto count = static_cast<std::int64_t>(topics->size());
  if (call.format != TableFormat::kText) {
    const Table table{{"directory", "kind", "owner", "cluster_id", "nodes", "controller", "topics",
                       "partitions", "under_replicated_partitions", "offline_partitions"},
                      {{env.root, std::string(properties ? "kafka" : "spool"), *owner, cluster,
                        node, std::string("none"), count, partitions, under_replicated, offline}}};
    return print_out(format_table(table, call.format));
  }
  return print_out(
      fmt::format("DIRECTORY: {}  KIND: {}\n"
                  "OWNER: {}  CLUSTER: {}  NODES: {}  CONTROLLER: none\n"
                  "TOPICS: {}  PARTITIONS: {}  UNDER-REPLICATED: {}  OFFLINE: {}\n",
                  env.root,
                  properties ? "a directory that an Apache Kafka broker wrote"
                             : "a directory of spool, which needs no server and is no cluster",
                  *owner, cluster, node, count, partitions, under_replicated, offline));
}

}  // namespace spool
