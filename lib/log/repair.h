#pragma once
/// Brings a partition back into a state that verify has nothing to say of, without throwing
/// anything away that nobody has a copy of.
///
/// - What does not read is saved as `spool.cut-OFFSET`, and the segment written anew without it;
///   see repair_segment.h. A torn end is saved and cut.
/// - Indexes, producer snapshots and the epoch file are built from the log; a damaged small file is
///   kept as `spool.bad-NAME-1`.
/// - An interrupted compaction is finished as a broker would, but the segments that it replaces are
///   renamed to `.deleted`; a result of it that does not read is put aside, or mended where it is
///   all there is; see repair_swaps.cc.
///
/// Every file is replaced by copy, sync and rename, so that readers go on and a crash leaves the
/// old or the new one. Byte `compact T P` is held for the whole run, the append byte while a
/// segment is replaced.

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "io/dir_locks.h"
#include "log/place.h"
#include "log/repair_segment.h"
#include "log/verify.h"

namespace spool {

struct RepairStep {
  std::string file;
  std::int64_t position = 0;
  Offset first{-1};  ///< offsets that are lost or changed; -1: none
  Offset last{-1};
  std::string what;      ///< what is done, or why nothing can be
  bool possible = true;  ///< false: it stays as it is
};

/// Not thread-safe.
class PartitionRepair {
 public:
  PartitionRepair(const LogEnv& env, PartitionPlace place, PartitionFacts facts,
                  std::function<void(int ms)> wait)
      : env_(env), place_(std::move(place)), facts_(facts), wait_(std::move(wait)) {}

  /// With `apply`: does it, durably on return; Errc::kConflict when a broker or a server has the
  /// directory. Without: reads only. steps() says what was done, also after a failure.
  [[nodiscard]] Result<void> run(bool apply);
  [[nodiscard]] const std::vector<RepairStep>& steps() const { return steps_; }

 private:
  [[nodiscard]] Result<std::unique_ptr<PartitionCheck>> check();
  [[nodiscard]] Result<void> finish_swaps();
  [[nodiscard]] Result<void> replace_by_swaps(const std::vector<std::string>& names,
                                              const std::set<Offset>& logs, Offset begin,
                                              Offset behind);
  [[nodiscard]] Result<void> take_place(Offset base, Offset limit);
  [[nodiscard]] Result<void> repair_logs();
  [[nodiscard]] Result<void> repair_log(const PartitionCheck& check, std::size_t i);
  [[nodiscard]] Result<void> repair_small_files();
  [[nodiscard]] Result<void> repair_indexes(const PartitionCheck& check);
  [[nodiscard]] Result<void> repair_snapshots(const PartitionCheck& check);
  [[nodiscard]] Result<void> repair_epochs(const PartitionCheck& check);
  [[nodiscard]] Result<void> repair_metadata(const PartitionCheck& check);
  [[nodiscard]] Result<void> repair_state(const PartitionCheck& check);
  [[nodiscard]] Result<void> replace_log(const RepairPlan& plan, bool last);
  [[nodiscard]] Result<void> cut_tail(const RepairPlan& plan);
  /// Copies; the file under its own name is replaced afterwards.
  [[nodiscard]] Result<void> put_aside(const std::string& name);
  [[nodiscard]] Result<void> rename_aside(const std::string& name);
  /// A path `spool.bad-NAME-N` that nothing has.
  [[nodiscard]] Result<std::string> free_name(const std::string& name);
  [[nodiscard]] RepairRules rules_for(const PartitionCheck& check, std::size_t i) const;
  [[nodiscard]] Result<DirLocks::ByteLock> append_lock();
  [[nodiscard]] std::string path(const std::string& name) const {
    return join_path(place_.dir, name);
  }
  void step(const std::string& file, std::int64_t position, Offset first, Offset last,
            std::string what);

  const LogEnv& env_;
  const PartitionPlace place_;
  const PartitionFacts facts_;
  const std::function<void(int)> wait_;
  bool apply_ = false;
  std::vector<RepairStep> steps_;
};

}  // namespace spool
