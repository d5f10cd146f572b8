#pragma once
/// When what was printed counts as consumed: the rules of --commit, and the thread that commits.
///
/// Each printed record leaves a mark: its partition, the offset behind it, and the place in the
/// output where it ends. A mark counts when its bytes are with the reader:
///   file, terminal, socket   write(2) has taken them
///   pipe                     and nobody can find them in it any more: FIONREAD on the write end
///                            says how many bytes wait for the reader, after he closed too
/// So a commit never names a record of which a byte is still on its way.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "output.h"

namespace spool {

enum class CommitRule : std::uint8_t {
  kWritten,  ///< as above, every 100 ms and at the end
  kEnd,      ///< when all is printed
  kNever,
  kReported,  ///< what done() names: --exec and --ack-fd
};

/// How far standard output is with its reader.
class Delivery {
 public:
  explicit Delivery(const Output& output);

  [[nodiscard]] bool is_pipe() const { return is_pipe_; }
  /// Bytes of the output, from its start, that are with the reader. Never too many. Any thread.
  [[nodiscard]] std::int64_t taken() const;
  /// Whether the reader of the pipe is gone.
  [[nodiscard]] bool reader_gone() const;

 private:
  const Output& output_;
  bool is_pipe_ = false;
};

struct LaneCommit {
  int lane = 0;
  Offset next;  ///< everything below is consumed
};

/// mark(), publish() and the rest are for one thread, which reads and prints; a second one, started
/// by start(), commits every 100 ms.
class Committer {
 public:
  /// Commits; called by either thread, never at the same time.
  using Commit = std::function<Result<void>(const std::vector<LaneCommit>&)>;

  Committer(CommitRule rule, const Delivery& delivery, Commit commit);
  ~Committer();
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  void start();
  /// Lanes count from 0 in the order of their first mark() or done().

  /// The lane's records below `next` are all in the first `end` bytes of the output.
  void mark(int lane, Offset next, std::int64_t end) {
    // Nothing was printed between: dropped by a filter, or a marker. And what goes to a file goes
    // by the bufferful, so that only the last mark of one ever decides.
    if (!fresh_.empty() && fresh_.back().lane == lane &&
        (fresh_.back().end == end || !delivery_.is_pipe())) {
      fresh_.back().next = next;
      fresh_.back().end = end;
      return;
    }
    fresh_.push_back({end, next, lane});
  }
  /// Shows the marks to the other thread. REQUIRED before their bytes are handed to the output, and
  /// often, for they take memory.
  void publish();
  [[nodiscard]] bool crowded() const { return fresh_.size() >= kFreshMax; }
  /// Under kReported: everything below `next` is done.
  void done(int lane, Offset next);

  /// Commits now what counts by now. Under kEnd nothing, unless `all` says that this is the end.
  [[nodiscard]] Result<void> commit_now(bool all = false);
  /// Whether a commit that is not urgent may be made now: not sooner than 100 ms after another.
  [[nodiscard]] bool due();
  /// Whether everything that was marked or done for the lane is committed.
  [[nodiscard]] bool settled(int lane);
  /// Under kEnd: this lane is committed before the end, for somebody else goes on with it.
  void end_lane(int lane);
  /// Forgets what was not committed of a lane.
  void drop(int lane);
  /// Records whose bytes are not with the reader.
  [[nodiscard]] std::int64_t untaken();
  /// Why committing failed, once it has; nothing is committed after that.
  [[nodiscard]] std::optional<Error> failure();
  /// Called by the committing thread about every 100 ms.
  std::function<void()> on_tick;

  void stop();

  static constexpr int kTickMs = 100;
  static constexpr int kPipeTickMs = 10;  ///< while a reader has to take what was printed

 private:
  static constexpr std::size_t kFreshMax = 4096;
  struct Mark {
    std::int64_t end;
    Offset next;
    int lane;
  };
  struct Lane {
    Offset ready{-1};      ///< may be committed
    Offset committed{-1};  ///< was
    Offset marked{-1};     ///< the greatest mark
    bool ends = false;
  };
  void run();
  void fold();
  [[nodiscard]] Lane& lane(int number);
  [[nodiscard]] Result<void> commit(std::unique_lock<std::mutex>& guard, bool all);

  const CommitRule rule_;
  const Delivery& delivery_;
  const Commit commit_;
  std::vector<Mark> fresh_;  ///< of the printing thread alone

  std::mutex committing_;  ///< held during a commit; taken before mutex_
  std::mutex mutex_;       ///< guards all below
  std::condition_variable wake_;
  std::deque<Mark> marks_;
  std::vector<Lane> lanes_;
  std::optional<Error> failure_;
  std::chrono::steady_clock::time_point committed_at_{};
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace spool
