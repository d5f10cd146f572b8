#pragma once
/// The state of producers, worked out from the log itself: what a `.snapshot` holds, and which
/// transactions were aborted.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "log/place.h"
#include "log/segment.h"
#include "record/batch.h"

namespace spool {

/// The newest batch of one producer, as a snapshot has it: 46 bytes.
struct ProducerEntry {
  std::int16_t epoch = -1;
  std::int32_t last_sequence = -1;
  Offset last_offset{-1};
  std::int32_t offset_delta = 0;
  TimestampMs timestamp = kNoTimestamp;
  std::int32_t coordinator_epoch = -1;
  Offset first_offset{-1};  ///< of its open transaction; -1: none
};

/// An aborted transaction, as `.txnindex` has it: 34 bytes.
struct AbortedEntry {
  std::int64_t producer_id = -1;
  Offset first;
  Offset last;         ///< of the marker
  Offset last_stable;  ///< behind it
};

/// Not thread-safe.
class ProducerReplay {
 public:
  /// The next batch in offset order; gives the transaction that it aborts, if it does.
  [[nodiscard]] std::optional<AbortedEntry> note(const BatchView& batch);
  /// Begins with what a snapshot's bytes say. Errc::kCorrupt.
  [[nodiscard]] Result<void> load(std::string_view snapshot, const std::string& path);
  /// The bytes of a snapshot of what was noted.
  [[nodiscard]] std::string snapshot() const;
  [[nodiscard]] const std::map<std::int64_t, ProducerEntry>& producers() const {
    return producers_;
  }

 private:
  std::map<std::int64_t, ProducerEntry> producers_;
};

/// The replay of a partition up to `upto`, from the newest valid snapshot below it, else from the
/// start. Damage in the log is passed over.
[[nodiscard]] Result<ProducerReplay> replay_producers(const LogEnv& env,
                                                      const PartitionPlace& place,
                                                      const PartitionFiles& files, Offset upto);

[[nodiscard]] std::string encode_aborted(const std::vector<AbortedEntry>& entries);

}  // namespace spool
