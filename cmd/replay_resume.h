#pragma once
/// Goes on where an earlier run of the same replay ended, however it ended; resume_file.h says how
/// that is possible.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "resume_file.h"
#include "store/store.h"

namespace spool {

/// Which partition of the target a record goes to: always the same one for the same record.
struct PartitionRule {
  bool keep = false;                    ///< that of the source, else by key
  std::vector<PartitionId> partitions;  ///< of the target

  /// Records without a key change their partition every kKeylessRun offsets of the source.
  [[nodiscard]] PartitionId choose(PartitionId source, Offset offset,
                                   const std::optional<std::string_view>& key) const;
  static constexpr std::int64_t kKeylessRun = 1024;
};

/// Not thread-safe.
class ReplayResume {
 public:
  /// Reads the file, if it is there. Nobody else may use it meanwhile: see lock_name().
  [[nodiscard]] static Result<ReplayResume> open(Fs& fs, const std::string& path);
  /// The name of a byte of spool.locks to hold while the file is in use.
  [[nodiscard]] static Result<std::string> lock_name(Fs& fs, const std::string& path);

  /// Whether the file knew a source: then replaying goes on at the offset given.
  [[nodiscard]] std::optional<Offset> known(const std::string& topic, PartitionId partition);
  /// A source, by the number that add_source() and others give and take. Errc::kConflict when the
  /// file speaks of another topic of that name.
  [[nodiscard]] Result<std::size_t> add_source(const TopicInfo& topic, PartitionId partition,
                                               Offset start);
  /// A target. What an earlier run appended behind the file's ends is looked for. Gives the rule to
  /// go by: while a run is to be finished, the one that it began with.
  [[nodiscard]] Result<PartitionRule> add_target(Store& store, const TopicInfo& topic,
                                                 const PartitionRule& wanted);

  /// The partitions where something was found: to be synced before the next snapshot is saved.
  [[nodiscard]] std::vector<PartitionId> found_in(const std::string& target) const;

  /// Whether a record is in this partition of the target already.
  [[nodiscard]] bool has(std::size_t source, const std::string& target, PartitionId partition,
                         Offset offset) const;
  [[nodiscard]] std::int64_t producer_id(std::size_t source) const {
    return progress_.sources[source].producer_id;
  }
  /// The offset that the file was last told, so that nothing gets farther from it than a sequence
  /// number can tell.
  [[nodiscard]] Offset saved(std::size_t source) const { return progress_.sources[source].next; }
  /// Records replayed by all runs.
  [[nodiscard]] std::int64_t count() const { return count_; }

  /// A batch was appended to the target.
  void note_appended(const std::string& target, PartitionId partition, Offset next_offset,
                     std::int64_t records);
  /// When nothing is open: all below these offsets, by source number, is in the target. Gives what
  /// to save when that is synced. `ended`: the run ends by itself.
  [[nodiscard]] ReplayProgress snapshot(const std::vector<std::pair<std::size_t, Offset>>& next,
                                        bool ended);

  [[nodiscard]] Result<void> save(const ReplayProgress& progress) const {
    return save_progress(*fs_, path_, progress);
  }

 private:
  ReplayResume(Fs& fs, std::string path) : fs_(&fs), path_(std::move(path)) {}

  using Place = std::pair<std::string, PartitionId>;
  /// Of a target's partition.
  struct Seen {
    std::size_t end_at = 0;     ///< its place among ReplayProgress::ends
    std::optional<Offset> end;  ///< behind what was found or appended since
    std::int64_t records = 0;   ///< of ours behind the offset in the file
    /// The last offset of each source, by number, found behind it.
    std::map<std::size_t, Offset> found;
  };

  [[nodiscard]] Result<void> scan(const LogEnv& env, const PartitionPlace& place, Offset from,
                                  Seen& seen);
  [[nodiscard]] tl::unexpected<Error> other_topic(const std::string& topic) const;
  [[nodiscard]] std::int64_t new_producer_id() const;

  Fs* fs_;
  std::string path_;
  ReplayProgress progress_;
  std::map<std::int64_t, std::size_t> by_producer_;
  std::map<Place, Seen> seen_;
  bool loaded_ = false;    ///< the file was there
  std::size_t found_ = 0;  ///< entries in all Seen::found
  std::int64_t count_ = 0;
};

}  // namespace spool
