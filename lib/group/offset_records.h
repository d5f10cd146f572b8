#pragma once
/// The records of `__consumer_offsets`: committed offsets and what a group is, in Kafka's schemas.
///
/// A key is int16 type, then fields; a value is int16 version, then fields; integers are big
/// endian. A null value is a tombstone. A string has an int16 length, bytes an int32 length, an
/// array an int32 count; -1 is null.
///
///   key type 0, 1   group, topic, int32 partition: a committed offset
///     value 0-4     int64 offset | 3+ int32 leader epoch | string metadata | int64 commit time |
///                   1 only: int64 expire time
///   key type 2      group: a group of the classic protocol
///     value 0-4     protocol type, int32 generation, protocol or null, leader or null,
///                   2+ int64 time of the state, members: id, 3+ instance id or null, client id,
///                   host, 1+ int32 rebalance timeout, int32 session timeout,
///                   bytes subscription, bytes assignment
///   key type 3      group: a group of the newer protocol; value 0: int32 epoch
///   others          skipped; all that are known begin with the group
///
/// Version 4 of both is flexible: lengths are uvarints of length + 1, and tagged fields end each
/// struct; tag 0 of an offset is the topic's id. A 4.3 broker writes version 4 of an offset where a
/// client committed by topic id, and version 3 of everything else.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace spool {

inline constexpr std::string_view kOffsetsTopic = "__consumer_offsets";
/// A string of the classic encoding has at most so many bytes.
inline constexpr std::size_t kClassicStringMax = 32767;

enum class OffsetsKeyKind : std::uint8_t {
  kOffset,         ///< key types 0 and 1
  kGroup,          ///< key type 2
  kConsumerGroup,  ///< key type 3, KIP-848
  kOther,          ///< known or not, without a meaning here
};

/// Borrows the key it was decoded from.
struct OffsetsKey {
  OffsetsKeyKind kind = OffsetsKeyKind::kOther;
  std::int16_t type = -1;
  std::string_view group;  ///< of kOther: empty when it does not begin with a string
  std::string_view topic;  ///< of kOffset
  PartitionId partition;   ///< of kOffset
};

struct OffsetValue {
  Offset offset;
  Epoch leader_epoch{-1};
  std::string metadata;
  TimestampMs commit_time;
  TimestampMs expire_time = kNoTimestamp;  ///< version 1 only
  std::string topic_id;                    ///< version 4 only: 16 bytes, or empty
  bool operator==(const OffsetValue&) const = default;
};

struct GroupMemberValue {
  std::string member_id;
  std::optional<std::string> instance_id;
  std::string client_id;
  std::string client_host;
  std::int32_t rebalance_timeout_ms = -1;
  std::int32_t session_timeout_ms = 0;
  std::string subscription;  ///< bytes of the protocol
  std::string assignment;
  bool operator==(const GroupMemberValue&) const = default;
};

struct GroupValue {
  std::string protocol_type;
  std::int32_t generation = 0;
  std::optional<std::string> protocol;
  std::optional<std::string> leader;
  TimestampMs state_time = kNoTimestamp;
  std::vector<GroupMemberValue> members;
  bool operator==(const GroupValue&) const = default;
};

// All functions are pure and thread-safe.

/// Errc::kCorrupt when a key of a type that is understood does not parse; an unknown type is
/// kOther, never an error.
[[nodiscard]] Result<OffsetsKey> decode_offsets_key(std::string_view key);
/// Errc::kCorrupt when it does not parse, Errc::kUnsupported for a version that is not known.
[[nodiscard]] Result<OffsetValue> decode_offset_value(std::string_view value);
[[nodiscard]] Result<GroupValue> decode_group_value(std::string_view value);
/// The epoch in a value of key type 3.
[[nodiscard]] Result<std::int32_t> decode_consumer_group_epoch(std::string_view value);

/// Key type 1; value version 3, with a topic id 4. Strings are at most kClassicStringMax bytes.
[[nodiscard]] std::string encode_offset_key(std::string_view group, std::string_view topic,
                                            PartitionId partition);
[[nodiscard]] std::string encode_offset_value(const OffsetValue& value);
/// Key type 2 and value version 3.
[[nodiscard]] std::string encode_group_key(std::string_view group);
[[nodiscard]] std::string encode_group_value(const GroupValue& value);

/// Topics and partitions of the assignment bytes of a classic consumer; Errc::kCorrupt.
struct AssignedTopic {
  std::string topic;
  std::vector<PartitionId> partitions;
};
[[nodiscard]] Result<std::vector<AssignedTopic>> decode_assignment(std::string_view assignment);

/// String.hashCode() of Java: over the UTF-16 units of `text`, which is UTF-8; what is not, counts
/// as U+FFFD, as it does when Java decodes it.
[[nodiscard]] std::int32_t java_hash(std::string_view text);
/// Which of `count` partitions of the topic a group's records are in.
[[nodiscard]] PartitionId offsets_partition(std::string_view group, std::int32_t count);

}  // namespace spool
