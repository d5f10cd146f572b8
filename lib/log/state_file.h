#pragma once
/// `TOPIC-P/spool.state`: what tells a crash from a power cut, and how far the log is known synced.
///
///   spool state 1
///   boot BOOT_ID              the kernel's boot id when this was written
///   folder DEVICE INODE       the partition folder's; a copy has others
///   recovery-point OFFSET     all below is on disk; old at worst, never ahead
///   plain 0|1                 1: no transactional batch was ever appended here
///   suspect 0                 or `suspect 1 BASE`: an fsync failed; copy the
///                             segments from BASE on before trusting them
///   xxh3 HEX
///
/// Rewritten by rename, only under the partition's append byte. Readers use `plain` as a hint.

#include <algorithm>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "io/atomic_file.h"
#include "io/fs.h"

namespace spool {

struct PartitionState {
  std::string boot_id;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  Offset recovery_point;
  bool plain = false;
  bool suspect = false;
  Offset suspect_from{0};  ///< while suspect: the base of the first segment that has to be copied

  [[nodiscard]] bool same_folder(const FileStat& folder) const {
    return device == folder.device && inode == folder.inode;
  }
  [[nodiscard]] bool same_life(const std::string& boot, const FileStat& folder) const {
    return boot_id == boot && same_folder(folder);
  }
  /// Below this nothing has to be checked after a power cut.
  [[nodiscard]] Offset trusted_point() const {
    return suspect ? std::min(recovery_point, suspect_from) : recovery_point;
  }
};

[[nodiscard]] std::string state_path(const std::string& dir);
/// nullopt when there is none or it does not read (torn by a power cut): then nothing is known, and
/// everything is checked. Errc::kUnsupported for a newer version.
[[nodiscard]] Result<std::optional<PartitionState>> read_state(Fs& fs, const std::string& dir);
[[nodiscard]] Result<void> write_state(Fs& fs, const std::string& dir, const PartitionState& state,
                                       std::uint32_t mode, Durability durability);

}  // namespace spool
