#pragma once
/// Asking before something is lost.

#include <string>

#include "base/result.h"
#include "options.h"

namespace spool {

/// Whether --yes was given or somebody can be asked: standard input and standard error are a
/// terminal. Errc::kUsage, naming `what`, otherwise; for before anything is looked at.
[[nodiscard]] Result<void> may_ask(const Args& args, const std::string& what);

/// True with --yes; else asks, and only y or yes is a yes.
[[nodiscard]] bool confirmed(const Args& args, const std::string& question);

}  // namespace spool
