#include "io/read_ahead.h"

#include <cstring>

namespace spool {

void ReadAhead::wait() {
  std::unique_lock guard(mutex_);
  done_.wait(guard, [&] { return !under_way_; });
}

void ReadAhead::start(std::int64_t at, std::size_t room, std::size_t bytes) {
  wait();
  started_ = true;
  at_ = at;
  room_ = room;
  buffer_.reserve(room + bytes);
  buffer_.resize(room + bytes);
  under_way_ = true;
  executor_.run([this] {
    const auto got = file_->read_at(buffer_.mutable_bytes().subspan(room_), at_);
    got_ = got ? *got : 0;
    // Told with the lock held: the user may destroy this as soon as it sees it.
    const std::lock_guard guard(mutex_);
    under_way_ = false;
    done_.notify_one();
  });
}

bool ReadAhead::take(std::int64_t at, Bytes before, Buffer& into, std::size_t& used) {
  if (!started_) return false;
  wait();
  started_ = false;
  if (at != at_ || before.size() > room_ || got_ == 0) return false;
  used = room_ - before.size();
  if (!before.empty()) std::memcpy(buffer_.data() + used, before.data(), before.size());
  buffer_.resize(room_ + got_);
  std::swap(buffer_, into);
  return true;
}

}  // namespace spool
