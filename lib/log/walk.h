#pragma once
/// Walks one segment batch by batch, holds the offsets to the rules of the log, and tells rot
/// (whole batches follow) from an end that is not there yet or torn.

#include <functional>
#include <optional>

#include "log/batch_reader.h"

namespace spool {

struct WalkRules {
  bool dense = false;     ///< a base offset other than the previous end is a bad batch too
  bool pass_rot = false;  ///< go on behind damage that whole batches follow
  Offset rot_below{-1};   ///< below it all was on disk: damage is rot, never a torn tail
};

/// Bytes that do not read, and what follows them.
struct Rot {
  std::int64_t position = 0;
  Offset first;  ///< first offset that does not read
  FoundBatch behind;
};

struct WalkEnd {
  std::int64_t size = 0;  ///< behind the last whole batch that counts
  Offset next_offset;
  bool bytes_left = false;  ///< bytes follow that are no whole batch
};

/// Whether `header` may stand where `expected` is due.
[[nodiscard]] inline bool offset_fits(const BatchHeader& header, std::optional<Offset> expected,
                                      bool dense) {
  if (!expected) return true;
  return dense ? header.base_offset == *expected : header.base_offset >= *expected;
}

/// What is whole behind the damage at `at`, where `due` is the offset that should stand there;
/// nullopt when nothing is, and the damage is a torn tail. A batch within the bytes that the
/// damaged one takes by its header is believed only if that header's CRC says that its length is
/// wrong: else it may be stored inside a record. `was_on_disk`: there never was a torn tail here,
/// so that whatever is whole counts.
[[nodiscard]] Result<std::optional<FoundBatch>> find_behind(File& file, std::int64_t at, Offset due,
                                                            bool dense, bool was_on_disk);

/// From reader.position() to the end. `expected` is the offset due there, where it is known;
/// `next_offset` is what WalkEnd says when there is no batch at all. Callbacks may be empty.
[[nodiscard]] Result<WalkEnd> walk_segment(
    BatchReader& reader, std::optional<Offset> expected, Offset next_offset, const WalkRules& rules,
    const std::function<Result<void>(std::int64_t position, const BatchView&)>& on_batch,
    const std::function<void(const Rot&)>& on_rot);

}  // namespace spool
