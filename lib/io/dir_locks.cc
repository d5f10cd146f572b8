#include "io/dir_locks.h"

#include <chrono>
#include <thread>

#include <fmt/format.h>
#include <xxhash.h>

namespace spool {

namespace {

constexpr const char* kLocksFile = "spool.locks";
constexpr int kTakeAttempts = 100;
constexpr std::chrono::milliseconds kServerPoll{2};
constexpr std::chrono::seconds kServerWaitMax{15};

}  // namespace

std::int64_t DirLocks::byte_of(std::string_view name) {
  return static_cast<std::int64_t>(XXH3_64bits(name.data(), name.size()) & 0x7fffffffffffffffU);
}

std::string DirLocks::append_name(std::string_view topic, std::int32_t partition) {
  return fmt::format("append {} {}", topic, partition);
}

/// Whether the path still names the open file: others lock what they find there.
Result<bool> DirLocks::bytes_named() {
  const auto there = fs_.stat(join_path(dir_, kLocksFile));
  if (there) return there->same_file(bytes_stat_);
  if (there.error().code == Errc::kNotFound) return false;
  return fail(there.error());
}

/// Needs mutex_.
Result<void> DirLocks::open_bytes() {
  if (bytes_) {
    TRY_ASSIGN(const bool named, bytes_named());
    if (named) return {};
  }
  TRY_ASSIGN(std::shared_ptr<File> file,
             fs_.open(join_path(dir_, kLocksFile), OpenMode::kCreate, file_mode_));
  TRY_ASSIGN(bytes_stat_, file->stat());
  bytes_ = std::move(file);
  return {};
}

Result<void> DirLocks::wait_for_server() {
  const std::int64_t at = byte_of("server");
  const auto give_up = std::chrono::steady_clock::now() + kServerWaitMax;
  for (;;) {
    TRY_ASSIGN(const auto holder, bytes_->lock_holder(LockKind::kShared, at, 1));
    if (!holder) return {};
    if (std::chrono::steady_clock::now() > give_up)
      return fail(Errc::kConflict, "a server is taking over '" + dir_ + "'");
    if (gives_up())
      return fail(Errc::kCancelled, "a server that is taking over '" + dir_ + "' does not go on");
    std::this_thread::sleep_for(kServerPoll);
  }
}

tl::unexpected<Error> DirLocks::owned_by(const LockHolder& holder) const {
  if (holder.pid > 0)
    return fail(Errc::kConflict,
                fmt::format("'{}' is owned by process {} (a Kafka broker?): stop it first", dir_,
                            holder.pid));
  return fail(Errc::kConflict, fmt::format("'{}' is owned by a spool server", dir_));
}

Result<void> DirLocks::drop_clean_shutdown() {
  const std::string marker = join_path(dir_, ".kafka_cleanshutdown");
  if (auto gone = fs_.unlink(marker); !gone) {
    if (gone.error().code == Errc::kNotFound) return {};
    return gone;
  }
  return fs_.sync_dir(dir_);
}

Result<void> DirLocks::take_directory() {
  const std::string path = join_path(dir_, ".lock");
  for (int attempt = 0; attempt < kTakeAttempts; ++attempt) {
    const bool fresh = !directory_lock_;
    if (fresh) {
      TRY_ASSIGN(directory_lock_, fs_.open(path, OpenMode::kCreate, file_mode_));
    }
    TRY_ASSIGN(const bool got, directory_lock_->try_lock(LockKind::kShared, 0, 0));
    if (!got) {
      TRY_ASSIGN(const auto holder, directory_lock_->lock_holder(LockKind::kShared, 0, 0));
      directory_lock_.reset();
      if (!holder) continue;  // let go between the two calls
      return owned_by(*holder);
    }
    // A broker removes the file on a clean stop: what we locked must still be what the path names.
    TRY_ASSIGN(const FileStat ours, directory_lock_->stat());
    const auto there = fs_.stat(path);
    if (there && there->same_file(ours)) {
      if (!fresh) return {};
      auto dropped = drop_clean_shutdown();
      if (!dropped) directory_lock_.reset();  // the next operation has to try again
      return dropped;
    }
    directory_lock_.reset();
    if (!there && there.error().code != Errc::kNotFound) return fail(there.error());
  }
  return fail(Errc::kConflict, "'" + path + "' keeps being replaced");
}

Result<DirLocks::Operation> DirLocks::begin() {
  const std::lock_guard guard(mutex_);
  if (operations_ == 0) {
    TRY(open_bytes());
    TRY(wait_for_server());
    TRY(take_directory());
  }
  ++operations_;
  return Operation(this);
}

void DirLocks::end() {
  const std::lock_guard guard(mutex_);
  if (--operations_ > 0) return;
  // If the kernel will not unlock, closing the description does.
  if (!directory_lock_->unlock(0, 0)) directory_lock_.reset();
}

Result<DirLocks::ByteLock> DirLocks::lock_byte(std::string_view name) {
  const std::int64_t at = byte_of(name);
  {
    std::unique_lock guard(mutex_);
    freed_.wait(guard, [&] { return held_.count(at) == 0; });
    held_.insert(at);
  }
  auto locked = lock_named(name, at);
  if (!locked) {
    const std::lock_guard guard(mutex_);
    held_.erase(at);
    freed_.notify_all();
    return fail(locked.error());
  }
  return ByteLock(this, std::move(*locked), at);
}

/// Locks a byte that no other thread is after. What was locked must still be what the path names,
/// or two processes would hold the same byte of two files.
Result<std::shared_ptr<File>> DirLocks::lock_named(std::string_view name, std::int64_t at) {
  for (int attempt = 0; attempt < kTakeAttempts; ++attempt) {
    std::shared_ptr<File> file;
    {
      const std::lock_guard guard(mutex_);
      TRY(open_bytes());
      file = bytes_;
    }
    auto got = file->lock(LockKind::kExclusive, at, 1);
    while (!got && got.error().code == Errc::kCancelled && !gives_up())
      got = file->lock(LockKind::kExclusive, at, 1);
    if (!got && got.error().code == Errc::kCancelled)
      return fail(
          Errc::kCancelled,
          fmt::format("'{}': another process holds the lock '{}' and does not go on", dir_, name));
    if (!got) return fail(got.error());
    const std::lock_guard guard(mutex_);
    const auto named = bytes_named();
    if (named && *named && file == bytes_) return file;
    (void)file->unlock(at, 1);
    if (!named) return fail(named.error());
  }
  return fail(Errc::kConflict, "'" + join_path(dir_, kLocksFile) + "' keeps being replaced");
}

void DirLocks::release(File& file, std::int64_t at) {
  const std::lock_guard guard(mutex_);
  (void)file.unlock(at, 1);  // cannot fail on a byte that we hold
  held_.erase(at);
  freed_.notify_all();
}

}  // namespace spool
