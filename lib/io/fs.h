#pragma once
/// The one seam to the operating system's files. `posix_fs` is the real one; tests wrap it to make
/// calls fail. Only plain calls are used for data: no stdio, no mmap stores, no copy_file_range.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace spool {

struct FileStat {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::uint32_t mode = 0;  ///< permission bits
  bool is_dir = false;

  [[nodiscard]] bool same_file(const FileStat& o) const {
    return device == o.device && inode == o.inode;
  }
};

enum class LockKind { kShared, kExclusive };

/// Who holds a lock that conflicts: pid -1 for an open-file-description lock (one of us).
struct LockHolder {
  std::int32_t pid = -1;
};

/// An open file. Reads, writes and syncs may be called from several threads at once; locks belong
/// to the open file description, so they do not exclude threads that share a File. Closed on
/// destruction.
class File {
 public:
  virtual ~File() = default;
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Reads up to out.size() bytes at `at`; fewer only at the end of the file.
  [[nodiscard]] virtual Result<std::size_t> read_at(MutableBytes out, std::int64_t at) = 0;
  /// Writes all of `data` at `at`, or fails; after a failure some of it may be written.
  [[nodiscard]] virtual Result<void> write_at(Bytes data, std::int64_t at) = 0;
  /// fdatasync: on success all that was written before the call is on disk. After a failure nothing
  /// is known about unsynced bytes, and a later success proves nothing: never call it again for
  /// them.
  [[nodiscard]] virtual Result<void> sync() = 0;
  [[nodiscard]] virtual Result<void> truncate(std::int64_t size) = 0;
  [[nodiscard]] virtual Result<FileStat> stat() = 0;

  /// Open-file-description locks on bytes [at, at + length); length 0 reaches to infinity.
  /// try_lock gives false when another holder is in the way; lock waits, and Errc::kCancelled says
  /// that a signal interrupted it.
  [[nodiscard]] virtual Result<bool> try_lock(LockKind kind, std::int64_t at,
                                              std::int64_t length) = 0;
  [[nodiscard]] virtual Result<void> lock(LockKind kind, std::int64_t at, std::int64_t length) = 0;
  [[nodiscard]] virtual Result<void> unlock(std::int64_t at, std::int64_t length) = 0;
  /// The first holder that a lock of this kind would meet, if any.
  [[nodiscard]] virtual Result<std::optional<LockHolder>> lock_holder(LockKind kind,
                                                                      std::int64_t at,
                                                                      std::int64_t length) = 0;
};

enum class OpenMode {
  kRead,       ///< must exist
  kReadWrite,  ///< must exist
  kCreate,     ///< read and write, made when missing
  kReplace,    ///< read and write, made or emptied
};

struct DirEntry {
  std::string name;
  bool is_dir = false;
};

/// What kind of file system a path lies on.
struct FsKind {
  std::string name;          ///< "ext4", "nfs", ...; "0x..." when unknown
  bool shared_host = false;  ///< other hosts may see it: kernel locks and page cache are not enough
};

/// All paths are used as given. Thread-safe. Errors name the path.
class Fs {
 public:
  virtual ~Fs() = default;
  /// `mode` is what a made file gets, whatever the umask.
  [[nodiscard]] virtual Result<std::unique_ptr<File>> open(const std::string& path, OpenMode how,
                                                           std::uint32_t mode) = 0;
  [[nodiscard]] virtual Result<FileStat> stat(const std::string& path) = 0;
  /// Without "." and "..", in no order.
  [[nodiscard]] virtual Result<std::vector<DirEntry>> list(const std::string& path) = 0;
  /// `mode` is applied whatever the umask, unless it is 0: then 0777 less the umask.
  [[nodiscard]] virtual Result<void> make_dir(const std::string& path, std::uint32_t mode) = 0;
  [[nodiscard]] virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  [[nodiscard]] virtual Result<void> unlink(const std::string& path) = 0;
  /// Removes an empty folder.
  [[nodiscard]] virtual Result<void> remove_dir(const std::string& path) = 0;
  /// fsync of a folder: names made, renamed or removed in it before the call are on disk.
  [[nodiscard]] virtual Result<void> sync_dir(const std::string& path) = 0;
  [[nodiscard]] virtual Result<FsKind> kind(const std::string& path) = 0;
  /// Another one at each boot of this machine.
  [[nodiscard]] virtual Result<std::string> boot_id() = 0;
};

/// The whole of a small file; Errc::kTooLarge above `bytes_max`.
[[nodiscard]] Result<std::string> read_file(Fs& fs, const std::string& path,
                                            std::size_t bytes_max = std::size_t{64} << 20);

/// A folder's path and a name in it.
[[nodiscard]] inline std::string join_path(const std::string& dir, const std::string& name) {
  return dir + "/" + name;
}
/// The folder of a path: "a/b" -> "a", "a" -> ".", "/a" -> "/".
[[nodiscard]] std::string parent_path(const std::string& path);

}  // namespace spool
