#pragma once
/// What the records of `__consumer_offsets` come to, group by group, and `DIR/spool.offsets`, a
/// copy of it up to an offset:
///
///   spool offsets 1
///   topic ID                                   the topic's id; `-` where it is not known
///   partition P UPTO BASE CRC BYTES            and BYTES bytes of groups, and a line end
///   xxh3 HEX
///
/// UPTO is the first offset that is not in it; BASE and CRC are those of the batch before, by which
/// a log that was cut, replaced or compacted since is told from the one that was read: then the
/// copy is passed over, and the log read from its start. Groups ascend by name:
///
///   uint32 length, name, uint32 length of the entries, entries: uint32 length, key,
///   uint32 length, value, int64 offset of the record
///
/// A hint: deleting the file costs time and nothing else. Replaced as a whole, under byte
/// `offsets`.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "io/fs.h"

namespace spool {

struct GroupEntry {
  std::string value;
  Offset record;  ///< where in the log it is
};

/// The newest value of each key, by group. Groups of a snapshot are taken apart when they are first
/// asked for, so that a folder with a million of them opens fast. Not thread-safe.
class GroupEntries {
 public:
  using Entries = std::map<std::string, GroupEntry, std::less<>>;
  struct Group {
    Entries entries;
    Offset last{-1};  ///< of the newest record that changed it, as far as known
  };

  GroupEntries() = default;
  /// Errc::kCorrupt when the bytes do not parse.
  [[nodiscard]] static Result<GroupEntries> parse(std::string packed);

  /// nullptr for a group that has no entry and never had one here.
  [[nodiscard]] Group* find(std::string_view group);
  /// Made when it is not there.
  [[nodiscard]] Group& get(std::string_view group);
  /// All groups that have an entry, ascending.
  [[nodiscard]] std::vector<std::string> names();
  /// As parse() takes it.
  [[nodiscard]] std::string pack() const;

 private:
  struct Packed {
    std::size_t name = 0, name_size = 0, entries = 0, entries_size = 0;
  };
  [[nodiscard]] std::string_view name_of(const Packed& p) const {
    return std::string_view(packed_).substr(p.name, p.name_size);
  }
  [[nodiscard]] const Packed* find_packed(std::string_view group) const;
  [[nodiscard]] bool unpack(const Packed& p, Group& out) const;

  std::string packed_;
  std::vector<Packed> index_;                         ///< ascending by name
  std::map<std::string, Group, std::less<>> groups_;  ///< those taken apart; they hide packed ones
};

/// Where entries that are written again and again are: a log of commits names a few keys many
/// times, and this finds one in a few nanoseconds. Borrows entries, which stay where they are until
/// they are erased. Not thread-safe.
class RecentEntries {
 public:
  struct Place {
    std::string_view key;  ///< of the entry; empty: none
    GroupEntry* entry = nullptr;
    GroupEntries::Group* group = nullptr;
  };
  /// The place for a key; another key may have it, or none.
  [[nodiscard]] Place& at(std::string_view key);
  /// REQUIRED before an entry is erased.
  void forget(std::string_view key);

 private:
  static constexpr std::size_t kPlaces = 4096;
  std::vector<Place> places_;
};

/// How far a partition was read.
struct SnapshotMark {
  Offset upto;
  Offset batch_base{-1};  ///< of the last batch; -1: nothing was read
  std::uint32_t batch_crc = 0;
};

struct OffsetSnapshot {
  struct Part {
    SnapshotMark mark;
    std::string packed;
  };
  std::string topic_id;
  std::map<std::int32_t, Part> parts;
};

/// nullopt when there is none, or none that reads: a hint less.
[[nodiscard]] std::optional<OffsetSnapshot> read_offset_snapshot(Fs& fs, const std::string& root);
/// Needs byte `offsets`.
[[nodiscard]] Result<void> write_offset_snapshot(Fs& fs, const std::string& root,
                                                 const OffsetSnapshot& snapshot,
                                                 std::uint32_t mode);

}  // namespace spool
