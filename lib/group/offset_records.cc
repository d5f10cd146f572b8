#include "group/offset_records.h"

#include <array>
#include <limits>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/check.h"

namespace spool {

namespace {

constexpr std::int16_t kFlexibleFrom = 4;
constexpr std::int16_t kVersionMax = 4;
constexpr std::int16_t kVersionWritten = 3;
constexpr std::size_t kUuidBytes = 16;

/// Fields one after the other; the first that does not fit makes all later ones empty, and ok() is
/// asked once.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : left_(text) {}

  void flexible() { flexible_ = true; }
  template <class T>
  T integer() {
    const std::string_view raw = take(sizeof(T));
    return raw.empty() ? T{} : load_be<T>(as_bytes(raw).data());
  }
  std::optional<std::string> nullable_string() {
    if (flexible_) return nullable(compact_length());
    return nullable(std::int64_t{integer<std::int16_t>()});
  }
  std::string string() {
    auto out = nullable_string();
    if (!out) ok_ = false;
    return std::move(out).value_or(std::string());
  }
  std::string_view string_view() {
    const std::int64_t length =
        flexible_ ? compact_length() : std::int64_t{integer<std::int16_t>()};
    if (length < 0) ok_ = false;
    return take(length);
  }
  std::string bytes() {
    auto out = nullable(flexible_ ? compact_length() : std::int64_t{integer<std::int32_t>()});
    return std::move(out).value_or(std::string());
  }
  /// Of an array; 0 for null. Never more than the bytes that are left, of which an element has one
  /// at least.
  std::size_t count() {
    const std::int64_t n = flexible_ ? compact_length() : std::int64_t{integer<std::int32_t>()};
    if (n > static_cast<std::int64_t>(left_.size())) ok_ = false;
    return ok_ && n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  /// Calls `on_tag(number, bytes)` for each tagged field.
  template <class F>
  void tags(F&& on_tag) {
    if (!flexible_) return;
    const std::uint64_t n = uvarint();
    for (std::uint64_t i = 0; i < n && ok_; ++i) {
      const std::uint64_t tag = uvarint();
      const std::uint64_t size = uvarint();
      on_tag(tag, take(size > left_.size() ? -1 : static_cast<std::int64_t>(size)));
    }
  }
  void skip_tags() {
    tags([](std::uint64_t, std::string_view) {});
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return ok_ && left_.empty(); }

 private:
  std::string_view take(std::int64_t n) {
    if (!ok_ || n < 0 || static_cast<std::uint64_t>(n) > left_.size()) {
      ok_ = false;
      left_ = {};
      return {};
    }
    const std::string_view out = left_.substr(0, static_cast<std::size_t>(n));
    left_.remove_prefix(out.size());
    return out;
  }
  std::optional<std::string> nullable(std::int64_t length) {
    if (length == -1) return std::nullopt;
    return std::string(take(length));
  }
  std::uint64_t uvarint() {
    std::uint64_t out = 0;
    const Bytes raw = as_bytes(left_);
    const std::size_t n = ok_ ? get_uvarint(raw.data(), raw.data() + raw.size(), out) : 0;
    if (n == 0) {
      ok_ = false;
      left_ = {};
      return 0;
    }
    left_.remove_prefix(n);
    return out;
  }
  std::int64_t compact_length() {
    const std::uint64_t n = uvarint();
    if (n > std::uint64_t{std::numeric_limits<std::int32_t>::max()}) {
      ok_ = false;
      return 0;
    }
    return static_cast<std::int64_t>(n) - 1;
  }

  std::string_view left_;
  bool ok_ = true;
  bool flexible_ = false;
};

class FieldWriter {
 public:
  template <class T>
  FieldWriter& integer(T value) {
    std::array<std::byte, sizeof(T)> raw{};
    store_be(raw.data(), value);
    out_ += as_text(raw);
    return *this;
  }
  FieldWriter& string(std::string_view text) {
    CHECK(text.size() <= kClassicStringMax);
    integer(static_cast<std::int16_t>(text.size()));
    out_ += text;
    return *this;
  }
  FieldWriter& nullable_string(const std::optional<std::string>& text) {
    return text ? string(*text) : integer(std::int16_t{-1});
  }
  FieldWriter& uvarint(std::uint64_t value) {
    std::array<std::byte, kVarlongBytesMax> raw{};
    const std::byte* end = put_uvarint(raw.data(), value);
    out_ += as_text({raw.data(), static_cast<std::size_t>(end - raw.data())});
    return *this;
  }
  /// `null_room`: 1 where a length of 0 means null.
  FieldWriter& compact_string(std::string_view text, std::size_t null_room = 1) {
    uvarint(text.size() + null_room);
    out_ += text;
    return *this;
  }
  FieldWriter& bytes(std::string_view raw) {
    integer(static_cast<std::int32_t>(raw.size()));
    out_ += raw;
    return *this;
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

tl::unexpected<Error> malformed(std::string_view what) {
  return fail(Errc::kCorrupt,
              fmt::format("a record of {} holds {} that does not parse", kOffsetsTopic, what));
}

Result<std::int16_t> known_version(FieldReader& in, std::string_view what,
                                   std::int16_t version_max) {
  const auto version = in.integer<std::int16_t>();
  if (!in.ok()) return malformed(what);
  if (version < 0 || version > version_max)
    return fail(Errc::kUnsupported,
                fmt::format("a record of {} holds {} of version {}; this spool knows up to {}",
                            kOffsetsTopic, what, version, version_max));
  if (version >= kFlexibleFrom) in.flexible();
  return version;
}

}  // namespace

Result<OffsetsKey> decode_offsets_key(std::string_view key) {
  FieldReader in(key);
  OffsetsKey out;
  out.type = in.integer<std::int16_t>();
  if (!in.ok()) return malformed("a key");
  switch (out.type) {
    case 0:
    case 1:
      out.kind = OffsetsKeyKind::kOffset;
      out.group = in.string_view();
      out.topic = in.string_view();
      out.partition = PartitionId(in.integer<std::int32_t>());
      if (!in.at_end()) return malformed("a key");
      break;
    case 2:
    case 3:
      out.kind = out.type == 2 ? OffsetsKeyKind::kGroup : OffsetsKeyKind::kConsumerGroup;
      out.group = in.string_view();
      if (!in.at_end()) return malformed("a key");
      break;
    default:
      out.group = in.string_view();
      if (!in.ok()) out.group = {};
  }
  return out;
}

Result<OffsetValue> decode_offset_value(std::string_view value) {
  FieldReader in(value);
  TRY_ASSIGN(const std::int16_t version, known_version(in, "a committed offset", kVersionMax));
  OffsetValue out;
  out.offset = Offset(in.integer<std::int64_t>());
  if (version >= 3) out.leader_epoch = Epoch(in.integer<std::int32_t>());
  out.metadata = in.string();
  out.commit_time = TimestampMs(in.integer<std::int64_t>());
  if (version == 1) out.expire_time = TimestampMs(in.integer<std::int64_t>());
  in.tags([&](std::uint64_t tag, std::string_view raw) {
    if (tag == 0 && raw.size() == kUuidBytes) out.topic_id = raw;
  });
  if (!in.at_end()) return malformed("a committed offset");
  return out;
}

Result<GroupValue> decode_group_value(std::string_view value) {
  FieldReader in(value);
  TRY_ASSIGN(const std::int16_t version, known_version(in, "a group", kVersionMax));
  GroupValue out;
  out.protocol_type = in.string();
  out.generation = in.integer<std::int32_t>();
  out.protocol = in.nullable_string();
  out.leader = in.nullable_string();
  if (version >= 2) out.state_time = TimestampMs(in.integer<std::int64_t>());
  const std::size_t members = in.count();
  for (std::size_t i = 0; i < members && in.ok(); ++i) {
    GroupMemberValue& m = out.members.emplace_back();
    m.member_id = in.string();
    if (version >= 3) m.instance_id = in.nullable_string();
    m.client_id = in.string();
    m.client_host = in.string();
    if (version >= 1) m.rebalance_timeout_ms = in.integer<std::int32_t>();
    m.session_timeout_ms = in.integer<std::int32_t>();
    m.subscription = in.bytes();
    m.assignment = in.bytes();
    in.skip_tags();
  }
  in.skip_tags();
  if (!in.at_end()) return malformed("a group");
  return out;
}

Result<std::int32_t> decode_consumer_group_epoch(std::string_view value) {
  FieldReader in(value);
  TRY(known_version(in, "a group", 0));
  const auto epoch = in.integer<std::int32_t>();
  in.flexible();
  in.skip_tags();
  if (!in.at_end()) return malformed("a group");
  return epoch;
}

std::string encode_offset_key(std::string_view group, std::string_view topic,
                              PartitionId partition) {
  FieldWriter out;
  out.integer(std::int16_t{1}).string(group).string(topic).integer(partition.value());
  return out.take();
}

std::string encode_offset_value(const OffsetValue& value) {
  FieldWriter out;
  if (value.topic_id.size() == kUuidBytes) {
    constexpr std::uint8_t kTopicIdTag = 0;
    out.integer(kFlexibleFrom)
        .integer(value.offset.value())
        .integer(value.leader_epoch.value())
        .compact_string(value.metadata)
        .integer(value.commit_time.value())
        .uvarint(1)
        .integer(kTopicIdTag)
        .compact_string(value.topic_id, 0);
    return out.take();
  }
  out.integer(kVersionWritten)
      .integer(value.offset.value())
      .integer(value.leader_epoch.value())
      .string(value.metadata)
      .integer(value.commit_time.value());
  return out.take();
}

std::string encode_group_key(std::string_view group) {
  FieldWriter out;
  out.integer(std::int16_t{2}).string(group);
  return out.take();
}

std::string encode_group_value(const GroupValue& value) {
  FieldWriter out;
  out.integer(kVersionWritten)
      .string(value.protocol_type)
      .integer(value.generation)
      .nullable_string(value.protocol)
      .nullable_string(value.leader)
      .integer(value.state_time.value())
      .integer(static_cast<std::int32_t>(value.members.size()));
  for (const GroupMemberValue& m : value.members) {
    out.string(m.member_id)
        .nullable_string(m.instance_id)
        .string(m.client_id)
        .string(m.client_host)
        .integer(m.rebalance_timeout_ms)
        .integer(m.session_timeout_ms)
        .bytes(m.subscription)
        .bytes(m.assignment);
  }
  return out.take();
}

Result<std::vector<AssignedTopic>> decode_assignment(std::string_view assignment) {
  std::vector<AssignedTopic> out;
  if (assignment.empty()) return out;  // of a member that got nothing
  FieldReader in(assignment);
  const auto version = in.integer<std::int16_t>();
  const std::size_t topics = in.count();
  for (std::size_t i = 0; i < topics && in.ok(); ++i) {
    AssignedTopic& t = out.emplace_back();
    t.topic = in.string();
    const std::size_t partitions = in.count();
    for (std::size_t k = 0; k < partitions && in.ok(); ++k)
      t.partitions.emplace_back(in.integer<std::int32_t>());
  }
  if (!in.ok() || version < 0) return malformed("an assignment");
  return out;
}

namespace {

/// One code point of UTF-8 from the front of `text`; U+FFFD for the longest beginning of one that
/// does not go on, as the Unicode standard recommends and Java does.
std::uint32_t next_code_point(std::string_view& text) {
  constexpr std::uint32_t kReplacement = 0xfffd;
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = at(0);
  std::size_t length = 1;
  unsigned low = 0x80;   // bounds of the second byte: no long forms, no surrogates, no more than
  unsigned high = 0xbf;  // U+10FFFF
  std::uint32_t code = first;
  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
    code = first & 0x1fU;
  } else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    code = first & 0x0fU;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    code = first & 0x07U;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
  } else if (first >= 0x80) {
    text.remove_prefix(1);
    return kReplacement;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (i >= text.size() || at(i) < low || at(i) > high) {
      text.remove_prefix(i);
      return kReplacement;
    }
    code = (code << 6) | (at(i) & 0x3fU);
    low = 0x80;
    high = 0xbf;
  }
  text.remove_prefix(length);
  return code;
}

}  // namespace

std::int32_t java_hash(std::string_view text) {
  std::uint32_t hash = 0;
  while (!text.empty()) {
    const std::uint32_t code = next_code_point(text);
    if (code >= 0x10000) {
      hash = 31 * hash + (0xd800 + ((code - 0x10000) >> 10));
      hash = 31 * hash + (0xdc00 + ((code - 0x10000) & 0x3ff));
    } else {
      hash = 31 * hash + code;
    }
  }
  return static_cast<std::int32_t>(hash);
}

PartitionId offsets_partition(std::string_view group, std::int32_t count) {
  CHECK(count > 0);
  const std::int32_t hash = java_hash(group);
  // Kafka's abs: 0 for the one number that has no positive counterpart.
  const std::int32_t positive = hash == std::numeric_limits<std::int32_t>::min() ? 0
                                : hash < 0                                       ? -hash
                                                                                 : hash;
  return PartitionId(positive % count);
}

}  // namespace spool
