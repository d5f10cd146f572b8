#include "read_end.h"

#include <cerrno>
#include <csignal>

#include <fmt/format.h>

namespace spool {

int report_unwritten(Output& output) {
  if (output.problem() == EPIPE) die_of(SIGPIPE);
  return report_error(system_error(output.problem(), "cannot write to stdout"));
}

void say_damages(const LaneContext& context, bool and_more) {
  if (context.damages == 0) return;
  const std::string_view times = context.damages == 1 ? "time" : "times";
  say(and_more ? fmt::format("damage was met {} more {}", context.damages, times)
               : fmt::format("damage was met {} {}; what did not read was left out",
                             context.damages, times));
}

int read_status(const LaneContext& context, const Common& common, bool timed_out,
                std::int64_t records) {
  if (const int signal = pending_signal(); signal != 0) die_of(signal);
  if (context.damages > 0) {
    say_damages(context, false);
    return status::kDamaged;
  }
  if (timed_out) {
    say(fmt::format("no record for {} ms", common.timeout_ms.value_or(0)));
    return status::kTimeout;
  }
  return context.options.fail_empty && records == 0 ? status::kFailure : status::kOk;
}

}  // namespace spool
