// spool topics repair: says what it would do; -y does it.

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "log/repair.h"
#include "topics_damage.h"

namespace spool {

namespace {

struct Row {
  std::string topic;
  std::int64_t partition = -1;
  RepairStep step;
};

int print_steps(const std::vector<Row>& rows, TableFormat format) {
  if (format == TableFormat::kText) {
    Table text{{"FILE", "BYTE", "OFFSETS", "ACTION"}, {}};
    for (const Row& r : rows)
      text.rows.push_back(
          {r.step.file, r.step.position, offsets_text(r.step.first, r.step.last), r.step.what});
    return rows.empty() ? status::kOk : print_out(format_table(text, format));
  }
  Table all{{"topic", "partition", "file", "position", "first_offset", "last_offset", "action",
             "possible"},
            {}};
  for (const Row& r : rows)
    all.rows.push_back({r.topic, r.partition, r.step.file, r.step.position, r.step.first.value(),
                        r.step.last.value(), r.step.what,
                        std::string(r.step.possible ? "yes" : "no")});
  return print_out(format_table(all, format));
}

}  // namespace

int topics_repair(const TopicsCall& call) {
  if (call.args.has("yes") && call.args.has("dry-run"))
    return report_topics_error(Error{Errc::kUsage, 0, "--yes and --dry-run exclude each other"});
  const bool apply = call.args.has("yes");
  const Store::Options options = store_options(call.common);
  const auto store = apply ? Store::open_for_writing(options, call.common.dir, false)
                           : Store::open(options, call.common.dir);
  if (!store) return report_open_error(store.error(), call.common.dir);
  DirectoryCheck directory(**store);
  if (const auto read = directory.run(); !read) return report_error(read.error());
  const auto topics = choose_damaged(**store, directory, call);
  if (!topics) return report_topics_error(topics.error());

  std::vector<Row> rows;
  int result = status::kOk;
  for (const Finding& f : directory.findings())
    if (f.damage())
      rows.push_back({"", -1, {f.file, f.position, f.first, f.last, "stays: " + f.what, false}});
  const auto wait = [](int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
  for (const TopicInfo& t : *topics)
    for (const PartitionId p : t.partitions) {
      PartitionRepair repair((*store)->env(), (*store)->place(t, p), directory.facts(t, p), wait);
      const auto done = repair.run(apply);
      for (const RepairStep& s : repair.steps())
        rows.push_back({t.name, p.value(), s});
      if (done) continue;
      result = std::max(result, report_error(done.error()));
      if (done.error().code == Errc::kConflict) return result;
    }
  const int printed = print_steps(rows, call.format);
  if (printed != status::kOk) return printed;
  const bool stays =
      std::any_of(rows.begin(), rows.end(), [](const Row& r) { return !r.step.possible; });
  const bool would =
      !apply && std::any_of(rows.begin(), rows.end(), [](const Row& r) { return r.step.possible; });
  if (would && !call.common.quiet) say("nothing was changed; with --yes it is done");
  return stays ? std::max(result, status::kDamaged) : result;
}

}  // namespace spool
