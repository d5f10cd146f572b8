#include "store/partitioner.h"

#include <array>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace spool {
namespace {

using namespace std::string_view_literals;

// Where two real clients put the keys user-0 to user-199 over 12 partitions (one hexadecimal digit
// each): Java's producer, and librdkafka's consistent_random.
constexpr std::string_view kJava =
    "788b7a589b2a6758602a74349a611bb964197b8032428699419ba26ba8889103799048522500b32513b67039466659"
    "024"
    "8a56a727400a367b8753405a478594540564b2871051b75196b848974bb3470a6694123715ba111318435419aab924"
    "791"
    "73a949";
constexpr std::string_view kLibrdkafka =
    "28a0393906a46875b182139b828ab58682131720b57168689b24a43179421b178a4a75820a971b68b93160a05720a0"
    "757"
    "54a64a0717142b1b5a0245702069b5ba453130206b56060353186313164a49b8a4a1b1ba853134286b96460b1b5063"
    "1b5"
    "a0a49b";

constexpr std::array kAllKinds{PartitionerKind::kMurmur2, PartitionerKind::kCrc32,
                               PartitionerKind::kXxh3,    PartitionerKind::kRoundRobin,
                               PartitionerKind::kSticky,  PartitionerKind::kRandom};
constexpr std::array kHashKinds{PartitionerKind::kMurmur2, PartitionerKind::kCrc32,
                                PartitionerKind::kXxh3};

std::string of_users(PartitionerKind kind) {
  Partitioner partitioner(kind, 12, 1);
  std::string out;
  for (int i = 0; i < 200; ++i) {
    const std::string key = "user-" + std::to_string(i);
    out += "0123456789ab"[partitioner.choose(key).value()];
  }
  return out;
}

TEST(Partitioner, NamesRoundTrip) {
  for (const PartitionerKind kind : kAllKinds)
    EXPECT_EQ(partitioner_from_name(partitioner_name(kind)), kind);
  EXPECT_EQ(partitioner_from_name("rr"), PartitionerKind::kRoundRobin);
  EXPECT_EQ(partitioner_from_name("fnv"), std::nullopt);
}

TEST(Partitioner, Murmur2IsJavas) {
  // Answers of Utils.murmur2 in Kafka 4.3.1: every length of the tail, and bytes over 127.
  EXPECT_EQ(static_cast<std::int32_t>(murmur2("")), 275646681);
  EXPECT_EQ(static_cast<std::int32_t>(murmur2("a")), -1563381124);
  EXPECT_EQ(static_cast<std::int32_t>(murmur2("ab")), 316155434);
  EXPECT_EQ(static_cast<std::int32_t>(murmur2("abc")), 479470107);
  EXPECT_EQ(static_cast<std::int32_t>(murmur2("abcd")), -1323649548);
  EXPECT_EQ(static_cast<std::int32_t>(murmur2("abcde")), 461995741);
  EXPECT_EQ(static_cast<std::int32_t>(murmur2("a longer key of some forty bytes, 0123456")),
            790366503);
  EXPECT_EQ(static_cast<std::int32_t>(murmur2("\x80\x91\xa2\xb3\xc4\xd5\xe6")), 1556198382);
  EXPECT_EQ(of_users(PartitionerKind::kMurmur2), kJava);
}

TEST(Partitioner, Crc32IsLibrdkafkas) {
  EXPECT_EQ(of_users(PartitionerKind::kCrc32), kLibrdkafka);
}

TEST(Partitioner, Xxh3KnownAnswers) {
  // XXH3 of "", "a" and "abc": 2d06800538d394c2, e6c632b61e964e1f, 78af5f94892f3950.
  Partitioner partitioner(PartitionerKind::kXxh3, 2147483647, 1);
  EXPECT_EQ(partitioner.choose(""sv).value(), 316708045);
  EXPECT_EQ(partitioner.choose("a"sv).value(), 1814213518);
  EXPECT_EQ(partitioner.choose("abc"sv).value(), 2056124538);
}

TEST(Partitioner, HashesIgnoreBatchesAndSeeds) {
  for (const PartitionerKind kind : kHashKinds) {
    Partitioner one(kind, 12, 1);
    Partitioner two(kind, 12, 2);
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(one.choose("key"sv), two.choose("key"sv));
      one.batch_done();
    }
  }
}

TEST(Partitioner, NullKeysStickUntilTheBatchIsDone) {
  for (const PartitionerKind kind : {PartitionerKind::kMurmur2, PartitionerKind::kCrc32,
                                     PartitionerKind::kXxh3, PartitionerKind::kSticky}) {
    Partitioner partitioner(kind, 5, 3);
    std::set<PartitionId> seen;
    for (int batch = 0; batch < 200; ++batch) {
      const PartitionId at = partitioner.choose(std::nullopt);
      for (int i = 0; i < 10; ++i) {
        (void)partitioner.choose("a key between"sv);
        ASSERT_EQ(partitioner.choose(std::nullopt), at);
      }
      seen.insert(at);
      partitioner.batch_done();
      ASSERT_NE(partitioner.choose(std::nullopt), at);
    }
    EXPECT_EQ(seen.size(), 5U);
    EXPECT_EQ(seen.begin()->value(), 0);
    EXPECT_EQ(seen.rbegin()->value(), 4);
  }
}

TEST(Partitioner, EmptyKeyIsAKeyButNotForCrc32) {
  for (const PartitionerKind kind : kHashKinds) {
    Partitioner partitioner(kind, 7, 3);
    std::set<PartitionId> seen;
    for (int batch = 0; batch < 100; ++batch) {
      seen.insert(partitioner.choose(""sv));
      partitioner.batch_done();
    }
    EXPECT_EQ(seen.size(), kind == PartitionerKind::kCrc32 ? 7U : 1U);
  }
}

TEST(Partitioner, RoundRobinTakesEveryPartitionInTurn) {
  Partitioner partitioner(PartitionerKind::kRoundRobin, 3, 9);
  std::int32_t last = partitioner.choose("k"sv).value();
  for (int i = 0; i < 30; ++i) {
    if (i % 4 == 0) partitioner.batch_done();
    const std::int32_t next =
        partitioner.choose(i % 2 ? std::optional("k"sv) : std::nullopt).value();
    ASSERT_EQ(next, (last + 1) % 3);
    last = next;
  }
}

TEST(Partitioner, RandomIsEvenAndIgnoresKeys) {
  Partitioner partitioner(PartitionerKind::kRandom, 4, 11);
  std::array<int, 4> counts{};
  for (int i = 0; i < 40'000; ++i)
    ++counts[static_cast<std::size_t>(partitioner.choose("k"sv).value())];
  for (const int count : counts)
    EXPECT_NEAR(count, 10'000, 500);
}

TEST(Partitioner, SeedDecides) {
  std::set<std::int32_t> starts;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Partitioner one(PartitionerKind::kSticky, 12, seed);
    Partitioner same(PartitionerKind::kSticky, 12, seed);
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(one.choose(std::nullopt), same.choose(std::nullopt));
      one.batch_done();
      same.batch_done();
    }
    starts.insert(Partitioner(PartitionerKind::kSticky, 12, seed).choose(std::nullopt).value());
  }
  EXPECT_EQ(starts.size(), 12U);
}

TEST(Partitioner, OnePartitionIsAlwaysThatOne) {
  for (const PartitionerKind kind : kAllKinds) {
    Partitioner partitioner(kind, 1, 5);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(partitioner.choose("k"sv).value(), 0);
      EXPECT_EQ(partitioner.choose(std::nullopt).value(), 0);
      partitioner.batch_done();
    }
  }
}

}  // namespace
}  // namespace spool
