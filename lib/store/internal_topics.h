#pragma once
/// Topics that are the state of a broker, or of our own groups, and not anybody's data.

#include <string_view>

#include "base/result.h"

namespace spool {

inline constexpr std::string_view kMetadataTopic = "__cluster_metadata";

/// Errc::kConflict for the logs that only brokers and groups write, as brokers refuse them too: a
/// record that somebody puts there, or takes away, changes offsets, transactions or topics.
[[nodiscard]] Result<void> check_not_state(std::string_view topic);

/// Errc::kConflict for a name that no topic may get: a directory that has such a folder belongs to
/// a broker.
[[nodiscard]] Result<void> check_creatable(std::string_view topic);

}  // namespace spool
