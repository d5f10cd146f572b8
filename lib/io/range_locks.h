#pragma once
/// Bytes of `DIR/spool.locks` that are held for long: who is a member of a group, and which
/// partitions a member has. Bytes of a kind lie together in a range that is hashed from a name, so
/// that one question tells whether anybody holds any of them. Nothing here waits.
///
/// The locks are those of an open file description of their own, one for each RangeLocks: the
/// kernel frees them when the process ends, however it ends. Two RangeLocks of one process are
/// strangers to each other.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/fs.h"

namespace spool {

/// Thread-safe. The file is made when it is missing, with `file_mode`.
class RangeLocks {
 public:
  RangeLocks(Fs& fs, std::string dir, std::uint32_t file_mode)
      : fs_(fs), dir_(std::move(dir)), file_mode_(file_mode) {}

  /// Where the range of a name begins; it has 2^bits bytes.
  [[nodiscard]] static std::int64_t base_of(std::string_view name, unsigned bits);

  /// True when the byte is ours now, or was before; false when another one has it.
  [[nodiscard]] Result<bool> try_lock(std::int64_t at);
  /// Of a byte that is ours; nothing otherwise.
  void unlock(std::int64_t at);
  [[nodiscard]] bool holds(std::int64_t at) const;

  /// Whether spool.locks still is the file that our locks are in. Somebody may have removed it:
  /// then whoever comes later locks another file, and does not meet us.
  [[nodiscard]] Result<bool> named();

  /// Whether anybody but us holds one of these bytes.
  [[nodiscard]] Result<bool> others_in(std::int64_t at, std::int64_t length);
  /// Those of [at, at + length) that others hold, ascending, counted from `at`: a question for each
  /// halving on the way to one.
  [[nodiscard]] Result<std::vector<std::int32_t>> held_by_others(std::int64_t at,
                                                                 std::int64_t length);

 private:
  [[nodiscard]] Result<File*> file();

  Fs& fs_;
  const std::string dir_;
  const std::uint32_t file_mode_;
  mutable std::mutex mutex_;  ///< guards all below
  std::unique_ptr<File> file_;
  FileStat stat_;  ///< of file_
  std::set<std::int64_t> held_;
};

/// As RangeLocks, for those who only look: the file may be missing, and nobody needs permission to
/// write it.
class RangeView {
 public:
  RangeView(Fs& fs, std::string dir) : fs_(fs), dir_(std::move(dir)) {}
  /// As held_by_others() of RangeLocks.
  [[nodiscard]] Result<std::vector<std::int32_t>> held(std::int64_t at, std::int64_t length);

 private:
  Fs& fs_;
  const std::string dir_;
  std::unique_ptr<File> file_;
};

}  // namespace spool
