#pragma once
/// `leader-epoch-checkpoint`: which leader epoch began at which offset.
/// Text: line `0`, line COUNT, then COUNT lines `EPOCH START_OFFSET`, both ascending.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "io/atomic_file.h"
#include "io/fs.h"

namespace spool {

struct EpochStart {
  Epoch epoch;
  Offset start;
};

/// Entries in file order. Empty for an empty file. Errc::kCorrupt for anything else than the
/// format.
[[nodiscard]] Result<std::vector<EpochStart>> parse_epochs(std::string_view text,
                                                           const std::string& path);
[[nodiscard]] std::string format_epochs(const std::vector<EpochStart>& epochs);

/// Reads the file of a partition folder; a missing file reads as no entries.
[[nodiscard]] Result<std::vector<EpochStart>> read_epochs(Fs& fs, const std::string& dir);
/// Durable on return, unless `durability` leaves the folder's sync to the caller.
[[nodiscard]] Result<void> write_epochs(Fs& fs, const std::string& dir,
                                        const std::vector<EpochStart>& epochs, std::uint32_t mode,
                                        Durability durability = Durability::kNamed);

/// An offset checkpoint of the directory (`log-start-offset-checkpoint` and its like): the offset
/// of one partition, or nullopt. A missing file has none; Errc::kCorrupt for a malformed one.
[[nodiscard]] Result<std::optional<Offset>> checkpoint_offset(Fs& fs, const std::string& path,
                                                              std::string_view topic,
                                                              PartitionId partition);

}  // namespace spool
