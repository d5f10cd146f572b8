#pragma once
/// What `replay --resume FILE` remembers. Text:
///
///   spool replay 1
///   source TOPIC ID PARTITION PRODUCER OFFSET     all below OFFSET is in the target
///   target TOPIC ID keep|hash PARTITIONS          by which rule records found their partition
///   end TOPIC PARTITION OFFSET                    of the target, when OFFSETs above held
///   count N                                       records replayed, but for those behind ends
///   xxh3 HEX
///
/// An ID is `-` where a topic has none. Replaced as a whole, and only when all that it speaks of is
/// on disk. What a run appended after that is found in the target itself: each of its batches holds
/// records of one source partition only, and its header says which, by the producer id, and up to
/// which offset, by the last sequence, which is that offset modulo 2^31. So nothing has to happen
/// at the same time as an append, and other writers may append between.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/uuid.h"
#include "io/fs.h"

namespace spool {

struct ReplayProgress {
  struct Source {
    std::string topic;
    std::optional<Uuid> id;
    PartitionId partition;
    std::int64_t producer_id = -1;
    Offset next;
  };
  struct Target {
    std::string topic;
    std::optional<Uuid> id;
    bool keep = false;
    std::int32_t partitions = 0;
  };
  struct End {
    std::string topic;
    PartitionId partition;
    Offset offset;
  };
  std::vector<Source> sources;
  std::vector<Target> targets;
  std::vector<End> ends;
  std::int64_t count = 0;

  [[nodiscard]] Source* source(std::string_view topic, PartitionId partition);
  [[nodiscard]] Target* target(std::string_view topic);
  [[nodiscard]] End* end(std::string_view topic, PartitionId partition);
};

/// nullopt when the file is missing or empty. Errc::kConflict for any other file.
[[nodiscard]] Result<std::optional<ReplayProgress>> load_progress(Fs& fs, const std::string& path);
/// Durable on return.
[[nodiscard]] Result<void> save_progress(Fs& fs, const std::string& path,
                                         const ReplayProgress& progress);

[[nodiscard]] std::string format_progress(const ReplayProgress& progress);
[[nodiscard]] Result<ReplayProgress> parse_progress(std::string_view text, const std::string& path);

/// The last sequence of a batch whose last record had this offset; and the way back, to the one
/// that is nearest to `near`: it must be less than 2^30 away.
[[nodiscard]] std::int32_t sequence_of(Offset offset);
[[nodiscard]] Offset offset_of(std::int32_t sequence, Offset near);
inline constexpr std::int64_t kSequenceReach = std::int64_t{1} << 30;

}  // namespace spool
