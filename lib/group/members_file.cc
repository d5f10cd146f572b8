#include "group/members_file.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/bytes.h"

namespace spool {

namespace {

constexpr std::size_t kRecordBytes = 1024;
constexpr std::string_view kFirstLine = "spool groups 1\n";
constexpr std::string_view kName = "spool groups ";

constexpr std::size_t kSlot = 8, kPid = 12, kStart = 16, kSince = 24, kBlocked = 32,
                      kGeneration = 40, kFlags = 44, kCount = 48, kHash = 56, kGroup = 72,
                      kTopic = 264, kHost = 516, kClient = 580, kBits = 680, kBitsEnd = 936;
constexpr std::int32_t kBitsMax = static_cast<std::int32_t>((kBitsEnd - kBits) * 8);

using Raw = std::array<std::byte, kRecordBytes>;

void put_text(Raw& raw, std::size_t from, std::size_t to, std::string_view text) {
  const std::size_t n = std::min(text.size(), to - from - 2);
  store_be(raw.data() + from, static_cast<std::uint16_t>(n));
  std::memcpy(raw.data() + from + 2, text.data(), n);
}
std::string get_text(const std::byte* raw, std::size_t from, std::size_t to) {
  const std::size_t n = std::min<std::size_t>(load_be<std::uint16_t>(raw + from), to - from - 2);
  return std::string(as_text({raw + from + 2, n}));
}
std::uint64_t checksum(const std::byte* raw) {
  return XXH3_64bits(raw + kSlot, kRecordBytes - kSlot);
}

Raw encode(const MemberRecord& r) {
  Raw raw{};
  store_be(raw.data() + kSlot, r.slot);
  store_be(raw.data() + kPid, r.pid);
  store_be(raw.data() + kStart, r.start_ticks);
  store_be(raw.data() + kSince, r.since.value());
  store_be(raw.data() + kBlocked, r.blocked_since.value());
  store_be(raw.data() + kGeneration, r.generation);
  raw[kFlags] = std::byte{r.is_static};
  store_be(raw.data() + kCount, r.partition_count);
  const std::string hash = group_hash(r.group);
  std::memcpy(raw.data() + kHash, hash.data(), hash.size());
  put_text(raw, kGroup, kTopic, r.group);
  put_text(raw, kTopic, kHost, r.topic);
  put_text(raw, kHost, kClient, r.host);
  put_text(raw, kClient, kBits, r.client_id);
  for (const std::int32_t p : r.partitions)
    if (p >= 0 && p < kBitsMax)
      raw[kBits + static_cast<std::size_t>(p / 8)] |= std::byte{1} << (p % 8);
  store_be(raw.data(), checksum(raw.data()));
  return raw;
}

MemberRecord decode(const std::byte* raw) {
  MemberRecord r;
  r.slot = load_be<std::int32_t>(raw + kSlot);
  r.pid = load_be<std::int32_t>(raw + kPid);
  r.start_ticks = load_be<std::int64_t>(raw + kStart);
  r.since = TimestampMs(load_be<std::int64_t>(raw + kSince));
  r.blocked_since = TimestampMs(load_be<std::int64_t>(raw + kBlocked));
  r.generation = load_be<std::int32_t>(raw + kGeneration);
  r.is_static = raw[kFlags] != std::byte{0};
  r.partition_count = load_be<std::int32_t>(raw + kCount);
  r.group = get_text(raw, kGroup, kTopic);
  r.topic = get_text(raw, kTopic, kHost);
  r.host = get_text(raw, kHost, kClient);
  r.client_id = get_text(raw, kClient, kBits);
  for (std::int32_t p = 0; p < kBitsMax; ++p)
    if ((raw[kBits + static_cast<std::size_t>(p / 8)] & (std::byte{1} << (p % 8))) != std::byte{0})
      r.partitions.insert(p);
  return r;
}

constexpr std::int64_t position_of(std::int64_t index) {
  return (index + 1) * static_cast<std::int64_t>(kRecordBytes);
}

}  // namespace

std::string group_hash(const std::string& group) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(group.data(), group.size()));
  return {reinterpret_cast<const char*>(canonical.digest), sizeof canonical.digest};
}

Result<void> MembersFile::open_for_writing(DirLocks& locks, std::uint32_t mode) {
  if (file_) return {};
  TRY_ASSIGN(auto file, fs_.open(path_, OpenMode::kCreate, mode));
  TRY_ASSIGN(const FileStat st, file->stat());
  if (st.size < static_cast<std::int64_t>(kRecordBytes)) {
    TRY_ASSIGN(const auto byte, locks.lock_byte("groups"));
    Raw raw{};
    std::memcpy(raw.data(), kFirstLine.data(), kFirstLine.size());
    TRY(file->write_at(raw, 0));
  }
  std::array<std::byte, kFirstLine.size()> first{};
  TRY_ASSIGN(const std::size_t got, file->read_at(first, 0));
  const std::string_view line = as_text(Bytes(first).first(got));
  if (line != kFirstLine)
    return fail(line.starts_with(kName) ? Errc::kUnsupported : Errc::kCorrupt,
                fmt::format("'{}' is of another version of spool; if nobody uses the directory it "
                            "may be removed",
                            path_));
  file_ = std::move(file);
  return {};
}

Result<std::vector<MembersFile::Place>> MembersFile::read_all() {
  std::vector<Place> out;
  const auto text = read_file(fs_, path_);
  if (!text && text.error().code == Errc::kNotFound) return out;
  if (!text) return fail(text.error());
  if (!text->starts_with(kFirstLine)) return out;
  const std::byte* raw = as_bytes(*text).data();
  for (std::size_t at = kRecordBytes; at + kRecordBytes <= text->size(); at += kRecordBytes) {
    Place& p = out.emplace_back();
    p.index = static_cast<std::int64_t>(at / kRecordBytes) - 1;
    // One that is just being written is looked at again by whoever waits for it.
    if (load_be<std::uint64_t>(raw + at) != checksum(raw + at)) continue;
    p.group_hash = text->substr(at + kHash, 16);
    p.record = decode(raw + at);
  }
  return out;
}

Result<std::int64_t> MembersFile::add(DirLocks& locks, const MemberRecord& record,
                                      const std::function<Result<bool>(const Place&)>& is_free) {
  TRY_ASSIGN(const auto byte, locks.lock_byte("groups"));
  TRY_ASSIGN(const auto places, read_all());
  const std::string hash = group_hash(record.group);
  std::int64_t index = -1;
  for (const Place& p : places)
    if (p.group_hash == hash && p.record.topic == record.topic && p.record.slot == record.slot)
      index = p.index;
  for (auto p = places.begin(); p != places.end() && index < 0; ++p) {
    if (p->group_hash.empty()) continue;
    TRY_ASSIGN(const bool free, is_free(*p));
    if (free) index = p->index;
  }
  if (index < 0) index = static_cast<std::int64_t>(places.size());
  TRY(write(index, record));
  return index;
}

Result<void> MembersFile::write(std::int64_t index, const MemberRecord& record) {
  return file_->write_at(encode(record), position_of(index));
}

}  // namespace spool
