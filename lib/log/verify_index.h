#pragma once
/// Holds the index files of a segment against its batches, which pass by in order.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "io/fs.h"
#include "log/finding.h"
#include "log/index_file.h"
#include "record/batch.h"

namespace spool {

/// A batch as the indexes see it.
struct IndexedBatch {
  const BatchHeader& header;
  std::int64_t position = 0;
  std::optional<std::int16_t> control;  ///< type of a control batch that has a record
};

/// Entries of one size, read forward; as many as there were when it was opened. Not thread-safe.
class EntryStream {
 public:
  /// A missing file has no entries.
  [[nodiscard]] static Result<EntryStream> open(Fs& fs, const std::string& path,
                                                std::int64_t entry_bytes,
                                                std::vector<Finding>& findings);
  /// The entry at position(), or nullptr at the end: of the file, or where zeros begin that a
  /// broker preallocated. Valid until the next call.
  [[nodiscard]] Result<const std::byte*> peek(std::vector<Finding>& findings);
  /// The entry behind the one that peek() gave, or nullptr.
  [[nodiscard]] const std::byte* behind() const;
  void pop() { at_ += entry_bytes_; }

  [[nodiscard]] std::int64_t position() const { return at_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] std::int64_t entries_left() const { return (size_ - at_) / entry_bytes_; }

 private:
  [[nodiscard]] Result<void> fill();
  [[nodiscard]] Result<void> check_zeros(std::vector<Finding>& findings);

  std::unique_ptr<File> file_;
  std::string path_;
  std::int64_t entry_bytes_ = 1;
  std::int64_t size_ = 0;
  std::int64_t at_ = 0;
  bool ended_ = false;
  Buffer buffer_;
  std::int64_t buffer_at_ = 0;
};

/// The three index files of a segment. Not thread-safe.
class IndexChecks {
 public:
  /// Opens what is there. To be called before the log is measured, so that entries of batches that
  /// come meanwhile are not met. `ours`: one entry speaks of one batch; older brokers had entries
  /// for sets of several.
  [[nodiscard]] static Result<IndexChecks> open(Fs& fs, const std::string& dir, Offset base,
                                                bool ours);
  /// The next whole batch.
  [[nodiscard]] Result<void> note(const IndexedBatch& batch);
  /// Between two batches there are bytes that do not read: entries that point there are not judged.
  void note_damage(std::int64_t from, std::int64_t to, Offset first, Offset behind);
  /// Compaction was here: entries of aborted transactions outlive what they speak of.
  void note_compacted() { compacted_ = true; }
  /// The log ends here. `grown`: more was written since. `may_lead`: entries that point behind the
  /// end are no damage.
  [[nodiscard]] Result<std::vector<Finding>> finish(std::int64_t log_size, Offset log_end,
                                                    bool grown, bool may_lead);
  [[nodiscard]] std::int64_t bytes() const {
    return offsets_.size() + times_.size() + aborted_.size();
  }

 private:
  [[nodiscard]] Result<void> note_offset(const IndexedBatch& batch);
  [[nodiscard]] Result<void> note_time(const IndexedBatch& batch);
  [[nodiscard]] Result<void> note_transaction(const IndexedBatch& batch);
  [[nodiscard]] Result<void> note_abort(const BatchHeader& marker, std::optional<Offset> first);
  [[nodiscard]] std::string aborted_flaw(const std::byte* entry, const BatchHeader& marker,
                                         std::optional<Offset> first) const;
  void load_open_transactions(Fs& fs, const std::string& dir);
  void bad(const EntryStream& in, Offset offset, std::string what);
  void leads(const EntryStream& in, Offset offset, bool may_lead);

  Offset base_;
  bool ours_ = false;
  bool compacted_ = false;
  EntryStream offsets_;
  EntryStream times_;
  EntryStream aborted_;
  TimestampMs max_timestamp_ = kNoTimestamp;
  std::int64_t damage_from_ = -1;
  std::int64_t damage_to_ = -1;
  Offset damage_first_{-1};
  Offset damage_behind_{-1};
  bool open_known_ = false;              ///< whether open_ has what began in earlier segments
  std::map<std::int64_t, Offset> open_;  ///< producer id -> first offset of its transaction
  /// Entries that would do for a set of batches. One alone is damage; several are an older broker.
  std::vector<Finding> sets_;
  std::vector<Finding> findings_;
};

}  // namespace spool
