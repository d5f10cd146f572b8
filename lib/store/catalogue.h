#pragma once
/// `DIR/spool.topics`: the topics that are ours, with ids and configs. Text:
///
///   spool topics 1
///   topic NAME ID PARTITIONS CREATED_MS dense|sparse [CONFIG=VALUE ...]
///   xxh3 HEX
///
/// A line a topic, by name. `dense` until the topic is allowed to be compacted for the first time.
/// Values are percent encoded where they hold blanks, '%' or control characters. Replaced as a
/// whole, synced, under byte `topics`.

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/uuid.h"
#include "io/fs.h"
#include "store/topic_config.h"

namespace spool {

struct CatalogueEntry {
  std::string name;
  Uuid id;
  std::int32_t partitions = 1;
  TimestampMs created;
  bool dense = true;
  TopicConfig config;
};

/// Ascending by name. A missing file has no topics. Errc::kUnsupported for a newer version,
/// Errc::kCorrupt for a file that does not read.
[[nodiscard]] Result<std::vector<CatalogueEntry>> read_catalogue(Fs& fs, const std::string& root);
/// Durable on return. Needs byte `topics`.
[[nodiscard]] Result<void> write_catalogue(Fs& fs, const std::string& root,
                                           const std::vector<CatalogueEntry>& topics,
                                           std::uint32_t mode);

[[nodiscard]] Result<std::vector<CatalogueEntry>> parse_catalogue(std::string_view text,
                                                                  const std::string& path);
[[nodiscard]] std::string format_catalogue(const std::vector<CatalogueEntry>& topics);

}  // namespace spool
