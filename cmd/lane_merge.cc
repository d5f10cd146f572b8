#include "lane_merge.h"

#include <algorithm>
#include <sys/resource.h>

#include "context.h"

namespace spool {

namespace {

/// Open partitions: each has a file, read-ahead and a batch in memory.
constexpr std::size_t kOpenMax = 512;
constexpr std::size_t kOpenBytesMax = std::size_t{12} << 20;

std::size_t open_max(std::size_t lanes) {
  rlimit files{};
  std::size_t most = kOpenMax;
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0)
    most = std::min<std::size_t>(most, std::max<std::size_t>(files.rlim_cur / 2, 1));
  return std::min(most, std::max<std::size_t>(lanes, 1));
}

}  // namespace

LaneMerge::LaneMerge(LaneContext& context, std::vector<Lane*> lanes, std::optional<RecordTime> cut)
    : context_(context), lanes_(std::move(lanes)), cut_(cut), open_max_(open_max(lanes_.size())) {}

void LaneMerge::close(Lane& lane) {
  const auto at =
      std::find_if(open_.rbegin(), open_.rend(), [&](const Open& o) { return o.lane == &lane; });
  if (at == open_.rend()) return;
  open_bytes_ -= at->bytes;
  open_.erase(std::next(at).base());
  lane.stream.reset();
}

/// Notes that a lane was used, and what it takes by now.
void LaneMerge::touch(Lane& lane) {
  const std::size_t bytes =
      context_.stream_options(open_max_).chunk_bytes +
      static_cast<std::size_t>(std::max<std::int64_t>(lane.stream->batch().size(), 0));
  if (open_.empty() || open_.back().lane != &lane) {
    const auto at =
        std::find_if(open_.rbegin(), open_.rend(), [&](const Open& o) { return o.lane == &lane; });
    if (at == open_.rend()) {
      open_.push_back({&lane, 0});
    } else {
      open_.splice(open_.end(), open_, std::next(at).base());
    }
  }
  open_bytes_ += bytes - open_.back().bytes;
  open_.back().bytes = bytes;
  make_room();
}

/// Closes those that were not used for the longest time; they are opened again at their record.
void LaneMerge::make_room() {
  while (open_.size() > 1 && (open_.size() > open_max_ || open_bytes_ > kOpenBytesMax)) {
    open_bytes_ -= open_.front().bytes;
    open_.front().lane->stream.reset();
    open_.pop_front();
  }
}

/// Takes the lane's next record that is wanted among the heads.
Result<void> LaneMerge::push_next(Lane& lane) {
  for (;;) {
    TRY_ASSIGN(const bool got, lane.advance(context_));
    if (!got) {
      lane.start = std::min(lane.stream->position(), lane.limit());  // it may have met a later one
      close(lane);
      lane.stream.reset();
      return {};
    }
    if (!cut_ || lane.at() >= *cut_) break;
    TRY(context_.env.go_on());
  }
  heads_.push({lane.at(), &lane});
  touch(lane);
  return {};
}

/// Sees that the lane's stream stands at the head's record; false when that has gone.
Result<bool> LaneMerge::bring_up(const Head& head) {
  Lane& lane = *head.lane;
  if (!lane.stream) {
    lane.open(context_, head.record.offset, open_max_);
    TRY_ASSIGN(const bool got, lane.advance(context_));
    if (!got) {
      lane.stream.reset();
      return false;
    }
    if (lane.at() != head.record) {  // it was deleted meanwhile: this one has its own turn
      heads_.push({lane.at(), &lane});
      touch(lane);
      return false;
    }
  }
  touch(lane);
  return true;
}

Result<Lane*> LaneMerge::next() {
  if (!started_) {
    started_ = true;
    for (Lane* lane : lanes_) {
      lane->open(context_, lane->start, open_max_);
      TRY(push_next(*lane));
    }
  }
  if (current_ != nullptr) TRY(push_next(*std::exchange(current_, nullptr)));
  while (!heads_.empty()) {
    const Head head = heads_.top();
    heads_.pop();
    TRY_ASSIGN(const bool there, bring_up(head));
    if (!there) continue;
    current_ = head.lane;
    return current_;
  }
  return static_cast<Lane*>(nullptr);
}

}  // namespace spool
