#pragma once
/// `DIR/spool.groups`: who the members of groups are, for those who want to name them. It says
/// nothing about who is alive: a record counts only while the byte of its slot is locked in
/// spool.locks (membership.h).
///
/// Records of 1024 bytes; the first one is the line `spool groups 1`. Integers are big endian.
///
///     0  XXH3-64 of what follows            56  XXH3-128 of the group's name, 16 bytes
///     8  int32 slot                         72  group, uint16 length and up to 190 bytes
///    12  int32 pid                         264  topic, up to 249 bytes
///    16  int64 its start, clock ticks      516  host, up to 62 bytes
///    24  int64 member since, ms            580  client id, up to 98 bytes
///    32  int64 blocked since, ms; 0: no    680  a bit for each of the partitions 0 to 2047 that
///    40  int32 generation                       it has: bit 0 of byte 680 is partition 0
///    44  uint8 flags: 1 static choice
///    48  int32 partitions that it has
///
/// A record is changed in place by its member alone, and given to another one, or made at the end,
/// under byte `groups`. Members hold the file open for writing, so that the kernel tells all others
/// when one of them is gone.

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "io/dir_locks.h"
#include "io/fs.h"

namespace spool {

inline constexpr const char* kMembersFile = "spool.groups";

struct MemberRecord {
  std::string group;  ///< its beginning only, when it is longer than 190 bytes
  std::string topic;
  std::int32_t slot = 0;
  std::int32_t pid = 0;
  std::int64_t start_ticks = 0;
  TimestampMs since;
  TimestampMs blocked_since{0};  ///< what it printed has been waiting for its reader since; 0: no
  std::int32_t generation = -1;
  bool is_static = false;
  std::int32_t partition_count = 0;
  std::set<std::int32_t> partitions;  ///< below 2048
  std::string host;
  std::string client_id;
};

/// XXH3-128 of a group's name as 16 bytes.
[[nodiscard]] std::string group_hash(const std::string& group);

/// Not thread-safe.
class MembersFile {
 public:
  MembersFile(Fs& fs, const std::string& root) : fs_(fs), path_(join_path(root, kMembersFile)) {}

  /// For members; makes the file.
  [[nodiscard]] Result<void> open_for_writing(DirLocks& locks, std::uint32_t mode);
  struct Place {
    std::int64_t index = -1;
    std::string group_hash;
    MemberRecord record;
  };
  /// Every record that reads; none when there is no file.
  [[nodiscard]] Result<std::vector<Place>> read_all();
  /// Finds a place for a record: its own from before, one for which `is_free` says true, or a new
  /// one at the end. Gives the index.
  [[nodiscard]] Result<std::int64_t> add(DirLocks& locks, const MemberRecord& record,
                                         const std::function<Result<bool>(const Place&)>& is_free);
  /// Whoever watches the file wakes.
  [[nodiscard]] Result<void> write(std::int64_t index, const MemberRecord& record);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  Fs& fs_;
  const std::string path_;
  std::unique_ptr<File> file_;
};

}  // namespace spool
