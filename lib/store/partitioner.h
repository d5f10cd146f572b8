#pragma once
/// Which partition a record goes to. The same key must land where the producer's other clients put
/// it, so the hashes are theirs:
///
///   murmur2  (murmur2(key) & 0x7fffffff) mod n; Java, franz-go, kafka-python
///   crc32    CRC-32 (zlib's polynomial) mod n; librdkafka and its bindings, where an empty key
///            counts as none
///   xxh3     XXH3, 64 bits, mod n; no other client's default, but fast and even
///   sticky   one partition until batch_done(), then another one at random
///   rr       the next partition for each record
///   random   any partition for each record
///
/// The last three ignore keys; the first three are sticky for records without a key.

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/ids.h"

namespace spool {

enum class PartitionerKind : std::uint8_t {
  kMurmur2,
  kCrc32,
  kXxh3,
  kRoundRobin,
  kSticky,
  kRandom
};

/// The name that the command line has for it, and back; nullopt for an unknown name.
[[nodiscard]] std::string_view partitioner_name(PartitionerKind kind);
[[nodiscard]] std::optional<PartitionerKind> partitioner_from_name(std::string_view name);

/// MurmurHash2, 32 bits, with the seed of Kafka's clients.
[[nodiscard]] std::uint32_t murmur2(std::string_view key);

/// Not thread-safe. Nothing fails and nothing allocates.
class Partitioner {
 public:
  /// `partition_count` is at least 1. Equal seeds give equal choices; where sticky, random and rr
  /// start depends on the seed, so that many short-lived producers do not all start at partition 0.
  Partitioner(PartitionerKind kind, std::int32_t partition_count, std::uint64_t seed);

  /// The partition for the next record; nullopt = null key.
  [[nodiscard]] PartitionId choose(const std::optional<std::string_view>& key) {
    switch (kind_) {
      case PartitionerKind::kMurmur2:
      case PartitionerKind::kXxh3:
        return PartitionId(key ? by_hash(*key) : current_);
      case PartitionerKind::kCrc32:
        return PartitionId(key && !key->empty() ? by_hash(*key) : current_);
      case PartitionerKind::kRoundRobin:
        current_ = current_ + 1 < count_ ? current_ + 1 : 0;
        break;
      case PartitionerKind::kRandom:
        current_ = below(count_);
        break;
      case PartitionerKind::kSticky:
        break;
    }
    return PartitionId(current_);
  }

  /// A batch's worth of records went out: records without a key move to another partition.
  void batch_done();

 private:
  [[nodiscard]] std::int32_t by_hash(std::string_view key) const;
  [[nodiscard]] std::int32_t below(std::int32_t end);

  PartitionerKind kind_;
  std::int32_t count_;
  std::int32_t current_;
  std::uint64_t random_;
};

}  // namespace spool
