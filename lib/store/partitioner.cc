#include "store/partitioner.h"

#include <array>
#include <bit>
#include <cstring>

#include <xxhash.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/check.h"

namespace spool {
namespace {

struct Name {
  PartitionerKind kind;
  std::string_view name;
};

constexpr std::array<Name, 6> kNames{{
    {PartitionerKind::kMurmur2, "murmur2"},
    {PartitionerKind::kCrc32, "crc32"},
    {PartitionerKind::kXxh3, "xxh3"},
    {PartitionerKind::kRoundRobin, "rr"},
    {PartitionerKind::kSticky, "sticky"},
    {PartitionerKind::kRandom, "random"},
}};

std::uint32_t load_le32(const char* p) {
  std::uint32_t v = 0;
  std::memcpy(&v, p, sizeof v);
  if constexpr (std::endian::native == std::endian::big) v = byte_swap(v);
  return v;
}

}  // namespace

std::string_view partitioner_name(PartitionerKind kind) {
  for (const Name& each : kNames)
    if (each.kind == kind) return each.name;
  CHECK(false);
}

std::optional<PartitionerKind> partitioner_from_name(std::string_view name) {
  for (const Name& each : kNames)
    if (each.name == name) return each.kind;
  return std::nullopt;
}

std::uint32_t murmur2(std::string_view key) {
  constexpr std::uint32_t kSeed = 0x9747b28c;
  constexpr std::uint32_t kMultiplier = 0x5bd1e995;
  // Java's lengths are of 32 bits; so is the hash's own.
  std::uint32_t hash = kSeed ^ static_cast<std::uint32_t>(key.size());
  const char* at = key.data();
  std::size_t left = key.size();
  for (; left >= 4; at += 4, left -= 4) {
    std::uint32_t word = load_le32(at) * kMultiplier;
    word = (word ^ (word >> 24)) * kMultiplier;
    hash = (hash * kMultiplier) ^ word;
  }
  if (left > 0) {
    std::uint32_t tail = 0;
    for (std::size_t i = left; i > 0; --i)
      tail = tail << 8 | static_cast<unsigned char>(at[i - 1]);
    hash = (hash ^ tail) * kMultiplier;
  }
  hash = (hash ^ (hash >> 13)) * kMultiplier;
  return hash ^ (hash >> 15);
}

Partitioner::Partitioner(PartitionerKind kind, std::int32_t partition_count, std::uint64_t seed)
    : kind_(kind), count_(partition_count), current_(0), random_(seed) {
  CHECK(partition_count >= 1);
  current_ = below(count_);
}

void Partitioner::batch_done() {
  // Round robin must not skip a partition, and random has nothing to stay on.
  if (count_ == 1 || kind_ == PartitionerKind::kRoundRobin) return;
  const std::int32_t other = below(count_ - 1);
  current_ = other < current_ ? other : other + 1;
}

std::int32_t Partitioner::by_hash(std::string_view key) const {
  const auto count = static_cast<std::uint32_t>(count_);
  switch (kind_) {
    case PartitionerKind::kMurmur2:
      return static_cast<std::int32_t>((murmur2(key) & 0x7fffffffU) % count);
    case PartitionerKind::kCrc32: {
      const auto crc = static_cast<std::uint32_t>(
          crc32_z(0, reinterpret_cast<const Bytef*>(key.data()), key.size()));
      return static_cast<std::int32_t>(crc % count);
    }
    default:
      return static_cast<std::int32_t>(XXH3_64bits(key.data(), key.size()) % count);
  }
}

/// A number from [0, end): SplitMix64, and its high half scaled instead of a division.
std::int32_t Partitioner::below(std::int32_t end) {
  random_ += 0x9e3779b97f4a7c15U;
  std::uint64_t z = random_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  z ^= z >> 31;
  return static_cast<std::int32_t>(((z >> 32) * static_cast<std::uint64_t>(end)) >> 32);
}

}  // namespace spool
