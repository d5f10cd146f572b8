#pragma once
/// File systems for tests: one that passes every call on, to be overridden, and the real one
/// without its syncs, which would take most of the time of the tests and show nothing.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/posix_fs.h"

namespace spool::test {

class PassFile : public File {
 public:
  explicit PassFile(std::unique_ptr<File> inner) : inner_(std::move(inner)) {}
  Result<std::size_t> read_at(MutableBytes out, std::int64_t at) override {
    return inner_->read_at(out, at);
  }
  Result<void> write_at(Bytes data, std::int64_t at) override { return inner_->write_at(data, at); }
  Result<void> sync() override { return inner_->sync(); }
  Result<void> truncate(std::int64_t size) override { return inner_->truncate(size); }
  Result<FileStat> stat() override { return inner_->stat(); }
  Result<bool> try_lock(LockKind kind, std::int64_t at, std::int64_t length) override {
    return inner_->try_lock(kind, at, length);
  }
  Result<void> lock(LockKind kind, std::int64_t at, std::int64_t length) override {
    return inner_->lock(kind, at, length);
  }
  Result<void> unlock(std::int64_t at, std::int64_t length) override {
    return inner_->unlock(at, length);
  }
  Result<std::optional<LockHolder>> lock_holder(LockKind kind, std::int64_t at,
                                                std::int64_t length) override {
    return inner_->lock_holder(kind, at, length);
  }

 protected:
  std::unique_ptr<File> inner_;
};

/// Passes everything on; a test overrides what it wants to be different.
class PassFs : public Fs {
 public:
  explicit PassFs(Fs& inner) : inner_(inner) {}
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode how,
                                     std::uint32_t mode) override {
    return inner_.open(path, how, mode);
  }
  Result<FileStat> stat(const std::string& path) override { return inner_.stat(path); }
  Result<std::vector<DirEntry>> list(const std::string& path) override { return inner_.list(path); }
  Result<void> make_dir(const std::string& path, std::uint32_t mode) override {
    return inner_.make_dir(path, mode);
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    return inner_.rename(from, to);
  }
  Result<void> unlink(const std::string& path) override { return inner_.unlink(path); }
  Result<void> remove_dir(const std::string& path) override { return inner_.remove_dir(path); }
  Result<void> sync_dir(const std::string& path) override { return inner_.sync_dir(path); }
  Result<FsKind> kind(const std::string& path) override { return inner_.kind(path); }
  Result<std::string> boot_id() override { return inner_.boot_id(); }

 protected:
  Fs& inner_;
};

/// The real one, but sync() and sync_dir() do nothing.
class FastFs final : public PassFs {
 public:
  FastFs() : PassFs(posix_fs()) {}
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode how,
                                     std::uint32_t mode) override {
    TRY_ASSIGN(auto file, inner_.open(path, how, mode));
    return std::unique_ptr<File>(new Unsynced(std::move(file)));
  }
  Result<void> sync_dir(const std::string&) override { return {}; }

 private:
  class Unsynced final : public PassFile {
   public:
    using PassFile::PassFile;
    Result<void> sync() override { return {}; }
  };
};

inline Fs& fast_fs() {
  static FastFs fs;
  return fs;
}

}  // namespace spool::test
