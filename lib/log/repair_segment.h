#pragma once
/// Works out a segment that reads as a whole again, and writes it beside the old one.
///
/// What does not read is taken out; an empty batch, as compaction leaves them, stands for the
/// offsets that are lost, so that offsets stay without gaps and none is given out twice. A header
/// whose flaw lies outside of the CRC (base offset, length, version, leader epoch) is put right
/// where the CRC vouches for the rest and the neighbours for the offset.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "io/fs.h"
#include "log/place.h"
#include "record/batch.h"

namespace spool {

/// One run of bytes of the new segment.
struct RepairPiece {
  enum class Kind : std::uint8_t {
    kKeep,    ///< [from, to) as it is
    kMend,    ///< the batch [from, to) under the header `mended`
    kCut,     ///< [from, to) is left out; offsets [first, behind) are lost with it
    kMissing  ///< nothing is there, and offsets [first, behind) are missing
  };
  Kind kind = Kind::kKeep;
  std::int64_t from = 0;
  std::int64_t to = 0;
  Offset first{-1};
  Offset behind{-1};
  BatchHeader mended{};
  std::string what{};  ///< what was wrong, and for kMend what it becomes
};

struct RepairPlan {
  Offset base;
  std::vector<RepairPiece> pieces;  ///< in the order of the file
  std::int64_t end = 0;             ///< of the last whole batch; bytes behind it are a torn end
  std::int64_t size = 0;            ///< of the file
  Offset next_offset;
  Epoch epoch{-1};  ///< of its last batch

  [[nodiscard]] bool changes() const {
    for (const RepairPiece& p : pieces)
      if (p.kind != RepairPiece::Kind::kKeep) return true;
    return false;
  }
};

struct RepairRules {
  bool dense = false;
  bool last = false;
  std::optional<Offset> next_base;  ///< of the segment behind it
  Offset known_end{0};  ///< of the last segment: offsets below were given out, whatever is left
  /// Positions of batches whose leader epoch has to be another one.
  std::map<std::int64_t, Epoch> epochs;
};

/// Reads the segment; changes nothing. For the last segment nobody may append meanwhile.
[[nodiscard]] Result<RepairPlan> plan_segment(const LogEnv& env, const PartitionPlace& place,
                                              Offset base, const RepairRules& rules);

/// Saves what `plan` leaves out as `spool.cut-OFFSET`, writes the new segment to `to`, both synced.
/// Gives the names of the saved files.
[[nodiscard]] Result<std::vector<std::string>> write_segment(const LogEnv& env,
                                                             const PartitionPlace& place,
                                                             const RepairPlan& plan,
                                                             const std::string& to);

/// Copies [from, to) of a file to a new `spool.cut-OFFSET`, synced; its name in the folder.
[[nodiscard]] Result<std::string> save_cut(const LogEnv& env, const PartitionPlace& place,
                                           File& source, std::int64_t from, std::int64_t to,
                                           Offset offset);

/// Builds `.index`, `.timeindex` and, where there is one or `aborted`, `.txnindex` of a segment
/// from its log. Nobody may append to it or have its indexes open for appending.
[[nodiscard]] Result<void> rebuild_indexes(const LogEnv& env, const PartitionPlace& place,
                                           Offset base, bool closed, bool aborted);

}  // namespace spool
