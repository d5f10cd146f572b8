#pragma once
/// The records of a partition from an offset on, one by one: what a consumer sees. Batches are
/// decompressed, aborted transactions and markers left out.

#include <optional>
#include <vector>

#include "log/cursor.h"
#include "log/transactions.h"
#include "record/batch.h"

namespace spool {

/// Not thread-safe; takes no lock.
class RecordStream {
 public:
  struct Options {
    bool read_committed = true;
    bool control = false;  ///< markers are records too
    std::size_t chunk_bytes = std::size_t{1} << 18;
    Executor* executor = nullptr;  ///< reads ahead; must outlive the stream
  };
  RecordStream(const LogEnv& env, const PartitionPlace& place, Offset from, const Options& options);

  enum class Step {
    kRecord,     ///< record() is the next one
    kEnd,        ///< nothing more for now
    kUndecided,  ///< a transaction without an end begins at position(): nothing more until it has
                 ///< one
  };
  /// Errc::kCorrupt at damage, of the log or of a batch's content: skip_damage() goes on behind it.
  /// Errc::kDeleted.
  [[nodiscard]] Result<Step> next();

  /// What is left of the records of the batch at hand, for callers that want all of them and
  /// nothing but their values; or nullptr. next() goes on behind it, and finds what was malformed
  /// in it.
  [[nodiscard]] RecordIterator* rest_of_batch() { return records_ ? &*records_ : nullptr; }

  /// Whether the records of the batch at hand are all given out.
  [[nodiscard]] bool between_batches() const { return !records_ || records_->left() == 0; }
  /// Between batches: gives file and memory back until the next call of next().
  void park();

  /// Valid until the next call.
  [[nodiscard]] const RecordView& record() const { return *record_; }
  [[nodiscard]] const BatchHeader& batch() const { return cursor_.batch().header; }
  /// Everything below was given out or left out.
  [[nodiscard]] Offset position() const { return position_; }
  void skip_damage();
  /// As Cursor::ended_unrecovered().
  [[nodiscard]] bool ended_unrecovered() const { return cursor_.ended_unrecovered(); }
  [[nodiscard]] std::int64_t take_gone() { return cursor_.take_gone(); }
  /// Bytes of batches read so far.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  [[nodiscard]] Result<std::optional<Step>> open_batch();
  [[nodiscard]] tl::unexpected<Error> bad_content(const Error& why);

  const Options options_;
  Cursor cursor_;
  TransactionFilter filter_;
  Decompressor decompressor_;
  Buffer scratch_;
  std::optional<RecordIterator> records_;
  const RecordView* record_ = nullptr;
  Offset position_;
  bool held_ = false;         ///< the cursor's batch is undecided and still to be given out
  bool bad_content_ = false;  ///< the damage is within a batch, which the cursor has passed
  std::int64_t bytes_ = 0;
};

}  // namespace spool
