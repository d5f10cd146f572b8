#pragma once
/// `DIR/spool.undo.HASH`, one for each group that was ever reset: what the last executed reset of
/// it replaced. HASH is the group's XXH3-128 in hexadecimal. Text:
///
///   spool undo 1
///   group NAME               the name's bytes in hexadecimal
///   TOPIC PARTITION OFFSET   `-`: there was none
///   xxh3 HEX

#include <map>
#include <optional>
#include <string>

#include "group/offset_store.h"

namespace spool {

using OffsetsBefore = std::map<TopicPartition, std::optional<Offset>>;

/// Errc::kNotFound when the group was never reset, Errc::kCorrupt for a file that does not read.
[[nodiscard]] Result<OffsetsBefore> read_undo(const LogEnv& env, const std::string& group);
/// Durable on return.
[[nodiscard]] Result<void> write_undo(const LogEnv& env, const std::string& group,
                                      const OffsetsBefore& before);

}  // namespace spool
