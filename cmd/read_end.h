#pragma once
/// How a command that reads and prints comes to its end: what is said, and its status.

#include <cstdint>

#include "context.h"
#include "lane.h"
#include "output.h"

namespace spool {

/// For an output whose finish() was false; dies of SIGPIPE where its reader has left.
[[nodiscard]] int report_unwritten(Output& output);

/// Says how often damage was passed over; nothing where it was not. `and_more`: one was just said.
void say_damages(const LaneContext& context, bool and_more);

/// Where all that was read is printed, stored or committed, and nothing failed: a signal that came
/// ends the process, then damage, --timeout and --fail-empty have their status.
[[nodiscard]] int read_status(const LaneContext& context, const Common& common, bool timed_out,
                              std::int64_t records);

}  // namespace spool
