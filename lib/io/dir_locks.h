#pragma once
/// The kernel locks that let many processes share one directory without a daemon.
///
/// `DIR/.lock` says who owns the directory: shared by each local write operation, exclusive by a
/// server or an Apache Kafka broker. Bytes of `DIR/spool.locks`, at 63-bit offsets hashed from
/// names, exclude each other in smaller things: `append T P`, `topics`, `server`. The kernel frees
/// the locks of a dead process, so there is nothing to clean up. Order, where several are held:
/// operation, `topics`, `append`.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "io/fs.h"

namespace spool {

/// Thread-safe. Makes both files when they are missing, with `file_mode`.
class DirLocks {
 public:
  /// `give_up` is asked whenever a signal interrupts a wait, from any thread: true ends the wait
  /// with Errc::kCancelled. May be empty.
  DirLocks(Fs& fs, std::string dir, std::uint32_t file_mode, std::function<bool()> give_up = {})
      : fs_(fs), dir_(std::move(dir)), file_mode_(file_mode), give_up_(std::move(give_up)) {}

  /// One write operation; hold it as short as possible, never while waiting for input or output.
  class Operation {
   public:
    Operation() = default;
    Operation(Operation&& o) noexcept : owner_(std::exchange(o.owner_, nullptr)) {}
    Operation& operator=(Operation&& o) noexcept {
      std::swap(owner_, o.owner_);
      return *this;
    }
    ~Operation() {
      if (owner_ != nullptr) owner_->end();
    }

   private:
    friend class DirLocks;
    explicit Operation(DirLocks* owner) : owner_(owner) {}
    DirLocks* owner_ = nullptr;
  };

  /// Waits while a server is taking the directory over; Errc::kConflict, naming the owner, when a
  /// server or a broker has it. Before the first operation a clean-shutdown marker of a broker is
  /// removed for good, else the broker would skip its recovery after a crash of ours.
  [[nodiscard]] Result<Operation> begin();

  /// One locked byte.
  class ByteLock {
   public:
    ByteLock() = default;
    ByteLock(ByteLock&& o) noexcept
        : owner_(std::exchange(o.owner_, nullptr)), file_(std::move(o.file_)), at_(o.at_) {}
    ByteLock& operator=(ByteLock&& o) noexcept {
      std::swap(owner_, o.owner_);
      std::swap(file_, o.file_);
      std::swap(at_, o.at_);
      return *this;
    }
    ~ByteLock() {
      if (owner_ != nullptr) owner_->release(*file_, at_);
    }

   private:
    friend class DirLocks;
    ByteLock(DirLocks* owner, std::shared_ptr<File> file, std::int64_t at)
        : owner_(owner), file_(std::move(file)), at_(at) {}
    DirLocks* owner_ = nullptr;
    std::shared_ptr<File> file_;  ///< the one that is locked; the path may name another one by now
    std::int64_t at_ = 0;
  };

  /// Waits for the byte of `name`, against other processes and other threads of this one. The file
  /// that is locked is the one that the path names: should somebody have removed it, it is made
  /// anew.
  [[nodiscard]] Result<ByteLock> lock_byte(std::string_view name);

  [[nodiscard]] static std::int64_t byte_of(std::string_view name);
  [[nodiscard]] static std::string append_name(std::string_view topic, std::int32_t partition);

 private:
  [[nodiscard]] Result<void> open_bytes();
  [[nodiscard]] Result<bool> bytes_named();
  [[nodiscard]] Result<std::shared_ptr<File>> lock_named(std::string_view name, std::int64_t at);
  [[nodiscard]] Result<void> wait_for_server();
  [[nodiscard]] Result<void> take_directory();
  [[nodiscard]] Result<void> drop_clean_shutdown();
  [[nodiscard]] tl::unexpected<Error> owned_by(const LockHolder& holder) const;
  [[nodiscard]] bool gives_up() const { return give_up_ && give_up_(); }
  void end();
  void release(File& file, std::int64_t at);

  Fs& fs_;
  const std::string dir_;
  const std::uint32_t file_mode_;
  const std::function<bool()> give_up_;
  std::mutex mutex_;  ///< guards all below
  std::condition_variable freed_;
  std::unique_ptr<File> directory_lock_;
  std::shared_ptr<File> bytes_;
  FileStat bytes_stat_;
  std::set<std::int64_t> held_;  ///< bytes held by threads of this process
  int operations_ = 0;           ///< the shared lock is dropped with the last one
};

}  // namespace spool
