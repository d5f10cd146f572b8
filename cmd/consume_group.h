#pragma once
/// `consume` with offsets that are kept: in a group (-g), in a file (--offsets-file), or with
/// commands that records are given to (--exec).

#include "consume_options.h"
#include "context.h"
#include "printer.h"

namespace spool {

/// Runs it to its end and gives the exit status.
[[nodiscard]] int run_consume_group(Store& store, const ConsumeOptions& options,
                                    const Common& common, Printer printer);

}  // namespace spool
