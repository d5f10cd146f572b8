#pragma once
/// The subcommands: each parses its options, does its work and returns the exit status.

#include <string>
#include <vector>

#include "options.h"

namespace spool {

[[nodiscard]] int run_program(int argc, char** argv);

[[nodiscard]] int run_produce(const Args& args);
[[nodiscard]] int run_consume(const Args& args);
[[nodiscard]] int run_topics(const Args& args);
[[nodiscard]] int run_groups(const Args& args);
[[nodiscard]] int run_reset_offsets(const Args& args);
[[nodiscard]] int run_replay(const Args& args);

}  // namespace spool
