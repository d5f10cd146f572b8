#pragma once
/// Reads every byte of a partition and says what is not as it was written. Takes no lock and writes
/// nothing; works on folders that others append to, roll, trim and compact meanwhile: the end is
/// what it was when a segment's turn came, and what looks wrong is read a second time.
///
/// What vouches for a byte: CRCs and checksums for most; for base offsets their neighbours, for
/// leader epochs the epoch file, for index entries the batches, for topic ids the catalogue or the
/// topic's other partitions. Not told: a base offset moved within a gap that compaction left, and
/// bits behind the entries of an index that a broker preallocated.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.h"
#include "log/epochs.h"
#include "log/finding.h"
#include "log/place.h"
#include "log/segment.h"
#include "log/verify_segment.h"

namespace spool {

/// What the directory knows of a partition.
struct PartitionFacts {
  bool compacted = false;                ///< gaps between offsets need no other explanation
  bool clean_stop = false;               ///< a broker stopped cleanly and nobody wrote since
  std::optional<Offset> recovery_point;  ///< of a broker's checkpoint
  std::optional<Offset> log_start;       ///< of a broker's checkpoint
  std::optional<Uuid> topic_id;          ///< what partition.metadata must say
};

/// One partition. check_segment may be called from several threads at once, each index once; begin
/// and finish from one, before and after.
class PartitionCheck {
 public:
  /// `env` and `wait` are borrowed. `wait` sleeps so many milliseconds before a second look.
  PartitionCheck(const LogEnv& env, PartitionPlace place, PartitionFacts facts,
                 std::function<void(int ms)> wait)
      : env_(env), place_(std::move(place)), facts_(facts), wait_(std::move(wait)) {}

  /// Lists the folder and checks its small files. A missing folder is an empty partition.
  [[nodiscard]] Result<void> begin();
  [[nodiscard]] std::size_t segments() const { return reports_.size(); }
  /// Bytes of one segment's files, as they were at begin().
  [[nodiscard]] std::int64_t segment_bytes(std::size_t i) const { return sizes_[i]; }
  /// Errors are of the system only: all that is wrong with the bytes is a finding.
  /// `helpers` as for verify_segment().
  [[nodiscard]] Result<void> check_segment(std::size_t i, VerifyProgress& progress,
                                           Helpers* helpers = nullptr);
  /// What no file tells alone. Then findings() is complete, in the order of files and positions.
  [[nodiscard]] Result<void> finish();

  [[nodiscard]] const std::vector<Finding>& findings() const { return findings_; }
  /// Whether there is damage in this file of the folder.
  [[nodiscard]] bool damaged(const std::string& path) const;
  /// After finish(): what is known of each segment, but for the findings.
  [[nodiscard]] const std::vector<SegmentReport>& reports() const { return reports_; }
  [[nodiscard]] const PartitionFiles& files() const { return files_; }
  /// Everything below was given out once; a log that ends before has lost its end.
  [[nodiscard]] Offset known_end() const;
  /// Batches whose epoch is not the one that the epoch file, their neighbours and all else say.
  struct OddEpoch {
    std::size_t segment = 0;
    std::int64_t position = 0;
    Epoch due;
  };
  [[nodiscard]] const std::vector<OddEpoch>& odd_epochs() const { return odd_epochs_; }
  [[nodiscard]] const PartitionPlace& place() const { return place_; }
  [[nodiscard]] std::int64_t batches() const;
  [[nodiscard]] std::int64_t records() const;

 private:
  void check_names(const std::vector<DirEntry>& entries);
  [[nodiscard]] Result<void> check_batches(const std::string& file, const char* what, bool dense);
  [[nodiscard]] Result<void> check_metadata();
  [[nodiscard]] Result<void> check_state();
  [[nodiscard]] Result<void> check_snapshots();
  void join_segments();
  void check_last_batch();
  void check_end();
  [[nodiscard]] Result<void> check_epochs();
  [[nodiscard]] Result<void> check_epoch_file(const std::vector<EpochRun>& runs,
                                              const std::vector<std::size_t>& segments);
  [[nodiscard]] std::vector<Offset> trimmed_to() const;
  void check_epoch_runs(const std::vector<EpochStart>& starts, const std::vector<EpochRun>& runs,
                        const std::vector<std::size_t>& segments);
  void check_epoch_starts(const std::vector<EpochStart>& starts, const std::vector<EpochRun>& runs,
                          const std::vector<Offset>& log_starts);
  /// Its text, or nullopt when there is no such file.
  [[nodiscard]] Result<std::optional<std::string>> read_small(const std::string& path) const;
  [[nodiscard]] std::string path(const std::string& name) const {
    return join_path(place_.dir, name);
  }

  const LogEnv& env_;
  const PartitionPlace place_;
  const PartitionFacts facts_;
  const std::function<void(int)> wait_;
  PartitionFiles files_;
  bool same_life_ = false;  ///< spool.state is of this boot and folder
  bool plain_ = false;      ///< spool.state says that there never was a transaction
  Offset known_end_{0};     ///< everything below was on disk once
  std::string known_by_;    ///< the file that says so
  std::vector<std::int64_t> sizes_;
  std::vector<SegmentReport> reports_;
  std::vector<Finding> findings_;
  std::vector<OddEpoch> odd_epochs_;
};

}  // namespace spool
