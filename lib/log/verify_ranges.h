#pragma once
/// What takes the time of a check, the bytes and records of one batch after the other, done for
/// pieces of a segment on several threads. The caller still gets the batches in their order, and
/// judges where they stand.

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/helpers.h"
#include "base/result.h"
#include "io/fs.h"
#include "record/batch.h"

namespace spool {

/// A whole batch, and what its records are like.
struct CheckedBatch {
  BatchHeader header;
  std::int64_t position = 0;
  std::optional<std::int16_t> control;  ///< type of a control batch that has a record
};

/// Whole batches in a row; `end` is behind the last one. What follows there, up to the next range,
/// is not whole.
struct CheckedRange {
  std::int64_t from = 0;
  std::int64_t end = 0;
  std::vector<CheckedBatch> batches;
  /// By the number of the batch in `batches`; few.
  std::vector<std::pair<std::size_t, std::string>> flaws;
};

/// What is in the records of a batch, with `flaw` for what is wrong.
[[nodiscard]] CheckedBatch check_records(const BatchView& batch, std::int64_t position,
                                         Decompressor& decompressor, Buffer& scratch,
                                         std::string& flaw);

/// The ranges of one segment. take() is for one thread, help() for any.
class RangeChecks : public SharedWork {
 public:
  /// Cuts the first `limit` bytes of a log where its index says that batches begin. The index is
  /// not believed: a range that does not begin where the one before ended is not used. `ahead`
  /// ranges at most are checked and not yet taken.
  RangeChecks(std::shared_ptr<File> log, const std::vector<std::int64_t>& starts,
              std::int64_t limit, std::size_t ahead);
  ~RangeChecks() override;

  /// The range that begins at `position`, or nullopt; each is given once, and those in front of it
  /// not any more. Checks ranges itself, unless others are at it.
  [[nodiscard]] Result<std::optional<CheckedRange>> take(std::int64_t position);
  bool help() override;

  /// Where batches begin by the index, about every kRangeBytes of the first `limit` bytes.
  [[nodiscard]] static Result<std::vector<std::int64_t>> starts(Fs& fs, const std::string& index,
                                                                std::int64_t limit);
  static constexpr std::int64_t kRangeBytes = std::int64_t{2} << 20;

 private:
  struct Workspace;
  struct Range {
    enum class State { kOpen, kTaken, kDone } state = State::kOpen;
    std::int64_t until = 0;
    CheckedRange checked;
    std::optional<Error> error;
  };

  [[nodiscard]] std::optional<std::size_t> claim();
  void check(std::size_t i, std::unique_lock<std::mutex>& guard);
  [[nodiscard]] static Result<void> check_range(Range& range, Workspace& space);

  const std::shared_ptr<File> log_;
  const std::size_t ahead_;
  std::mutex mutex_;  ///< guards all below, but for a range that is kTaken
  std::condition_variable done_;
  std::vector<Range> ranges_;
  std::size_t next_ = 0;  ///< the first that take() may still give
  std::vector<std::unique_ptr<Workspace>> idle_;
};

}  // namespace spool
