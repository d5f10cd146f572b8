// What a process that died in the middle of an append leaves, and damage in the middle of the log:
// same boot, same folder.

#include <gtest/gtest.h>

#include "log/appender.h"
#include "log/epochs.h"
#include "support/fault_fs.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

class TornTail : public LogTest {
 protected:
  void SetUp() override {
    auto p = new_process();
    (void)p->create("t");
    auto a = p->appender("t");
    must(append(*a, {"a0", "a1"}));
    must(append(*a, {"b0"}));
    must(append(*a, {"c0", "c1", "c2"}));
    whole = slurp(log_file());
    starts = batch_starts(log_file());
    ASSERT_EQ(starts.size(), 4U);
  }
  /// Offset behind the last whole batch of a log that was cut at `size`.
  [[nodiscard]] int records_below(std::size_t size) const {
    constexpr int kEnds[] = {0, 2, 3, 6};
    int out = 0;
    for (std::size_t i = 0; i < starts.size(); ++i)
      if (starts[i] <= size) out = kEnds[i];
    return out;
  }
  static std::string last_epoch(const std::string& folder) {
    const auto all = must(read_epochs(posix_fs(), folder));
    return fmt::format("{}@{}", all.back().epoch.value(), all.back().start.value());
  }
  Epoch epoch_of_batch(std::size_t at) {
    const std::string log = slurp(log_file());
    return BatchHeader::decode(as_bytes(log).data() + at).leader_epoch;
  }

  const std::vector<std::string> values{"a0", "a1", "b0", "c0", "c1", "c2"};
  std::string whole;
  std::vector<std::size_t> starts;
};

TEST_F(TornTail, IsCutAtEveryByteOfTheLastTwoBatches) {
  for (std::size_t size = starts[1]; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    spew(log_file(), whole.substr(0, size));
    const int kept = records_below(size);
    const std::size_t begin = *std::prev(std::upper_bound(starts.begin(), starts.end(), size));
    const bool torn = size != begin;
    const std::string saved = file(fmt::format("spool.cut-{}", kept));
    std::filesystem::remove(saved);
    spew(file("leader-epoch-checkpoint"), "0\n1\n0 0\n");
    auto p = new_process();
    // A reader that comes first sees the same log, and no error.
    EXPECT_EQ(p->read("t").records.size(), static_cast<std::size_t>(kept));
    EXPECT_FALSE(p->read("t").error);
    EXPECT_TRUE(p->notices.empty());

    EXPECT_EQ(must(append(*p->appender("t"), {"new"})).base, Offset(kept));
    std::vector<std::string> want(values.begin(), values.begin() + kept);
    want.emplace_back("new");
    EXPECT_EQ(p->read("t").values(), want);
    EXPECT_EQ(exists(saved), torn);
    EXPECT_EQ(p->notices.size(), torn ? 1U : 0U);
    if (torn) {
      EXPECT_EQ(slurp(saved), whole.substr(begin, size - begin));
    }
    EXPECT_EQ(last_epoch(folder()), torn ? fmt::format("1@{}", kept) : "0@0");
    EXPECT_EQ(epoch_of_batch(begin), Epoch(torn ? 1 : 0));
  }
}

TEST_F(TornTail, GarbageOfEveryKindIsCutAndSaved) {
  std::string huge_length = whole.substr(starts[2], 61);
  store_be<std::int64_t>(reinterpret_cast<std::byte*>(huge_length.data()), 6);
  store_be<std::int32_t>(reinterpret_cast<std::byte*>(huge_length.data()) + 8, 0x7fffffff);
  const std::vector<std::string> tails{
      std::string(1, '\0'),
      std::string(70000, '\0'),
      std::string(5000, '\x02'),
      "some text that is no batch, longer than a header of sixty-one",
      whole.substr(starts[1], 61),
      whole.substr(starts[2], 61),
      huge_length,
      huge_length + std::string(3000, 'z'),
      std::string(61, '\xff'),
  };
  for (std::size_t i = 0; i < tails.size(); ++i) {
    SCOPED_TRACE(i);
    spew(log_file(), whole + tails[i]);
    std::filesystem::remove(file("spool.cut-6"));
    auto p = new_process();
    EXPECT_EQ(p->read("t").values(), values);
    EXPECT_EQ(must(append(*p->appender("t"), {"new"})).base, Offset(6));
    EXPECT_EQ(p->read("t").records.size(), 7U);
    EXPECT_EQ(slurp(file("spool.cut-6")), tails[i]);
    EXPECT_EQ(p->notices.size(), 1U);
  }
}

TEST_F(TornTail, AWholeBatchThatRepeatsOffsetsIsCut) {
  spew(log_file(), whole + whole.substr(starts[1]));
  auto p = new_process();
  EXPECT_EQ(p->read("t").values(), values);
  EXPECT_EQ(must(append(*p->appender("t"), {"new"})).base, Offset(6));
  EXPECT_EQ(slurp(file("spool.cut-6")), whole.substr(starts[1]));
}

TEST_F(TornTail, ASecondCutDoesNotOverwriteTheSavedCopyOfTheFirst) {
  for (const char* tail : {"first", "second", "third"}) {
    auto p = new_process();
    spew(log_file(), whole + tail);
    must(p->appender("t")->open());
  }
  EXPECT_EQ(slurp(file("spool.cut-6")), "first");
  EXPECT_EQ(slurp(file("spool.cut-6-1")), "second");
  EXPECT_EQ(slurp(file("spool.cut-6-2")), "third");
}

TEST_F(TornTail, NothingIsCutWhenTheCopyCannotBeSaved) {
  FaultFs fs;
  auto p = new_process(fs);
  for (const Call call : {Call::kCreate, Call::kWrite, Call::kShortWrite, Call::kSync}) {
    SCOPED_TRACE(call_name(call));
    spew(log_file(), whole + "torn bytes");
    fs.plan({call, 1, ENOSPC, true, "spool.cut-6"});
    EXPECT_FALSE(p->appender("t")->open());
    EXPECT_FALSE(append(*p->appender("t"), {"new"}));
    fs.heal();
    EXPECT_EQ(slurp(log_file()), whole + "torn bytes");
    EXPECT_FALSE(exists(file("spool.cut-6"))) << "each try would leave one more";
  }
}

class Rot : public TornTail {};

TEST_F(Rot, AFlippedBitBeforeWholeBatchesIsKeptAndReported) {
  for (std::size_t byte = starts[1]; byte < starts[2]; ++byte) {
    if (byte - starts[1] >= 12 && byte - starts[1] < 16) continue;  // the epoch: nothing covers it
    SCOPED_TRACE(byte - starts[1]);
    spew(log_file(), whole);
    flip_bit(log_file(), byte, byte % 8);
    auto p = new_process();
    EXPECT_EQ(must(append(*p->appender("t"), {"new"})).base, Offset(6));
    ASSERT_EQ(p->notices.size(), 1U);
    EXPECT_NE(p->notices[0].find(fmt::format("damaged at byte {}: offsets 2 to 2", starts[1])),
              std::string::npos)
        << p->notices[0];
    EXPECT_FALSE(exists(file("spool.cut-2")));
    const PartitionPlace place = p->place("t");
    const ReadBack strict = p->read(place);
    ASSERT_TRUE(strict.error);
    EXPECT_EQ(strict.error->code, Errc::kCorrupt);
    EXPECT_EQ(strict.values(), (std::vector<std::string>{"a0", "a1"}));
    const ReadBack skipping = p->read(place, Offset(0), false, true);
    EXPECT_EQ(skipping.values(), (std::vector<std::string>{"a0", "a1", "c0", "c1", "c2", "new"}));
    EXPECT_EQ(skipping.records[2].offset, 3);
  }
}

TEST_F(Rot, TheFirstBatchMayBeTheDamagedOne) {
  flip_bit(log_file(), 70);
  auto p = new_process();
  EXPECT_EQ(must(append(*p->appender("t"), {"new"})).base, Offset(6));
  EXPECT_EQ(p->read(p->place("t"), Offset(0), false, true).values(),
            (std::vector<std::string>{"b0", "c0", "c1", "c2", "new"}));
}

TEST_F(Rot, DamageInTwoPlacesIsPassedTwice) {
  flip_bit(log_file(), starts[0] + 30);
  flip_bit(log_file(), starts[2] - 1);
  auto p = new_process();
  const PartitionPlace place = p->place("t");
  EXPECT_EQ(p->read(place, Offset(0), false, true).values(),
            (std::vector<std::string>{"c0", "c1", "c2"}));
}

TEST_F(Rot, ATornTailBehindRotIsStillCut) {
  flip_bit(log_file(), starts[2] - 1);
  append_to(log_file(), "torn");
  auto p = new_process();
  EXPECT_EQ(must(append(*p->appender("t"), {"new"})).base, Offset(6));
  EXPECT_EQ(slurp(file("spool.cut-6")), "torn");
  EXPECT_EQ(p->notices.size(), 2U);
}

}  // namespace
}  // namespace spool::test
