#pragma once
/// Prints the batches of a `.log`, and files of the same form.

#include <string>

#include "base/ids.h"
#include "dump_out.h"
#include "io/fs.h"

namespace spool {

struct DumpLogOptions {
  bool records = false;  ///< print those of each batch, too
  std::string topic;     ///< of Kafka's own topics the records are decoded
  Offset base;           ///< first offset that may be there
};

/// The exit status: 6 where something did not read and whole batches follow it. What is damaged is
/// said on stderr at its place; the output goes on with the next whole batch.
[[nodiscard]] int dump_log(Fs& fs, const std::string& path, const DumpLogOptions& options,
                           DumpOut& out);

}  // namespace spool
