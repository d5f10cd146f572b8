#include "record/known_records.h"

#include <array>
#include <cstring>

#include <fmt/format.h>

#include "base/bytes.h"

namespace spool {

namespace {

/// Reads fields of either encoding; after the first bad length everything reads as nothing.
class Fields {
 public:
  Fields(std::string_view text, bool flexible)
      : at_(as_bytes(text).data()), end_(at_ + text.size()), flexible_(flexible) {}

  template <class T>
  std::int64_t number() {
    if (!ok_ || end_ - at_ < static_cast<std::ptrdiff_t>(sizeof(T))) {
      ok_ = false;
      return 0;
    }
    const T v = load_be<T>(at_);
    at_ += sizeof(T);
    return static_cast<std::int64_t>(v);
  }
  std::int64_t uvarint() {
    std::uint64_t v = 0;
    const std::size_t n = ok_ ? get_uvarint(at_, end_, v) : 0;
    if (n == 0 || v > INT64_MAX) {
      ok_ = false;
      return 0;
    }
    at_ += n;
    return static_cast<std::int64_t>(v);
  }
  /// -1 is null.
  std::int64_t length(bool wide) {
    if (flexible_) return uvarint() - 1;
    return wide ? number<std::int32_t>() : number<std::int16_t>();
  }
  KnownValue text() {
    const std::int64_t n = length(false);
    if (n < 0) return nullptr;
    return std::string(take(n));
  }
  void skip_bytes() { take(std::max<std::int64_t>(length(true), 0)); }
  std::string uuid() {
    const std::string_view raw = take(16);
    if (raw.size() != 16) return {};
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string out;
    unsigned held = 0;
    unsigned bits = 0;
    for (const char c : raw) {
      held = (held << 8) | static_cast<unsigned char>(c);
      for (bits += 8; bits >= 6; bits -= 6)
        out += kDigits[(held >> (bits - 6)) & 0x3fU];
    }
    out += kDigits[(held << (6 - bits)) & 0x3fU];
    return out;
  }
  /// Items of an array, bounded by the bytes that are left.
  std::int64_t count() {
    const std::int64_t n = length(true);
    if (n <= end_ - at_) return std::max<std::int64_t>(n, 0);
    ok_ = false;
    return 0;
  }
  std::vector<std::int64_t> ints() {
    std::vector<std::int64_t> out;
    for (std::int64_t n = count(); n > 0 && ok_; --n)
      out.push_back(number<std::int32_t>());
    return out;
  }
  void skip_tags() {
    if (!flexible_) return;
    for (std::int64_t n = uvarint(); n > 0 && ok_; --n) {
      (void)uvarint();
      take(uvarint());
    }
  }
  void skip(std::int64_t n) { take(n); }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  std::string_view take(std::int64_t n) {
    if (!ok_ || n < 0 || n > end_ - at_) {
      ok_ = false;
      return {};
    }
    const std::string_view out = as_text({at_, static_cast<std::size_t>(n)});
    at_ += n;
    return out;
  }

  const std::byte* at_;
  const std::byte* end_;
  bool flexible_;
  bool ok_ = true;
};

std::string name_or_number(std::int64_t n, std::string_view known) {
  return known.empty() ? fmt::format("type {}", n) : std::string(known);
}

std::string_view offsets_key_name(std::int64_t type) {
  switch (type) {
    case 0:
    case 1:
      return "OffsetCommit";
    case 2:
      return "GroupMetadata";
    case 3:
      return "ConsumerGroupMetadata";
    case 4:
      return "ConsumerGroupPartitionMetadata";
    case 5:
      return "ConsumerGroupMemberMetadata";
    case 6:
      return "ConsumerGroupTargetAssignmentMetadata";
    case 7:
      return "ConsumerGroupTargetAssignmentMember";
    case 8:
      return "ConsumerGroupCurrentMemberAssignment";
    case 10:
      return "ShareGroupMemberMetadata";
    case 11:
      return "ShareGroupMetadata";
    case 12:
      return "ShareGroupTargetAssignmentMetadata";
    case 13:
      return "ShareGroupTargetAssignmentMember";
    case 14:
      return "ShareGroupCurrentMemberAssignment";
    case 15:
      return "ShareGroupStatePartitionMetadata";
    case 16:
      return "ConsumerGroupRegularExpression";
    case 17:
      return "StreamsGroupMetadata";
    case 19:
      return "StreamsGroupMemberMetadata";
    case 20:
      return "StreamsGroupTargetAssignmentMetadata";
    case 21:
      return "StreamsGroupTargetAssignmentMember";
    case 22:
      return "StreamsGroupCurrentMemberAssignment";
    case 23:
      return "StreamsGroupTopology";
    default:
      return {};
  }
}

void offset_commit(Fields& in, std::int64_t version, KnownFields& out) {
  out.emplace_back("offset", in.number<std::int64_t>());
  if (version >= 3) out.emplace_back("leaderEpoch", in.number<std::int32_t>());
  out.emplace_back("metadata", in.text());
  out.emplace_back("commitTimestamp", in.number<std::int64_t>());
  if (version == 1) out.emplace_back("expireTimestamp", in.number<std::int64_t>());
  if (version < 4) return;
  for (std::int64_t n = in.uvarint(); n > 0 && in.ok(); --n) {
    const std::int64_t tag = in.uvarint();
    const std::int64_t size = in.uvarint();
    if (tag == 0 && size == 16) {
      out.emplace_back("topicId", in.uuid());
    } else {
      in.skip(size);
    }
  }
}

void group_metadata(Fields& in, std::int64_t version, KnownFields& out) {
  out.emplace_back("protocolType", in.text());
  out.emplace_back("generation", in.number<std::int32_t>());
  out.emplace_back("protocol", in.text());
  out.emplace_back("leader", in.text());
  if (version >= 2) out.emplace_back("currentStateTimestamp", in.number<std::int64_t>());
  std::vector<std::string> members;
  std::vector<std::string> hosts;
  const auto text = [&] {
    const KnownValue v = in.text();
    const auto* s = std::get_if<std::string>(&v);
    return s != nullptr ? *s : std::string();
  };
  for (std::int64_t n = in.count(); n > 0 && in.ok(); --n) {
    members.push_back(text());
    if (version >= 3) (void)in.text();
    (void)in.text();
    hosts.push_back(text());
    if (version >= 1) (void)in.number<std::int32_t>();
    (void)in.number<std::int32_t>();
    in.skip_bytes();
    in.skip_bytes();
    in.skip_tags();
  }
  out.emplace_back("members", std::move(members));
  out.emplace_back("hosts", std::move(hosts));
}

std::optional<KnownRecord> offsets_record(std::string_view key,
                                          std::optional<std::string_view> value) {
  KnownRecord out;
  Fields in(key, false);
  const std::int64_t type = in.number<std::int16_t>();
  if (!in.ok()) return std::nullopt;
  out.key.emplace_back("type", name_or_number(type, offsets_key_name(type)));
  out.key.emplace_back("group", in.text());
  if (type == 0 || type == 1) {
    out.key.emplace_back("topic", in.text());
    out.key.emplace_back("partition", in.number<std::int32_t>());
  } else if (type == 5 || type == 7 || type == 8) {
    out.key.emplace_back("member", in.text());
  } else if (type == 16) {
    out.key.emplace_back("regularExpression", in.text());
  }
  out.complete = in.ok();
  out.tombstone = !value;
  if (!value) return out;
  const std::int64_t version = Fields(*value, false).number<std::int16_t>();
  Fields body(value->size() >= 2 ? value->substr(2) : std::string_view(),
              type >= 3 || version >= 4);
  out.value.emplace_back("version", version);
  if (type == 0 || type == 1) {
    offset_commit(body, version, out.value);
  } else if (type == 2) {
    group_metadata(body, version, out.value);
  } else if (type == 3) {
    out.value.emplace_back("epoch", body.number<std::int32_t>());
  } else if (type == 6) {
    out.value.emplace_back("assignmentEpoch", body.number<std::int32_t>());
  } else if (type == 8) {
    out.value.emplace_back("memberEpoch", body.number<std::int32_t>());
    out.value.emplace_back("previousMemberEpoch", body.number<std::int32_t>());
    out.value.emplace_back("state", body.number<std::int8_t>());
  }
  out.complete = out.complete && body.ok();
  return out;
}

std::string_view transaction_status(std::int64_t status) {
  constexpr std::array<std::string_view, 8> kNames{
      "Empty",          "Ongoing",       "PrepareCommit", "PrepareAbort",
      "CompleteCommit", "CompleteAbort", "Dead",          "PrepareEpochFence"};
  return status >= 0 && status < static_cast<std::int64_t>(kNames.size())
             ? kNames[static_cast<std::size_t>(status)]
             : std::string_view();
}

std::optional<KnownRecord> transaction_record(std::string_view key,
                                              std::optional<std::string_view> value) {
  KnownRecord out;
  Fields in(key, false);
  if (in.number<std::int16_t>() != 0) return std::nullopt;
  out.key.emplace_back("transactionalId", in.text());
  out.complete = in.ok();
  out.tombstone = !value;
  if (!value) return out;
  const std::int64_t version = Fields(*value, false).number<std::int16_t>();
  Fields body(value->size() >= 2 ? value->substr(2) : std::string_view(), version >= 1);
  out.value.emplace_back("version", version);
  out.value.emplace_back("producerId", body.number<std::int64_t>());
  out.value.emplace_back("producerEpoch", body.number<std::int16_t>());
  out.value.emplace_back("transactionTimeoutMs", body.number<std::int32_t>());
  const std::int64_t status = body.number<std::int8_t>();
  out.value.emplace_back("transactionStatus", name_or_number(status, transaction_status(status)));
  std::vector<std::string> partitions;
  for (std::int64_t n = body.count(); n > 0 && body.ok(); --n) {
    const KnownValue topic = body.text();
    const auto* name = std::get_if<std::string>(&topic);
    for (const std::int64_t p : body.ints())
      partitions.push_back(fmt::format("{}-{}", name != nullptr ? *name : "", p));
    body.skip_tags();
  }
  out.value.emplace_back("transactionPartitions", std::move(partitions));
  out.value.emplace_back("transactionLastUpdateTimestampMs", body.number<std::int64_t>());
  out.value.emplace_back("transactionStartTimestampMs", body.number<std::int64_t>());
  out.complete = out.complete && body.ok();
  return out;
}

std::string_view metadata_name(std::int64_t type) {
  constexpr std::array<std::string_view, 29> kNames{"RegisterBroker",
                                                    "UnregisterBroker",
                                                    "Topic",
                                                    "Partition",
                                                    "Config",
                                                    "PartitionChange",
                                                    "AccessControl",
                                                    "FenceBroker",
                                                    "UnfenceBroker",
                                                    "RemoveTopic",
                                                    "DelegationToken",
                                                    "UserScramCredential",
                                                    "FeatureLevel",
                                                    "",
                                                    "ClientQuota",
                                                    "ProducerIds",
                                                    "",
                                                    "BrokerRegistrationChange",
                                                    "AccessControlEntry",
                                                    "RemoveAccessControlEntry",
                                                    "NoOp",
                                                    "ZkMigrationState",
                                                    "RemoveUserScramCredential",
                                                    "BeginTransaction",
                                                    "EndTransaction",
                                                    "AbortTransaction",
                                                    "RemoveDelegationToken",
                                                    "RegisterController",
                                                    "ClearElr"};
  return type >= 0 && type < static_cast<std::int64_t>(kNames.size())
             ? kNames[static_cast<std::size_t>(type)]
             : std::string_view();
}

void metadata_body(std::int64_t type, Fields& in, KnownFields& out) {
  switch (type) {
    case 0:
      out.emplace_back("brokerId", in.number<std::int32_t>());
      out.emplace_back("incarnationId", in.uuid());
      out.emplace_back("brokerEpoch", in.number<std::int64_t>());
      break;
    case 1:
    case 7:
    case 8:
    case 17:
      out.emplace_back("brokerId", in.number<std::int32_t>());
      out.emplace_back("brokerEpoch", in.number<std::int64_t>());
      break;
    case 2:
      out.emplace_back("name", in.text());
      out.emplace_back("topicId", in.uuid());
      break;
    case 3:
      out.emplace_back("partitionId", in.number<std::int32_t>());
      out.emplace_back("topicId", in.uuid());
      out.emplace_back("replicas", in.ints());
      out.emplace_back("isr", in.ints());
      out.emplace_back("removingReplicas", in.ints());
      out.emplace_back("addingReplicas", in.ints());
      out.emplace_back("leader", in.number<std::int32_t>());
      out.emplace_back("leaderEpoch", in.number<std::int32_t>());
      out.emplace_back("partitionEpoch", in.number<std::int32_t>());
      break;
    case 4:
      out.emplace_back("resourceType", in.number<std::int8_t>());
      out.emplace_back("resourceName", in.text());
      out.emplace_back("name", in.text());
      out.emplace_back("value", in.text());
      break;
    case 5:
      out.emplace_back("partitionId", in.number<std::int32_t>());
      out.emplace_back("topicId", in.uuid());
      break;
    case 9:
      out.emplace_back("topicId", in.uuid());
      break;
    case 12:
      out.emplace_back("name", in.text());
      out.emplace_back("featureLevel", in.number<std::int16_t>());
      break;
    case 15:
      out.emplace_back("brokerId", in.number<std::int32_t>());
      out.emplace_back("brokerEpoch", in.number<std::int64_t>());
      out.emplace_back("nextProducerId", in.number<std::int64_t>());
      break;
    case 23:
      break;
    case 27:
      out.emplace_back("controllerId", in.number<std::int32_t>());
      out.emplace_back("incarnationId", in.uuid());
      break;
    case 28:
      out.emplace_back("topicName", in.text());
      break;
    default:
      break;
  }
}

std::optional<KnownRecord> metadata_record(std::optional<std::string_view> value) {
  if (!value) return std::nullopt;
  Fields in(*value, true);
  if (in.uvarint() != 1) return std::nullopt;
  KnownRecord out;
  const std::int64_t type = in.uvarint();
  out.value.emplace_back("type", name_or_number(type, metadata_name(type)));
  out.value.emplace_back("version", in.uvarint());
  if (!in.ok()) return std::nullopt;
  metadata_body(type, in, out.value);
  out.complete = in.ok();
  return out;
}

}  // namespace

std::optional<KnownRecord> known_record(std::string_view topic, std::optional<std::string_view> key,
                                        std::optional<std::string_view> value) {
  if (topic == "__cluster_metadata") return metadata_record(value);
  if (!key) return std::nullopt;
  if (topic == "__consumer_offsets") return offsets_record(*key, value);
  if (topic == "__transaction_state") return transaction_record(*key, value);
  return std::nullopt;
}

}  // namespace spool
