#pragma once
/// A file system whose Nth call of a kind fails. What fails is told by the test; everything else
/// goes to the real one, so that what is left can be looked at with the real one too.

#include <cerrno>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "support/pass_fs.h"

namespace spool::test {

enum class Call { kWrite, kShortWrite, kSync, kCreate, kRename, kTruncate, kSyncDir, kUnlink };

inline const char* call_name(Call c) {
  constexpr const char* kNames[] = {"write",  "short write", "sync",     "create",
                                    "rename", "truncate",    "sync_dir", "unlink"};
  return kNames[static_cast<int>(c)];
}

/// Thread-safe. Without a plan nothing fails.
class FaultFs final : public PassFs {
 public:
  struct Plan {
    Call call = Call::kWrite;
    int nth = 1;  ///< the first one that fails, from 1
    int sys_errno = EIO;
    bool sticky = false;  ///< all after it fail too
    std::string only;     ///< files whose path ends so; empty: all
  };

  explicit FaultFs(Fs& inner = fast_fs()) : PassFs(inner) {}

  void plan(const Plan& p) {
    const std::lock_guard guard(mutex_);
    plan_ = p;
    armed_ = true;
    seen_ = fired_ = 0;
  }
  void heal() {
    const std::lock_guard guard(mutex_);
    armed_ = false;
  }
  [[nodiscard]] int fired() const {
    const std::lock_guard guard(mutex_);
    return fired_;
  }

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode how,
                                     std::uint32_t mode) override {
    if (how == OpenMode::kReplace || (how == OpenMode::kCreate && !inner_.stat(path)))
      TRY(fault(Call::kCreate, path));
    TRY_ASSIGN(auto file, inner_.open(path, how, mode));
    return std::unique_ptr<File>(new FaultFile(*this, std::move(file), path));
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    TRY(fault(Call::kRename, to));
    return inner_.rename(from, to);
  }
  Result<void> unlink(const std::string& path) override {
    TRY(fault(Call::kUnlink, path));
    return inner_.unlink(path);
  }
  Result<void> sync_dir(const std::string& path) override {
    TRY(fault(Call::kSyncDir, path));
    return inner_.sync_dir(path);
  }

 private:
  class FaultFile final : public PassFile {
   public:
    FaultFile(FaultFs& fs, std::unique_ptr<File> inner, std::string path)
        : PassFile(std::move(inner)), fs_(fs), path_(std::move(path)) {}
    Result<void> write_at(Bytes data, std::int64_t at) override {
      TRY(fs_.fault(Call::kWrite, path_));
      if (auto bad = fs_.fault(Call::kShortWrite, path_); !bad) {
        TRY(inner_->write_at(data.first(data.size() / 2), at));
        return bad;
      }
      return inner_->write_at(data, at);
    }
    Result<void> sync() override {
      TRY(fs_.fault(Call::kSync, path_));
      return inner_->sync();
    }
    Result<void> truncate(std::int64_t size) override {
      TRY(fs_.fault(Call::kTruncate, path_));
      return inner_->truncate(size);
    }

   private:
    FaultFs& fs_;
    std::string path_;
  };

  Result<void> fault(Call call, const std::string& path) {
    const std::lock_guard guard(mutex_);
    if (!armed_ || call != plan_.call || !path.ends_with(plan_.only)) return {};
    ++seen_;
    if (plan_.sticky ? seen_ < plan_.nth : seen_ != plan_.nth) return {};
    ++fired_;
    return fail(system_error(plan_.sys_errno, std::string("a planned fault: ") + call_name(call) +
                                                  " of '" + path + "'"));
  }

  mutable std::mutex mutex_;
  Plan plan_;
  bool armed_ = false;
  int seen_ = 0;
  int fired_ = 0;
};

}  // namespace spool::test
