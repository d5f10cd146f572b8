#include "reset_plan.h"

#include <gtest/gtest.h>

#include "group/undo_file.h"
#include "log/trim.h"
#include "support/golden.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

constexpr std::int64_t kFirst = 1'700'000'000'000;  ///< the time of offset 0; a second an offset

/// Topic t; group g has the offsets in brackets:
///   0  offsets 0 to 10 [5]
///   1  empty, its folder was never made [0]
///   2  offsets 4 to 10, trimmed [6]
///   3  offsets 0 to 10, never committed
///   4  all trimmed away: 10 to 10 [3]
///   5  offsets 0 to 10, committed behind the end [25]
class ResetPlanTest : public LogTest {
 protected:
  ResetPlanTest() : p(new_process()), offsets(*p->store), ends(*p->store) {
    p->create("t", 6);
    for (const int partition : {0, 2, 3, 4, 5}) {
      const auto to = p->appender("t", partition);
      for (int i = 0; i < 10; ++i)
        must(append(*to, {"v"}, TimestampMs(kFirst + i * 1000)));
    }
    must(trim_partition(p->store->env(), p->place("t", 2), Offset(4), TrimBelowStart::kFails));
    must(trim_partition(p->store->env(), p->place("t", 4), Offset(10), TrimBelowStart::kFails));
    must(offsets.commit("g", -1, {at(0, 5), at(1, 0), at(2, 6), at(4, 3), at(5, 25)}));
  }
  static OffsetChange at(int partition, std::int64_t offset, const std::string& topic = "t") {
    return {{topic, PartitionId(partition)}, Offset(offset), ""};
  }
  static Result<ResetOptions> options(const std::vector<std::string>& words) {
    TRY_ASSIGN(const Args args, parse_options(*find_command("reset-offsets"), words));
    return read_reset_options(args, TimestampMs(kFirst + 10'000));
  }
  Result<std::vector<ResetRow>> rows(const std::vector<std::string>& words,
                                     const FileOffsets& file = {}) {
    TRY_ASSIGN(const ResetOptions o, options(words));
    return plan_reset(*p->store, offsets, ends, o, o.groups.front(), file);
  }
  static std::string text(const std::vector<ResetRow>& rows) {
    std::string out;
    for (const ResetRow& r : rows) {
      if (!out.empty()) out += ' ';
      if (r.skipped) {
        out += "skip";
      } else {
        out += r.after ? std::to_string(r.after->value()) : "none";
      }
      if (!r.note.empty() && !r.skipped) out += '!';
    }
    return out;
  }
  /// Where partitions 0 to 5 of t go; with '!' where there is a note.
  std::string plan(std::vector<std::string> words, const FileOffsets& file = {}) {
    words.insert(words.begin(), {"-g", "g", "-t", "t"});
    const auto made = rows(words, file);
    return made ? text(*made) : made.error().message();
  }

  std::unique_ptr<Process> p;
  OffsetStore offsets;
  LogEnds ends;
};

TEST_F(ResetPlanTest, EachModeGivesExactOffsets) {
  const std::string max = "9223372036854775807";
  const struct {
    std::vector<std::string> words;
    std::string want;
  } table[] = {
      {{"--to-earliest"}, "0 0 4 0 10 0"},
      {{"--to-latest"}, "10 0 10 10 10 10"},
      {{"--to-current"}, "5 0 6 skip 3 25"},
      {{"--to-offset", "0"}, "0 0 4! 0 10! 0"},
      {{"--to-offset", "4"}, "4 0! 4 4 10! 4"},
      {{"--to-offset", "10"}, "10 0! 10 10 10 10"},
      {{"--to-offset", "11"}, "10! 0! 10! 10! 10! 10!"},
      {{"--to-offset", max}, "10! 0! 10! 10! 10! 10!"},
      {{"--shift-by", "0"}, "5 0 6 skip 10! 10!"},
      {{"--shift-by", "1"}, "6 0! 7 skip 10! 10!"},
      {{"--shift-by", "+4"}, "9 0! 10 skip 10! 10!"},
      {{"--shift-by", "-2"}, "3 0! 4 skip 10! 10!"},
      {{"--shift-by", "-3"}, "2 0! 4! skip 10! 10!"},
      {{"--shift-by", "-6"}, "0! 0! 4! skip 10! 10!"},
      {{"--shift-by", "-20"}, "0! 0! 4! skip 10! 5"},
      {{"--shift-by", "-" + max}, "0! 0! 4! skip 10! 0!"},
      {{"--shift-by", max}, "10! 0! 10! skip 10! 10!"},
      {{"--to-datetime", std::to_string(kFirst - 1)}, "0 0 4 0 10 0"},
      {{"--to-datetime", std::to_string(kFirst)}, "0 0 4 0 10 0"},
      {{"--to-datetime", std::to_string(kFirst + 1)}, "1 0 4 1 10 1"},
      {{"--to-datetime", std::to_string(kFirst + 4000)}, "4 0 4 4 10 4"},
      {{"--to-datetime", std::to_string(kFirst + 4001)}, "5 0 5 5 10 5"},
      {{"--to-datetime", std::to_string(kFirst + 9000)}, "9 0 9 9 10 9"},
      {{"--to-datetime", std::to_string(kFirst + 9001)}, "10! 0 10! 10! 10 10!"},
      {{"--to-datetime", "2023-11-14T22:13:24Z"}, "4 0 4 4 10 4"},
      {{"--to-datetime", "2023-11-15T03:43:24+05:30"}, "4 0 4 4 10 4"},
      {{"--by-duration", "2s"}, "8 0 8 8 10 8"},
      {{"--by-duration", "7d"}, "0 0 4 0 10 0"},
      {{"--by-duration", "PT3S"}, "7 0 7 7 10 7"},
      {{"--by-duration", "0s"}, "10! 0 10! 10! 10 10!"},
      {{"--to", "start"}, "0 0 4 0 10 0"},
      {{"--to", "end"}, "10 0 10 10 10 10"},
      {{"--to", "7"}, "7 0! 7 7 10! 7"},
      {{"--to", "+0"}, "0 0 4 0 10 0"},
      {{"--to", "+2"}, "2 0 6 2 10 2"},
      {{"--to", "+7"}, "7 0 10 7 10 7"},
      {{"--to", "-3"}, "7 0 7 7 10 7"},
      {{"--to", "-7"}, "3 0 4 3 10 3"},
      {{"--to", "@" + std::to_string(kFirst + 4001)}, "5 0 5 5 10 5"},
  };
  for (const auto& row : table)
    EXPECT_EQ(plan(row.words), row.want) << row.words.front() << " " << row.words.back();
}

TEST_F(ResetPlanTest, StrictChangesNothingOutOfRange) {
  EXPECT_EQ(plan({"--to-offset", "4", "--strict"}), "t-1: 4 is out of range 0 to 0 (--strict)");
  const auto one = rows({"-g", "g", "-t", "t:0", "--to-offset", "10", "--strict"});
  EXPECT_EQ(text(must(one)), "10");
  const auto more = rows({"-g", "g", "-t", "t:0", "--to-offset", "11", "--strict"});
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, Errc::kOutOfRange);
  EXPECT_EQ(text(must(rows({"-g", "g", "-t", "t:3", "--shift-by", "1", "--strict"}))), "skip");
}

TEST_F(ResetPlanTest, OffsetsOfFilesAndOtherGroups) {
  const auto file = must(parse_offsets_text("t,0,7\nt,2,1\nt,5,10\n", "f"));
  EXPECT_EQ(plan({"--from-file", "f"}, file), "7 4! 10") << "only what the file names";
  EXPECT_EQ(text(must(rows({"-g", "g", "--from-file", "f"}, file))), "7 4! 10");
  EXPECT_EQ(text(must(rows({"-g", "g", "-t", "t:0,3", "--from-file", "f"}, file))), "7");
  must(offsets.commit("h", -1, {at(0, 9), at(3, 99)}));
  EXPECT_EQ(plan({"--to-group", "h"}), "9 skip skip 10! skip skip");
  EXPECT_EQ(text(must(rows({"-g", "g", "--to-group", "h"}))), "9 10!");
  const auto nobody = rows({"-g", "g", "--to-group", "nobody"});
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Errc::kNotFound);
}

TEST_F(ResetPlanTest, UndoPutsBackExactlyInRangeOrNot) {
  OffsetsBefore before;
  before[{"t", PartitionId(0)}] = Offset(2);
  before[{"t", PartitionId(3)}] = std::nullopt;
  before[{"t", PartitionId(4)}] = Offset(3);
  must(write_undo(p->store->env(), "g", before));
  EXPECT_EQ(text(must(rows({"-g", "g", "--undo"}))), "2 none! 3");
  EXPECT_EQ(text(must(rows({"-g", "g", "-t", "t:4", "--undo"}))), "3");
  const auto none = rows({"-g", "other", "--undo"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::kNotFound);
}

TEST_F(ResetPlanTest, AllTopicsAreThoseOfTheGroup) {
  must(offsets.commit("g", -1, {at(0, 1, "deleted")}));
  EXPECT_EQ(text(must(rows({"-g", "g", "--all-topics", "--to-earliest"}))), "skip 0 0 4 10 0");
  const auto missing = rows({"-g", "g", "-t", "t:6", "--to-earliest"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::kNotFound);
}

TEST_F(ResetPlanTest, GapsOfCompactionAndAStartThatABrokerMoved) {
  copy_folder(golden_data(), dir / "golden");
  const Process q(dir / "golden", clock);
  OffsetStore there(*q.store);
  LogEnds there_ends(*q.store);
  const auto go = [&](const std::string& topic, const std::vector<std::string>& where) {
    std::vector<std::string> words{"-g", "new", "-t", topic};
    words.insert(words.end(), where.begin(), where.end());
    const ResetOptions o = must(options(words));
    return text(must(plan_reset(*q.store, there, there_ends, o, "new", {})));
  };
  // Its records are at 292 to 302.
  EXPECT_EQ(go("compacted", {"--to-earliest"}), "0");
  EXPECT_EQ(go("compacted", {"--to-latest"}), "303");
  EXPECT_EQ(go("compacted", {"--to-offset", "100"}), "100");
  EXPECT_EQ(go("compacted", {"--to-datetime", "1"}), "292");
  EXPECT_EQ(go("compacted", {"--to-datetime", "1796080494821"}), "292");
  EXPECT_EQ(go("compacted", {"--to-datetime", "1796080494822"}), "300");
  EXPECT_EQ(go("compacted", {"--to-datetime", "1796080497854"}), "303!");
  EXPECT_EQ(go("trimmed", {"--to-earliest"}), "40");
  EXPECT_EQ(go("trimmed", {"--to-offset", "39"}), "40!");
  EXPECT_EQ(go("trimmed", {"--to-datetime", "1"}), "40");
}

}  // namespace
}  // namespace spool::test
