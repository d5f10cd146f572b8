#include "io/range_locks.h"

#include <xxhash.h>

namespace spool {

namespace {

constexpr const char* kLocksFile = "spool.locks";

/// Halves the range until single bytes are left that somebody holds.
Result<void> find_held(File& file, std::int64_t base, std::int64_t at, std::int64_t length,
                       std::vector<std::int32_t>& out) {
  // A shared lock is what meets an exclusive one, and needs no permission to write.
  TRY_ASSIGN(const auto holder, file.lock_holder(LockKind::kShared, at, length));
  if (!holder) return {};
  if (length == 1) {
    out.push_back(static_cast<std::int32_t>(at - base));
    return {};
  }
  TRY(find_held(file, base, at, length / 2, out));
  return find_held(file, base, at + length / 2, length - length / 2, out);
}

}  // namespace

std::int64_t RangeLocks::base_of(std::string_view name, unsigned bits) {
  const std::uint64_t hash = XXH3_64bits(name.data(), name.size());
  return static_cast<std::int64_t>((hash & 0x7fffffffffffffffU) >> bits << bits);
}

Result<File*> RangeLocks::file() {
  if (!file_) {
    TRY_ASSIGN(auto opened, fs_.open(join_path(dir_, kLocksFile), OpenMode::kCreate, file_mode_));
    TRY_ASSIGN(stat_, opened->stat());
    file_ = std::move(opened);
  }
  return file_.get();
}

Result<bool> RangeLocks::named() {
  const std::lock_guard guard(mutex_);
  TRY(file());
  const auto there = fs_.stat(join_path(dir_, kLocksFile));
  if (there) return there->same_file(stat_);
  if (there.error().code == Errc::kNotFound) return false;
  return fail(there.error());
}

Result<bool> RangeLocks::try_lock(std::int64_t at) {
  const std::lock_guard guard(mutex_);
  if (held_.contains(at)) return true;
  TRY_ASSIGN(File* const open, file());
  TRY_ASSIGN(const bool got, open->try_lock(LockKind::kExclusive, at, 1));
  if (got) held_.insert(at);
  return got;
}

void RangeLocks::unlock(std::int64_t at) {
  const std::lock_guard guard(mutex_);
  if (held_.erase(at) == 0) return;
  (void)file_->unlock(at, 1);  // cannot fail on a byte that we hold
}

bool RangeLocks::holds(std::int64_t at) const {
  const std::lock_guard guard(mutex_);
  return held_.contains(at);
}

Result<bool> RangeLocks::others_in(std::int64_t at, std::int64_t length) {
  const std::lock_guard guard(mutex_);
  TRY_ASSIGN(File* const open, file());
  TRY_ASSIGN(const auto holder, open->lock_holder(LockKind::kShared, at, length));
  return holder.has_value();
}

Result<std::vector<std::int32_t>> RangeLocks::held_by_others(std::int64_t at, std::int64_t length) {
  const std::lock_guard guard(mutex_);
  std::vector<std::int32_t> out;
  TRY_ASSIGN(File* const open, file());
  TRY(find_held(*open, at, at, length, out));
  return out;
}

Result<std::vector<std::int32_t>> RangeView::held(std::int64_t at, std::int64_t length) {
  std::vector<std::int32_t> out;
  if (!file_) {
    auto opened = fs_.open(join_path(dir_, kLocksFile), OpenMode::kRead, 0);
    if (!opened && opened.error().code == Errc::kNotFound) return out;
    if (!opened) return fail(opened.error());
    file_ = std::move(*opened);
  }
  TRY(find_held(*file_, at, at, length, out));
  return out;
}

}  // namespace spool
