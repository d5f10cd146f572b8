#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <regex.h>
#include <set>
#include <unistd.h>

#include <fmt/format.h>

#include "commands.h"
#include "context.h"
#include "group_change.h"
#include "group_view.h"
#include "produce_options.h"
#include "table.h"

namespace spool {

namespace {

constexpr std::array<std::string_view, 6> kActions{"list",           "describe", "delete",
                                                   "delete-offsets", "export",   "copy"};
constexpr std::int64_t kWatchSecondsMax = 86400;
constexpr int kCatchUpMs = 100;

struct GroupsCommand {
  std::string action;
  std::vector<std::string> names;
  std::vector<TopicChoice> topics;
  std::optional<std::int64_t> max_lag;
  std::optional<std::int64_t> watch_ms;
};

/// The action, its options and its words.
Result<GroupsCommand> read_command(const Args& args) {
  GroupsCommand out;
  if (args.words().empty())
    return fail(Errc::kUsage, "no action: list, describe, delete, delete-offsets, export or copy");
  out.action = args.words().front();
  out.names.assign(args.words().begin() + 1, args.words().end());
  if (std::find(kActions.begin(), kActions.end(), out.action) == kActions.end())
    return fail(Errc::kUsage, fmt::format("unknown action '{}'", out.action));
  for (const OptionDef& o : find_command("groups")->options) {
    if (!args.has(o.name) || o.actions.empty()) continue;
    if (fmt::format(" {} ", o.actions).find(fmt::format(" {} ", out.action)) == std::string::npos)
      return fail(Errc::kUsage, fmt::format("--{} does not go with {}", o.name, out.action));
  }
  TRY(exclusive(args, {"members", "state", "offsets"}));
  TRY(exclusive(args, {"watch", "until-caught-up", "max-lag"}));
  const std::size_t wanted = out.action == "copy"             ? 2
                             : out.action == "export"         ? 1
                             : out.action == "delete-offsets" ? 1
                                                              : 0;
  if (wanted > 0 && out.names.size() != wanted)
    return fail(Errc::kUsage, out.action == "copy" ? std::string("copy takes two groups, A and B")
                                                   : fmt::format("{} takes one group", out.action));
  if (out.action == "delete" && out.names.empty()) return fail(Errc::kUsage, "no group to delete");
  if (out.action == "list" && !out.names.empty() && !args.has("regex"))
    return fail(Errc::kUsage,
                "list takes names only with --regex; 'groups describe G' shows one group");
  if (args.has("all-groups") && !out.names.empty())
    return fail(Errc::kUsage, "--all-groups goes without the name of a group");
  if (out.action == "delete-offsets" && !args.has("topic"))
    return fail(Errc::kUsage, "delete-offsets needs -t T or -t T:P");
  TRY_ASSIGN(out.topics, parse_topic_choices(args.list("topic")));
  if (const auto n = args.value("max-lag")) {
    TRY_ASSIGN(out.max_lag, read_number("max-lag", *n, 0, INT64_MAX));
  }
  if (args.has("watch")) {
    std::int64_t seconds = 2;
    if (const auto n = args.value("watch")) {
      TRY_ASSIGN(seconds, read_number("watch", *n, 1, kWatchSecondsMax));
    }
    out.watch_ms = seconds * 1000;
  }
  return out;
}

int print(const std::string& text) {
  if (write_all(STDOUT_FILENO, text)) return status::kOk;
  return report_error(system_error(errno, "cannot write to stdout"));
}

/// Names of columns: KAFKA'S for people, with underscores for programs.
Table make_table(TableFormat format, const std::vector<std::string>& columns) {
  Table out{columns, {}};
  if (format == TableFormat::kText) return out;
  for (std::string& name : out.columns) {
    std::transform(name.begin(), name.end(), name.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == '-' ? '_' : c;
    });
    if (name.starts_with('#')) name = "member_" + name.substr(1);
  }
  return out;
}

template <class T>
Cell cell(const std::optional<T>& value) {
  if (!value) return std::monostate();
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return *value;
  } else {
    return value->value();
  }
}

/// The groups that the words choose. Errc::kNotFound for a name that is not there.
Result<std::vector<GroupView>> choose(Store& store, OffsetStore& offsets, const Args& args,
                                      const std::vector<std::string>& names) {
  std::vector<GroupView> out;
  if (!args.has("regex") && !names.empty()) {
    for (const std::string& name : names) {
      TRY_ASSIGN(auto group, view_group(store, offsets, name));
      if (!group) return fail(Errc::kNotFound, fmt::format("group '{}' does not exist", name));
      out.push_back(std::move(*group));
    }
    return out;
  }
  TRY_ASSIGN(auto all, view_groups(store, offsets));
  std::vector<std::string> chosen;
  for (const std::string& pattern : names) {
    regex_t regex;
    const std::string anchored = "^(" + pattern + ")$";
    if (::regcomp(&regex, anchored.c_str(), REG_EXTENDED | REG_NOSUB) != 0)
      return fail(Errc::kUsage, fmt::format("'{}' is no regular expression", pattern));
    for (const auto& [name, group] : all)
      if (::regexec(&regex, name.c_str(), 0, nullptr, 0) == 0) chosen.push_back(name);
    ::regfree(&regex);
  }
  for (auto& [name, group] : all)
    if (names.empty() || std::find(chosen.begin(), chosen.end(), name) != chosen.end())
      out.push_back(std::move(group));
  return out;
}

std::string format_states(const std::vector<GroupView>& groups, TableFormat format) {
  Table table = make_table(format, {"GROUP", "STATE", "#MEMBERS", "GENERATION", "#TOPICS"});
  if (format != TableFormat::kText)
    table.columns = {"group", "state", "members", "generation", "topics"};
  for (const GroupView& g : groups) {
    std::set<std::string> topics;
    for (const auto& [at, value] : g.record.offsets)
      topics.insert(at.topic);
    for (const LiveMember& m : g.members)
      topics.insert(m.record.topic);
    table.rows.push_back({g.name, g.state(), static_cast<std::int64_t>(g.member_count()),
                          std::int64_t{g.record.generation()},
                          static_cast<std::int64_t>(topics.size())});
  }
  return format_table(table, format);
}

std::string format_members(const std::vector<GroupView>& groups, TableFormat format) {
  Table table = make_table(format, {"GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "PID",
                                    "#PARTITIONS", "ASSIGNMENT", "SINCE", "BLOCKED-SINCE"});
  if (format != TableFormat::kText) table.columns[5] = "partitions";
  for (const GroupView& g : groups) {
    for (const LiveMember& m : g.members) {
      std::string assignment = m.record.topic;
      char separator = ':';
      for (const std::int32_t p : m.claimed) {
        assignment += fmt::format("{}{}", separator, p);
        separator = ',';
      }
      const auto blocked = m.record.blocked_since > TimestampMs(0)
                               ? std::optional(m.record.blocked_since)
                               : std::nullopt;
      table.rows.push_back({g.name, member_name(m.record), m.record.host, m.record.client_id,
                            std::int64_t{m.record.pid}, std::int64_t{m.record.partition_count},
                            assignment, m.record.since.value(), cell(blocked)});
    }
  }
  return format_table(table, format);
}

/// How far the groups were at the look before, for rates.
struct Watched {
  std::map<std::pair<std::string, TopicPartition>, Offset> committed;
  std::int64_t at_ms = 0;
};

struct Totals {
  std::int64_t committed = 0;
  std::int64_t end = 0;
  std::int64_t lag = 0;
  std::int64_t rate = 0;
};

class OffsetsPage {
 public:
  OffsetsPage(TableFormat format, bool rates)
      : format_(format),
        rates_(rates),
        table_(
            make_table(format, {"GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-START-OFFSET",
                                "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"})) {
    if (rates) table_.columns.push_back(format == TableFormat::kText ? "RATE" : "rate");
  }

  void add(const std::string& group, const std::vector<OffsetRow>& rows, const Watched* before,
           std::int64_t now_ms) {
    Totals all;
    for (auto row = rows.begin(); row != rows.end();) {
      Totals one;
      const std::string topic = row->at.topic;
      for (; row != rows.end() && row->at.topic == topic; ++row)
        add_row(group, *row, before, now_ms, one);
      total(group, topic, one);
      all.committed += one.committed;
      all.end += one.end;
      all.lag += one.lag;
      all.rate += one.rate;
    }
    if (!rows.empty()) total(group, "TOTAL", all);
  }
  [[nodiscard]] std::string text() const { return format_table(table_, format_); }

 private:
  void add_row(const std::string& group, const OffsetRow& row, const Watched* before,
               std::int64_t now_ms, Totals& sum) {
    const MemberRecord* m = row.member == nullptr ? nullptr : &row.member->record;
    std::vector<Cell> cells{group,
                            row.at.topic,
                            std::int64_t{row.at.partition.value()},
                            cell(row.committed),
                            cell(row.log_start),
                            cell(row.log_end),
                            cell(row.lag)};
    for (const std::string& text :
         m == nullptr ? std::vector<std::string>(3)
                      : std::vector<std::string>{member_name(*m), m->host, m->client_id})
      cells.push_back(m == nullptr ? Cell(std::monostate()) : Cell(text));
    if (rates_) {
      std::optional<std::int64_t> rate;
      if (before != nullptr && row.committed && now_ms > before->at_ms) {
        const auto known = before->committed.find({group, row.at});
        if (known != before->committed.end())
          rate = (*row.committed - known->second) * 1000 / (now_ms - before->at_ms);
      }
      sum.rate += rate.value_or(0);
      cells.push_back(cell(rate));
    }
    sum.committed += row.committed ? row.committed->value() : 0;
    sum.end += row.log_end ? row.log_end->value() : 0;
    sum.lag += row.lag.value_or(0);
    table_.rows.push_back(std::move(cells));
  }
  /// Only for people: programs add up themselves, and would count twice.
  void total(const std::string& group, const std::string& topic, const Totals& sum) {
    if (format_ != TableFormat::kText) return;
    std::vector<Cell> cells{group,   topic,  "TOTAL", sum.committed, std::monostate(),
                            sum.end, sum.lag};
    cells.resize(table_.columns.size(), std::monostate());
    if (rates_) cells.back() = sum.rate;
    table_.rows.push_back(std::move(cells));
  }

  const TableFormat format_;
  const bool rates_;
  Table table_;
};

/// What one look shows, and whether any group is further behind than `max_lag`.
struct Look {
  std::string text;
  std::int64_t lag = 0;  ///< the greatest of a group
  Watched watched;
};

/// Records of the topics that a group reads, in partitions that it has no offset for yet.
Result<std::int64_t> untouched(LogEnds& ends, const GroupView& group,
                               const std::vector<TopicChoice>& choices) {
  std::set<std::string> topics;
  for (const auto& [at, value] : group.record.offsets)
    topics.insert(at.topic);
  for (const LiveMember& m : group.members)
    topics.insert(m.record.topic);
  std::int64_t out = 0;
  for (const std::string& name : topics) {
    TRY_ASSIGN(const TopicInfo* const topic, ends.topic(name));
    if (topic == nullptr) continue;
    for (const PartitionId p : topic->partitions) {
      const TopicPartition at{name, p};
      if (!is_chosen(choices, at) || group.record.offsets.contains(at)) continue;
      TRY_ASSIGN(const auto log, ends.of(at));
      if (log) out += log->end - log->start;
    }
  }
  return out;
}

Result<Look> look(Store& store, OffsetStore& offsets, const Args& args,
                  const GroupsCommand& command, const Watched* before) {
  const TableFormat format = table_format(args.value("format").value_or("text"));
  TRY_ASSIGN(const auto groups, choose(store, offsets, args, command.names));
  Look out;
  out.watched.at_ms = steady_ms();
  if (args.has("members")) {
    out.text = format_members(groups, format);
  } else if (args.has("state")) {
    out.text = format_states(groups, format);
  }
  LogEnds ends(store);
  OffsetsPage page(format, command.watch_ms.has_value());
  for (const GroupView& g : groups) {
    TRY_ASSIGN(const auto rows, offset_rows(ends, g, command.topics));
    std::int64_t lag = 0;
    if (command.max_lag || args.has("until-caught-up")) {
      TRY_ASSIGN(lag, untouched(ends, g, command.topics));
    }
    for (const OffsetRow& row : rows) {
      lag += row.lag.value_or(0);
      if (row.committed) out.watched.committed[{g.name, row.at}] = *row.committed;
    }
    out.lag = std::max(out.lag, lag);
    page.add(g.name, rows, before, out.watched.at_ms);
  }
  if (out.text.empty()) out.text = page.text();
  return out;
}

/// Sleeps, or until a signal comes: false then.
bool pause_for(std::int64_t ms) {
  pollfd signalled{signal_fd(), POLLIN, 0};
  (void)::poll(&signalled, 1, static_cast<int>(ms));
  return pending_signal() == 0;
}

int describe(Store& store, OffsetStore& offsets, const Args& args, const GroupsCommand& command,
             const Common& common) {
  const bool waits = args.has("until-caught-up");
  if (command.watch_ms || waits) install_signals();
  const std::int64_t begin = steady_ms();
  std::optional<Watched> before;
  for (;;) {
    auto seen = look(store, offsets, args, command, before ? &*before : nullptr);
    // A group that has just been started may need a moment to be one.
    if (!seen && waits && seen.error().code == Errc::kNotFound) seen = Look{{}, 1, {}};
    if (!seen) {
      if (pending_signal() != 0 && seen.error().code == Errc::kCancelled) die_of(pending_signal());
      return seen.error().code == Errc::kUsage ? usage_error("groups", seen.error())
                                               : report_error(seen.error());
    }
    if (waits && seen->lag > 0) {
      if (common.timeout_ms && steady_ms() - begin >= *common.timeout_ms) {
        say(fmt::format("not caught up after {} ms", *common.timeout_ms));
        return status::kTimeout;
      }
      if (!pause_for(kCatchUpMs)) die_of(pending_signal());
      continue;
    }
    const int printed = print((before ? "\n" : "") + seen->text);
    if (printed != status::kOk) return printed;
    if (command.max_lag && seen->lag > *command.max_lag) {
      say(fmt::format("a group is {} records behind, more than {}", seen->lag, *command.max_lag));
      return status::kFailure;
    }
    if (!command.watch_ms) return status::kOk;
    before = std::move(seen->watched);
    if (!pause_for(*command.watch_ms)) die_of(pending_signal());
  }
}

int list(Store& store, OffsetStore& offsets, const Args& args, const GroupsCommand& command) {
  const TableFormat format = table_format(args.value("format").value_or("text"));
  const auto groups = choose(store, offsets, args, command.names);
  if (!groups)
    return groups.error().code == Errc::kUsage ? usage_error("groups", groups.error())
                                               : report_error(groups.error());
  if (args.has("state") || format != TableFormat::kText)
    return print(format_states(*groups, format));
  std::string out;
  for (const GroupView& g : *groups)
    out += g.name + '\n';
  return print(out);
}

}  // namespace

int run_groups(const Args& args) {
  const auto common = read_common(args);
  if (!common) return usage_error("groups", common.error());
  const auto command = read_command(args);
  if (!command) return usage_error("groups", command.error());
  const bool reads =
      command->action == "list" || command->action == "describe" || command->action == "export";
  const auto store = reads ? Store::open(store_options(*common), common->dir)
                           : Store::open_for_writing(store_options(*common), common->dir, false);
  if (!store) return report_error(store.error());
  OffsetStore offsets(**store);
  if (command->action == "list") return list(**store, offsets, args, *command);
  if (command->action == "describe") return describe(**store, offsets, args, *command, *common);
  if (command->action == "delete") return delete_groups(**store, offsets, command->names);
  if (command->action == "delete-offsets")
    return delete_offsets(**store, offsets, command->names.front(), command->topics);
  if (command->action == "export")
    return export_group(offsets, command->names.front(), command->topics);
  return copy_group(**store, offsets, command->names[0], command->names[1], command->topics);
}

}  // namespace spool
