#include "resume_file.h"

#include <limits>

#include <gtest/gtest.h>

#include "io/atomic_file.h"
#include "io/posix_fs.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

ReplayProgress example() {
  ReplayProgress p;
  p.sources.push_back({"clicks", Uuid::random(), PartitionId(0), 4611686018427387905, Offset(17)});
  p.sources.push_back(
      {"old", std::nullopt, PartitionId(3), 7, Offset(std::numeric_limits<std::int64_t>::max())});
  p.targets.push_back({"copy", Uuid::random(), true, 6});
  p.targets.push_back({"other", std::nullopt, false, 0});
  p.ends.push_back({"copy", PartitionId(5), Offset(99)});
  p.count = 12;
  return p;
}

TEST(ResumeFile, ReadsWhatItWrote) {
  const std::string text = format_progress(example());
  const auto back = parse_progress(with_checksum(text), "f");
  ASSERT_TRUE(back);
  EXPECT_EQ(format_progress(*back).substr(0, 20), text.substr(0, 20));
  EXPECT_EQ(back->sources.size(), 2U);
  EXPECT_EQ(back->sources[1].topic, "old");
  EXPECT_FALSE(back->sources[1].id);
  EXPECT_EQ(back->sources[1].next.value(), std::numeric_limits<std::int64_t>::max());
  EXPECT_TRUE(back->targets[0].keep);
  EXPECT_EQ(back->targets[0].partitions, 6);
  EXPECT_EQ(back->ends[0].offset, Offset(99));
  EXPECT_EQ(back->count, 12);
  EXPECT_EQ(format_progress(*parse_progress(with_checksum(format_progress(*back)), "f")),
            format_progress(*back));
}

TEST(ResumeFile, RefusesEverythingElse) {
  const std::string good = format_progress(example());
  std::vector<std::string> bad{
      "",
      "notes\n",
      with_checksum("spool replay 2\ncount 1\n"),
      with_checksum("spool replay 1\nsource t - 0 1\n"),
      with_checksum("spool replay 1\nsource t - 0 1 2 3\n"),
      with_checksum("spool replay 1\nsource t - 0 1 -2\n"),
      with_checksum("spool replay 1\nsource t notanid 0 1 2\n"),
      with_checksum("spool replay 1\ntarget t - both 3\n"),
      with_checksum("spool replay 1\nend t 99999999999 3\n"),
      with_checksum("spool replay 1\ncount 99999999999999999999\n"),
      with_checksum("spool replay 1\nmore 1\n"),
      good,
  };
  const std::string whole = with_checksum(good);
  for (std::size_t size = 0; size < whole.size(); ++size)
    bad.push_back(whole.substr(0, size));
  for (std::size_t at = 0; at < whole.size(); at += 7) {
    bad.push_back(whole);
    bad.back()[at] = static_cast<char>(bad.back()[at] ^ 1);
  }
  for (const std::string& text : bad) {
    const auto parsed = parse_progress(text, "f");
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Errc::kConflict);
  }
}

TEST(ResumeFile, MissingAndEmptyAreNone) {
  TempDir dir;
  const std::string path = dir / "f";
  EXPECT_FALSE(must(load_progress(posix_fs(), path)));
  spew(path, "");
  EXPECT_FALSE(must(load_progress(posix_fs(), path)));
  must(save_progress(posix_fs(), path, example()));
  EXPECT_TRUE(must(load_progress(posix_fs(), path)));
}

TEST(ResumeFile, SequencesTellOffsets) {
  constexpr std::int64_t kTurn = std::int64_t{1} << 31;
  EXPECT_EQ(sequence_of(Offset(0)), 0);
  EXPECT_EQ(sequence_of(Offset(kTurn - 1)), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(sequence_of(Offset(kTurn)), 0);
  for (const std::int64_t near :
       {std::int64_t{0}, std::int64_t{12345}, kTurn - 1, kTurn, 5 * kTurn + 7, kTurn / 2}) {
    for (const std::int64_t away : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1},
                                    std::int64_t{1000}, kSequenceReach - 1, -kSequenceReach}) {
      const Offset offset(near + away);
      if (offset < Offset(0)) continue;
      EXPECT_EQ(offset_of(sequence_of(offset), Offset(near)), offset) << near << ' ' << away;
    }
  }
}

}  // namespace
}  // namespace spool::test
