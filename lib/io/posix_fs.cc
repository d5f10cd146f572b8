#include "io/posix_fs.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>

namespace spool {

namespace {

tl::unexpected<Error> sys_fail(const char* verb, const std::string& path) {
  const int e = errno;
  return fail(system_error(e, std::string("cannot ") + verb + " '" + path + "'"));
}

FileStat from_stat(const struct stat& st) {
  return {st.st_dev, st.st_ino, st.st_size, st.st_mode & 07777U, S_ISDIR(st.st_mode)};
}

/// A descriptor that closes itself.
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

class PosixFile final : public File {
 public:
  PosixFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  [[nodiscard]] Result<std::size_t> read_at(MutableBytes out, std::int64_t at) override {
    std::size_t done = 0;
    while (done < out.size()) {
      const ssize_t n = ::pread(fd_.get(), out.data() + done, out.size() - done,
                                at + static_cast<std::int64_t>(done));
      if (n < 0) {
        if (errno == EINTR) continue;
        return sys_fail("read", path_);
      }
      if (n == 0) break;
      done += static_cast<std::size_t>(n);
    }
    return done;
  }

  [[nodiscard]] Result<void> write_at(Bytes data, std::int64_t at) override {
    while (!data.empty()) {
      const ssize_t n = ::pwrite(fd_.get(), data.data(), data.size(), at);
      if (n < 0) {
        if (errno == EINTR) continue;
        return sys_fail("write", path_);
      }
      data = data.subspan(static_cast<std::size_t>(n));
      at += n;
    }
    return {};
  }

  [[nodiscard]] Result<void> sync() override {
    while (::fdatasync(fd_.get()) != 0) {
      if (errno != EINTR) return sys_fail("sync", path_);
    }
    return {};
  }

  [[nodiscard]] Result<void> truncate(std::int64_t size) override {
    while (::ftruncate(fd_.get(), size) != 0) {
      if (errno != EINTR) return sys_fail("truncate", path_);
    }
    return {};
  }

  [[nodiscard]] Result<FileStat> stat() override {
    struct stat st{};
    if (::fstat(fd_.get(), &st) != 0) return sys_fail("stat", path_);
    return from_stat(st);
  }

  [[nodiscard]] Result<bool> try_lock(LockKind kind, std::int64_t at,
                                      std::int64_t length) override {
    struct flock want = range(kind, at, length);
    if (::fcntl(fd_.get(), F_OFD_SETLK, &want) == 0) return true;
    if (errno == EAGAIN || errno == EACCES) return false;
    return sys_fail("lock", path_);
  }

  [[nodiscard]] Result<void> lock(LockKind kind, std::int64_t at, std::int64_t length) override {
    struct flock want = range(kind, at, length);
    if (::fcntl(fd_.get(), F_OFD_SETLKW, &want) == 0) return {};
    if (errno == EINTR) return fail(Errc::kCancelled, "a signal interrupted the wait for a lock");
    return sys_fail("lock", path_);
  }

  [[nodiscard]] Result<void> unlock(std::int64_t at, std::int64_t length) override {
    struct flock want = range(LockKind::kShared, at, length);
    want.l_type = F_UNLCK;
    if (::fcntl(fd_.get(), F_OFD_SETLK, &want) != 0) return sys_fail("unlock", path_);
    return {};
  }

  [[nodiscard]] Result<std::optional<LockHolder>> lock_holder(LockKind kind, std::int64_t at,
                                                              std::int64_t length) override {
    struct flock want = range(kind, at, length);
    if (::fcntl(fd_.get(), F_OFD_GETLK, &want) != 0) return sys_fail("query locks of", path_);
    if (want.l_type == F_UNLCK) return std::optional<LockHolder>();
    return std::optional<LockHolder>(LockHolder{want.l_pid});
  }

 private:
  static struct flock range(LockKind kind, std::int64_t at, std::int64_t length) {
    struct flock f{};
    f.l_type = kind == LockKind::kShared ? F_RDLCK : F_WRLCK;
    f.l_whence = SEEK_SET;
    f.l_start = at;
    f.l_len = length;
    return f;
  }

  Fd fd_;
  std::string path_;
};

int open_retrying(const std::string& path, int flags, unsigned mode) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

/// Magic numbers of statfs(2) that spool has an opinion on, or that are worth a name.
constexpr std::array kFsKinds =
    std::to_array<std::pair<std::uint32_t, std::pair<const char*, bool>>>({
        {0x6969, {"nfs", true}},
        {0x517b, {"smb", true}},
        {0xff534d42, {"cifs", true}},
        {0xfe534d42, {"smb2", true}},
        {0x01021997, {"9p", true}},
        {0x65735546, {"fuse", true}},
        {0x6a656a63, {"virtiofs", true}},
        {0x00c36400, {"ceph", true}},
        {0x5346414f, {"afs", true}},
        {0x0bd00bd0, {"lustre", true}},
        {0x01161970, {"gfs2", true}},
        {0x7461636f, {"ocfs2", true}},
        {0xef53, {"ext4", false}},
        {0x58465342, {"xfs", false}},
        {0x9123683e, {"btrfs", false}},
        {0x01021994, {"tmpfs", false}},
        {0x794c7630, {"overlayfs", false}},
        {0x2fc12fc1, {"zfs", false}},
    });

class PosixFs final : public Fs {
 public:
  [[nodiscard]] Result<std::unique_ptr<File>> open(const std::string& path, OpenMode how,
                                                   std::uint32_t mode) override {
    int flags = how == OpenMode::kRead ? O_RDONLY : O_RDWR;
    if (how == OpenMode::kReplace) flags |= O_CREAT | O_TRUNC;
    int fd = -1;
    if (how == OpenMode::kCreate) {
      // Plain open first: O_CREAT on an existing file of another user fails in sticky folders.
      fd = open_retrying(path, flags, 0);
      if (fd < 0 && errno == ENOENT) {
        fd = open_retrying(path, flags | O_CREAT | O_EXCL, mode);
        if (fd >= 0 && ::fchmod(fd, mode) != 0) {
          const Fd closer(fd);
          return sys_fail("set the mode of", path);
        }
        if (fd < 0 && errno == EEXIST) fd = open_retrying(path, flags, 0);
      }
    } else {
      fd = open_retrying(path, flags, mode);
      if (fd >= 0 && how == OpenMode::kReplace) {
        // A file of another user cannot be given a mode; it has had one since it was made.
        if (::fchmod(fd, mode) != 0 && errno != EPERM) {
          const Fd closer(fd);
          return sys_fail("set the mode of", path);
        }
      }
    }
    if (fd < 0) return sys_fail("open", path);
    return std::make_unique<PosixFile>(fd, path);
  }

  [[nodiscard]] Result<FileStat> stat(const std::string& path) override {
    struct stat st{};
    if (::stat(path.c_str(), &st) != 0) return sys_fail("stat", path);
    return from_stat(st);
  }

  [[nodiscard]] Result<std::vector<DirEntry>> list(const std::string& path) override {
    DIR* dir = ::opendir(path.c_str());
    if (dir == nullptr) return sys_fail("list", path);
    std::vector<DirEntry> out;
    int problem = 0;
    for (;;) {
      errno = 0;
      const dirent* e = ::readdir(dir);  // NOLINT(concurrency-mt-unsafe): the stream is ours alone
      if (e == nullptr) {
        problem = errno;
        break;
      }
      const std::string_view name = e->d_name;
      if (name == "." || name == "..") continue;
      bool is_dir = e->d_type == DT_DIR;
      if (e->d_type == DT_UNKNOWN || e->d_type == DT_LNK) {
        struct stat st{};
        is_dir = ::stat(join_path(path, e->d_name).c_str(), &st) == 0 && S_ISDIR(st.st_mode);
      }
      out.push_back({std::string(name), is_dir});
    }
    ::closedir(dir);
    errno = problem;
    if (problem != 0) return sys_fail("list", path);
    return out;
  }

  [[nodiscard]] Result<void> make_dir(const std::string& path, std::uint32_t mode) override {
    if (::mkdir(path.c_str(), mode == 0 ? 0777 : mode) != 0) return sys_fail("make folder", path);
    if (mode != 0 && ::chmod(path.c_str(), mode) != 0) return sys_fail("set the mode of", path);
    return {};
  }

  [[nodiscard]] Result<void> rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return sys_fail("rename", from);
    return {};
  }

  [[nodiscard]] Result<void> unlink(const std::string& path) override {
    if (::unlink(path.c_str()) != 0) return sys_fail("remove", path);
    return {};
  }

  [[nodiscard]] Result<void> remove_dir(const std::string& path) override {
    if (::rmdir(path.c_str()) != 0) return sys_fail("remove folder", path);
    return {};
  }

  [[nodiscard]] Result<void> sync_dir(const std::string& path) override {
    const Fd fd(open_retrying(path, O_RDONLY | O_DIRECTORY, 0));
    if (fd.get() < 0) return sys_fail("open", path);
    while (::fsync(fd.get()) != 0) {
      if (errno != EINTR) return sys_fail("sync", path);
    }
    return {};
  }

  [[nodiscard]] Result<FsKind> kind(const std::string& path) override {
    struct statfs st{};
    if (::statfs(path.c_str(), &st) != 0) return sys_fail("stat the file system of", path);
    const auto magic = static_cast<std::uint32_t>(st.f_type);
    for (const auto& [known, kind] : kFsKinds)
      if (known == magic) return FsKind{kind.first, kind.second};
    std::array<char, 16> text{};
    (void)std::snprintf(text.data(), text.size(), "0x%x", magic);
    return FsKind{text.data(), false};
  }

  [[nodiscard]] Result<std::string> boot_id() override {
    TRY_ASSIGN(std::string id, read_file(*this, "/proc/sys/kernel/random/boot_id", 4096));
    while (!id.empty() && id.back() == '\n')
      id.pop_back();
    return id;
  }
};

}  // namespace

Fs& posix_fs() {
  static PosixFs fs;
  return fs;
}

}  // namespace spool
