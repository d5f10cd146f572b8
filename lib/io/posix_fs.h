#pragma once
/// The real file system. EINTR, short reads and writes, and errno end here.

#include "io/fs.h"

namespace spool {

/// One for the process; thread-safe.
[[nodiscard]] Fs& posix_fs();

}  // namespace spool
