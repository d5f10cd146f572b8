#pragma once
/// What a read_committed reader shows: which transactional batches were committed, which aborted,
/// and where the oldest undecided one begins (the last stable offset). Worked out from the log
/// itself, so that the aborted-transaction indexes may be missing.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "log/cursor.h"
#include "log/place.h"

namespace spool {

/// Follows one forward reader. Scans ahead only when a transactional batch is met whose end is not
/// known yet, so that a log without transactions costs nothing. Not thread-safe.
class TransactionFilter {
 public:
  TransactionFilter(const LogEnv& env, const PartitionPlace& place) : env_(env), place_(place) {}

  enum class Verdict {
    kDeliver,    ///< not transactional, or committed
    kDrop,       ///< aborted, or a control batch
    kUndecided,  ///< its transaction has no end yet: the reader stops here
  };
  /// Batches must be asked for in offset order.
  [[nodiscard]] Result<Verdict> judge(const BatchHeader& header);

 private:
  struct End {
    Offset marker;
    bool committed = false;
  };
  [[nodiscard]] std::optional<bool> known(std::int64_t producer_id, Offset at);

  const LogEnv& env_;
  const PartitionPlace& place_;
  std::optional<Cursor> ahead_;
  std::map<std::int64_t, std::deque<End>> ends_;  ///< per producer, ascending
};

/// The first offset of the oldest transaction that is open at the end of the log, else `log_end`.
/// Starts at the newest valid producer snapshot; costs nothing where spool.state says that there
/// never was a transaction.
[[nodiscard]] Result<Offset> last_stable_offset(const LogEnv& env, const PartitionPlace& place,
                                                Offset log_start, Offset log_end);

/// An open transaction of a producer snapshot.
struct SnapshotEntry {
  std::int64_t producer_id = -1;
  Offset first_offset{-1};  ///< of its open transaction; -1: none
};
/// `<offset>.snapshot`: int16 version 1, uint32 CRC-32C of what follows, int32 count, 46 bytes a
/// producer.
[[nodiscard]] Result<std::vector<SnapshotEntry>> parse_snapshot(std::string_view text,
                                                                const std::string& path);

}  // namespace spool
