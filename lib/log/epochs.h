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
  bool operator==(const EpochStart&) const = default;
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

/// Lets the first epoch begin where the log does: in a copy that was made beside a trim the file
/// may be newer or older than the segments. `first`: base of the first segment, `log_start`: where
/// the log starts by its checkpoint, if that says so. Writes the file where it has to be another
/// one.
[[nodiscard]] Result<void> fit_first_epoch(Fs& fs, const std::string& dir, Offset first,
                                           std::optional<Offset> log_start, std::uint32_t mode);

/// What is left of `epochs` when the log starts at `start`, as Kafka cuts it: the epoch that
/// `start` is in begins there.
[[nodiscard]] std::vector<EpochStart> epochs_from(const std::vector<EpochStart>& epochs,
                                                  Offset start);

}  // namespace spool
