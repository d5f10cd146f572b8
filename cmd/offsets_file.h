#pragma once
/// Offsets in a file of the user: lines `TOPIC PARTITION OFFSET`, the next offset to read each, in
/// the order of topics and partitions. reset-offsets --from-file reads it too.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "group/offset_store.h"
#include "io/fs.h"

namespace spool {

/// One line; nullopt when it does not fit.
[[nodiscard]] std::optional<std::pair<TopicPartition, Offset>> parse_offset_line(
    std::string_view line);

/// A missing file has none. Errc::kInvalid names the line that does not fit.
[[nodiscard]] Result<std::map<TopicPartition, Offset>> read_offsets_file(Fs& fs,
                                                                         const std::string& path);
/// Changes these entries and leaves the others; the file is replaced as a whole, and durable on
/// return. The caller excludes other writers.
[[nodiscard]] Result<void> update_offsets_file(Fs& fs, const std::string& path,
                                               const std::map<TopicPartition, Offset>& changes);

}  // namespace spool
