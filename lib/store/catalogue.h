#pragma once
/// `DIR/spool.topics`: the topics that are ours, with ids and configs. Text:
///
///   spool topics 1
///   topic NAME ID PARTITIONS CREATED_MS dense|sparse [CONFIG=VALUE ...]
///   deleted NAME ID PARTITIONS
///   xxh3 HEX
///
/// A line a topic, by name. `dense` until the topic is allowed to be compacted for the first time.
/// `deleted` as long as folders of a deleted topic may be left, because whoever deletes it is not
/// done, or died: so that they are not taken for somebody else's.
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

/// A topic that was deleted and may still have folders.
struct LeavingTopic {
  std::string name;
  Uuid id;
  std::int32_t partitions = 1;
};

struct Catalogue {
  std::vector<CatalogueEntry> topics;  ///< ascending by name
  std::vector<LeavingTopic> leaving;   ///< in the order of deletion
};

/// A missing file has no topics. Errc::kUnsupported for a newer version, Errc::kCorrupt for a file
/// that does not read.
[[nodiscard]] Result<Catalogue> read_catalogue(Fs& fs, const std::string& root);
/// Durable on return. Needs byte `topics`.
[[nodiscard]] Result<void> write_catalogue(Fs& fs, const std::string& root,
                                           const Catalogue& catalogue, std::uint32_t mode);

/// Where `name` stands, or would stand; `found` says which.
struct CataloguePlace {
  std::size_t at = 0;
  bool found = false;
};
[[nodiscard]] CataloguePlace find_entry(const Catalogue& catalogue, const std::string& name);

[[nodiscard]] Result<Catalogue> parse_catalogue(std::string_view text, const std::string& path);
[[nodiscard]] std::string format_catalogue(const Catalogue& catalogue);

}  // namespace spool
