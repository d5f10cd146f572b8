#pragma once
/// Reads a .log file forward, batch by batch, each one checked; and finds what is whole behind
/// damage.

#include <cstdint>
#include <memory>
#include <optional>

#include "base/buffer.h"
#include "base/result.h"
#include "io/fs.h"
#include "io/read_ahead.h"
#include "record/batch.h"

namespace spool {

/// Not thread-safe. Works on a file that others append to: what was not there yet is looked for
/// again by the next call.
class BatchReader {
 public:
  enum class Item {
    kBatch,    ///< view() is a whole batch
    kEnd,      ///< the file ends here
    kPartial,  ///< bytes that may become a batch, and no more: the file ends within them
    kBad,      ///< no batch begins here
  };

  /// `executor`, which must outlive this, reads ahead where much is read in a row.
  BatchReader(std::shared_ptr<File> file, std::int64_t position, std::size_t chunk_bytes,
              Executor* executor = nullptr)
      : file_(std::move(file)),
        chunk_bytes_(chunk_bytes),
        executor_(executor),
        position_(position) {}

  /// Looks at position(); on kBatch moves behind it, otherwise stays.
  [[nodiscard]] Result<Item> next();
  /// The batch of the last next(); valid until the next call of anything here.
  [[nodiscard]] const BatchView& view() const { return view_; }
  /// Where view() begins in the file.
  [[nodiscard]] std::int64_t batch_position() const { return position_ - view_.header.size(); }
  [[nodiscard]] std::int64_t position() const { return position_; }
  /// Gives the memory back; the header of view() stays.
  void release();
  /// Goes on at `position`, and forgets what was read ahead.
  void seek(std::int64_t position);
  [[nodiscard]] File& file() { return *file_; }

 private:
  [[nodiscard]] Bytes ahead() const { return buffer_.bytes().subspan(used_); }
  /// Makes ahead() at least `want` bytes where the file has them.
  [[nodiscard]] Result<void> fill(std::size_t want);
  void read_ahead();
  void drop();

  std::shared_ptr<File> file_;
  std::size_t chunk_bytes_;
  Executor* executor_;
  std::int64_t position_;  ///< in the file, of ahead()
  Buffer buffer_;
  std::size_t used_ = 0;
  int chunks_in_a_row_ = 0;
  std::unique_ptr<ReadAhead> ahead_;
  BatchView view_;
};

struct FoundBatch {
  std::int64_t position = 0;
  BatchHeader header;
};

/// The first whole, CRC-valid batch that begins at or behind `from`, with a base offset of at least
/// `offset_min`; in a dense log also no more than the bytes skipped could have held, so that a
/// batch stored inside a record is not taken for one of the log. nullopt when there is none.
[[nodiscard]] Result<std::optional<FoundBatch>> find_whole_batch(File& file, std::int64_t from,
                                                                 Offset offset_min, bool dense);

}  // namespace spool
