#include <algorithm>
#include <array>
#include <cerrno>
#include <unistd.h>

#include <fmt/format.h>

#include "commands.h"
#include "context.h"
#include "group/data_sync.h"
#include "group/undo_file.h"
#include "group_change.h"
#include "reset_plan.h"
#include "table.h"

namespace spool {

namespace {

constexpr std::size_t kInputBytesMax = std::size_t{256} << 20;

Result<FileOffsets> read_input(Store& store, const std::string& source) {
  if (source != "-") {
    TRY_ASSIGN(const std::string text, read_file(store.env().fs, source, kInputBytesMax));
    return parse_offsets_text(text, "'" + source + "'");
  }
  std::string text;
  std::array<char, 65536> raw{};
  for (;;) {
    const ssize_t n = ::read(STDIN_FILENO, raw.data(), raw.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(system_error(errno, "cannot read stdin"));
    if (n == 0) return parse_offsets_text(text, "stdin");
    if (text.size() > kInputBytesMax) return fail(Errc::kTooLarge, "stdin is too large");
    text.append(raw.data(), static_cast<std::size_t>(n));
  }
}

struct GroupPlan {
  std::string group;
  std::vector<ResetRow> rows;
};

Cell cell(const std::optional<Offset>& offset) {
  return offset ? Cell(offset->value()) : Cell(std::monostate());
}

std::string format_plans(const std::vector<GroupPlan>& plans, TableFormat format) {
  Table table{{"GROUP", "TOPIC", "PARTITION", "OLD-OFFSET", "NEW-OFFSET", "LOG-END-OFFSET", "NOTE"},
              {}};
  if (format != TableFormat::kText)
    table.columns = {"group", "topic", "partition", "old", "new", "end", "note"};
  for (const GroupPlan& plan : plans)
    for (const ResetRow& r : plan.rows) {
      std::optional<Offset> after = r.skipped ? r.before : r.after;
      table.rows.push_back(
          {plan.group, r.at.topic, std::int64_t{r.at.partition.value()}, cell(r.before),
           cell(after), r.log_end.value(),
           r.note.empty() && format == TableFormat::kText ? Cell(std::monostate()) : Cell(r.note)});
    }
  return format_table(table, format);
}

std::string format_export(const std::vector<GroupPlan>& plans) {
  std::string out;
  for (const GroupPlan& plan : plans)
    for (const ResetRow& r : plan.rows)
      if (r.after && !r.skipped)
        out += fmt::format("{}{},{},{}\n",
                           plans.size() > 1 ? csv_field(plan.group) + "," : std::string(),
                           r.at.topic, r.at.partition.value(), r.after->value());
  return out;
}

/// What the plan says, written, and read back by somebody who remembers nothing.
Result<void> execute(Store& store, OffsetStore& offsets, DataSync& data, LogEnds& ends,
                     const ResetOptions& options, const GroupPlan& plan) {
  std::vector<OffsetChange> changes;
  OffsetsBefore before;
  for (const ResetRow& r : plan.rows) {
    if (r.skipped) continue;
    before[r.at] = r.before;
    changes.push_back({r.at, r.after, ""});
    if (!r.after) continue;
    TRY_ASSIGN(const TopicInfo* const topic, ends.topic(r.at.topic));
    if (topic != nullptr) TRY(data.sync(store.place(*topic, r.at.partition), *r.after));
  }
  if (changes.empty() && !options.force) return {};
  TRY_ASSIGN(const auto operation, store.env().locks.begin());
  TRY(write_undo(store.env(), plan.group, before));
  TRY(offsets.change(plan.group, changes, options.force));
  OffsetStore fresh(store);
  TRY_ASSIGN(const auto now, fresh.group(plan.group));
  for (const OffsetChange& c : changes) {
    std::optional<Offset> stored;
    if (now)
      if (const auto found = now->offsets.find(c.at); found != now->offsets.end())
        stored = found->second.offset;
    if (stored != c.offset)
      return fail(Errc::kIo, fmt::format("{}-{}: group '{}' reads back as {} instead of {}",
                                         c.at.topic, c.at.partition.value(), plan.group,
                                         stored ? std::to_string(stored->value()) : "nothing",
                                         c.offset ? std::to_string(c.offset->value()) : "nothing"));
  }
  return {};
}

class Resetter {
 public:
  Resetter(Store& store, const ResetOptions& options, const Common& common)
      : store_(store),
        options_(options),
        common_(common),
        offsets_(store),
        data_(store.env()),
        ends_(store) {}

  int run(TableFormat format) {
    FileOffsets file;
    if (options_.mode == ResetOptions::Mode::kFile) {
      auto read = read_input(store_, options_.source);
      if (!read) return report_error(read.error());
      file = std::move(*read);
    }
    std::vector<GroupPlan> plans;
    int result = status::kOk;
    for (const std::string& group : options_.groups) {
      GroupPlan plan{group, {}};
      const auto done = options_.execute ? change(file, plan) : show(file, plan);
      if (!done) {
        const int failed = report_error(done.error());
        result = options_.groups.size() == 1 ? failed : status::kFailure;
        continue;
      }
      for (const ResetRow& r : plan.rows) {
        if (r.note.empty()) continue;
        warn(fmt::format("group '{}', {}-{}: {}", group, r.at.topic, r.at.partition.value(),
                         r.note));
        if (r.skipped && options_.execute) result = std::max(result, status::kFailure);
      }
      plans.push_back(std::move(plan));
    }
    if (plans.empty() && result != status::kOk) return result;
    const std::string text =
        options_.export_csv ? format_export(plans) : format_plans(plans, format);
    if (!write_all(STDOUT_FILENO, text))
      return report_error(system_error(errno, "cannot write to stdout"));
    return result;
  }

 private:
  void warn(const std::string& text) const {
    if (!common_.quiet) say(text);
  }
  Result<void> plan_for(const FileOffsets& file, GroupPlan& plan) {
    TRY_ASSIGN(plan.rows, plan_reset(store_, offsets_, ends_, options_, plan.group, file));
    return {};
  }
  Result<void> show(const FileOffsets& file, GroupPlan& plan) {
    TRY(plan_for(file, plan));
    if (options_.export_csv) return {};
    TRY_ASSIGN(const auto group, view_group(store_, offsets_, plan.group));
    if (group && !group->members.empty())
      warn(fmt::format("group '{}' has living members ({}): --execute will refuse, or need --force",
                       plan.group, member_names(group->members)));
    return {};
  }
  Result<void> change(const FileOffsets& file, GroupPlan& plan) {
    std::string living;
    const auto planned = [&]() -> Result<void> {
      TRY(plan_for(file, plan));
      if (options_.force) {
        TRY_ASSIGN(const auto group, view_group(store_, offsets_, plan.group));
        if (group && !group->members.empty()) living = member_names(group->members);
      }
      return execute(store_, offsets_, data_, ends_, options_, plan);
    };
    TRY(without_members(store_, offsets_, plan.group, {}, options_.force, planned));
    if (!living.empty())
      warn(
          fmt::format("group '{}': {} can commit nothing more; a stopped one keeps its partitions "
                      "until it goes on or dies",
                      plan.group, living));
    return {};
  }

  Store& store_;
  const ResetOptions& options_;
  const Common& common_;
  OffsetStore offsets_;
  DataSync data_;
  LogEnds ends_;
};

}  // namespace

int run_reset_offsets(const Args& args) {
  const auto common = read_common(args);
  if (!common) return usage_error("reset-offsets", common.error());
  const Store::Options store_opts = store_options(*common);
  const auto options = read_reset_options(args, store_opts.clock.now());
  if (!options) return usage_error("reset-offsets", options.error());
  const auto store = options->execute ? Store::open_for_writing(store_opts, common->dir, false)
                                      : Store::open(store_opts, common->dir);
  if (!store) return report_error(store.error());
  return Resetter(**store, *options, *common)
      .run(table_format(args.value("format").value_or("text")));
}

}  // namespace spool
