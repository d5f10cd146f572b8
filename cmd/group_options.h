#pragma once
/// The options of consume that are about committing.

#include <cstdint>
#include <optional>
#include <string>

#include "commit_rule.h"
#include "options.h"

namespace spool {

enum class ResetPolicy : std::uint8_t { kEarliest, kLatest, kError };

struct GroupOptions {
  std::optional<std::string> name;
  std::optional<std::string> offsets_file;
  bool stored = false;  ///< -o stored
  ResetPolicy reset = ResetPolicy::kEarliest;
  CommitRule commit = CommitRule::kWritten;
  std::optional<std::string> exec;
  std::int64_t batch = 1;
  std::optional<int> ack_fd;

  /// Whether offsets are kept anywhere.
  [[nodiscard]] bool commits() const { return name || offsets_file; }
};

/// Errc::kUsage for what contradicts itself.
[[nodiscard]] Result<void> read_group_options(const Args& args, GroupOptions& out);

}  // namespace spool
