#pragma once
/// Who reads which partitions of a group: kernel locks, and no daemon. Ranges of spool.locks:
///
///   "member G T"  1024 bytes, a slot each: a member holds one of each topic that it reads; slots
///                 from 896 on are for members with a static choice of partitions
///   "claim G T"   131072 bytes, one for each partition: who holds it reads and commits, and nobody
///                 else
///
/// A member's rank among those alive, by slot, gives its share of a topic: P / M partitions, one
/// more for the first P % M ranks. Who has more gives up what is too much, after finishing and
/// committing it; who has less tries to claim what is free, its own range of the topic first. A
/// claim is tried and never waited for, so nobody waits for anybody who waits: there is no dead
/// lock. The kernel frees the claims of the dead.
///
/// Joining holds byte "group G" of DirLocks for a moment, and so does whoever changes a group that
/// must have no members: nobody slips in between.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "group/members_file.h"
#include "group/offset_store.h"
#include "io/range_locks.h"
#include "io/watch.h"
#include "store/store.h"

namespace spool {

inline constexpr unsigned kMemberBits = 10;
inline constexpr unsigned kClaimBits = 17;
inline constexpr std::int32_t kSlots = 1 << kMemberBits;
inline constexpr std::int32_t kStaticSlots = 896;  ///< the first one

[[nodiscard]] std::int64_t member_base(const std::string& group, const std::string& topic);
[[nodiscard]] std::int64_t claim_base(const std::string& group, const std::string& topic);
/// The name of the byte that joining and resetting a group exclude each other with.
[[nodiscard]] std::string group_byte(const std::string& group);

/// How many of `partitions` the member of this rank among `members` has, and where its own range
/// begins.
struct Share {
  std::int32_t first = 0;
  std::int32_t count = 0;
};
[[nodiscard]] Share fair_share(std::int32_t partitions, std::int32_t members, std::int32_t rank);

/// A member that lives, and what is known of it.
struct LiveMember {
  MemberRecord record;
  /// Of `record.partitions`, those whose claim is held by somebody.
  std::set<std::int32_t> claimed;
};
/// The living members of one group, or of all; reads only. `topics`: where to look for members
/// whose record does not read yet; they are given with pid 0.
[[nodiscard]] Result<std::vector<LiveMember>> live_members(const LogEnv& env,
                                                           const std::optional<std::string>& group,
                                                           const std::vector<std::string>& topics);

/// One member. Not thread-safe, but for set_blocked() and generation().
class Membership {
 public:
  struct Options {
    std::string group;
    std::string client_id;
    bool is_static = false;
  };
  Membership(Store& store, OffsetStore& offsets, Options options);
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  /// Becomes a member for one more topic. With a static choice these `partitions` are wanted, else
  /// a share of them. Errc::kConflict when all slots are taken, or when the group was reset since
  /// the first topic.
  [[nodiscard]] Result<void> join(const std::string& topic,
                                  const std::vector<PartitionId>& partitions);
  /// Partitions that a topic got since.
  void set_partitions(const std::string& topic, const std::vector<PartitionId>& partitions);
  /// No member of this topic any more; its claims are given up.
  void leave(const std::string& topic);
  /// What commits have to name.
  [[nodiscard]] std::int32_t generation() const { return generation_; }

  /// Errc::kConflict when spool.locks was removed under us, so that others cannot see what we hold.
  /// look() asks it; ask it before a commit. Any thread.
  [[nodiscard]] Result<void> check();

  struct Change {
    std::vector<TopicPartition> gained;   ///< ours from now on
    std::vector<TopicPartition> give_up;  ///< to be finished, committed and then released
    bool wanting = false;                 ///< less than our share: others will give up some
  };
  /// Looks who is alive, claims what is free and ours to claim.
  [[nodiscard]] Result<Change> look();
  /// Gives claims up; others are woken.
  void release(const std::vector<TopicPartition>& claims);
  [[nodiscard]] const std::set<TopicPartition>& claims() const { return claims_; }

  /// Readable when members came or went; -1 where that is not told.
  [[nodiscard]] int fd() const { return watcher_.fd(); }
  /// Call after a wait: notes what was told.
  void after_wake();
  /// In how many milliseconds the next look() is due; 0: now. Where nothing is told, every 50.
  [[nodiscard]] int due_in_ms() const;

  /// Shows others that what was printed waits for its reader; 0: no more.
  void set_blocked(TimestampMs since);

  static constexpr int kProbeMs = 50;

 private:
  struct Topic {
    std::vector<PartitionId> partitions;
    std::int64_t members = 0;
    std::int64_t claims = 0;
    std::int32_t slot = 0;
    MemberRecord record;
    std::int64_t index = -1;
    std::set<PartitionId> held;
  };
  [[nodiscard]] Result<std::int32_t> take_slot(std::int64_t base);
  [[nodiscard]] Result<void> look_at(const std::string& name, Topic& topic, Change& change);
  [[nodiscard]] Result<std::int32_t> statically_held(const std::string& name, const Topic& topic);
  [[nodiscard]] Result<bool> is_free(const MembersFile::Place& place);
  [[nodiscard]] Result<bool> claim(const std::string& name, Topic& topic, PartitionId p,
                                   Change& change);
  void publish(Topic& topic);

  Store& store_;
  OffsetStore& offsets_;
  const Options options_;
  RangeLocks locks_;
  std::mutex mutex_;  ///< guards the records and the file
  MembersFile file_;
  Watcher watcher_;
  bool watched_ = false;
  std::map<std::string, Topic> topics_;
  std::set<TopicPartition> claims_;
  std::int32_t generation_ = -1;
  bool joined_ = false;
  bool wanting_ = true;
  std::vector<std::int64_t> looks_;  ///< times of the next looks, of a clock that never steps
  std::int64_t looked_ = 0;
};

}  // namespace spool
