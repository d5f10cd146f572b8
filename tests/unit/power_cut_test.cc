// Another boot, another folder, or nothing known: unsynced pages may have reached the disk in any
// order, so the first bad batch behind the recovery point ends the log.

#include <gtest/gtest.h>

#include "log/appender.h"
#include "log/epochs.h"
#include "log/state_file.h"
#include "support/fault_fs.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

class PowerCut : public LogTest {
 protected:
  /// Segments of three batches of two records: bases 0, 6, 12, the last one with two batches.
  void fill() {
    Batch probe(kStart, {"value-00", "value-01"});
    small_segments(3 * static_cast<std::int64_t>(probe.bytes().size()));
    auto p = new_process();
    (void)p->create("t");
    auto a = p->appender("t");
    for (int i = 0; i < 8; ++i) {
      values.push_back(fmt::format("value-{:02}", 2 * i));
      values.push_back(fmt::format("value-{:02}", 2 * i + 1));
      must(append(*a, {values[values.size() - 2], values.back()}));
    }
    ASSERT_TRUE(exists(log_file(12)));
  }
  void another_boot(std::optional<std::int64_t> recovery_point = {}) {
    PartitionState s = must(read_state(posix_fs(), folder())).value();
    s.boot_id = "00000000-1111-2222-3333-444444444444";
    if (recovery_point) s.recovery_point = Offset(*recovery_point);
    must(write_state(posix_fs(), folder(), s, 0600, Durability::kNone));
  }
  PartitionState state() { return must(read_state(posix_fs(), folder())).value(); }
  [[nodiscard]] std::vector<std::string> first(std::size_t n) const {
    return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n)};
  }
  std::string epochs() { return slurp(file("leader-epoch-checkpoint")); }

  std::vector<std::string> values;
};

TEST_F(PowerCut, AWholeLogIsKeptAsItIs) {
  fill();
  another_boot(0);
  auto p = new_process();
  EXPECT_EQ(must(append(*p->appender("t"), {"new"})).base, Offset(16));
  EXPECT_TRUE(p->notices.empty());
  EXPECT_EQ(epochs(), "0\n1\n0 0\n");
  EXPECT_EQ(state().recovery_point, Offset(16));
  EXPECT_EQ(state().boot_id, must(posix_fs().boot_id()));
}

TEST_F(PowerCut, TheFirstBadBatchEndsTheLogAndLaterSegmentsGo) {
  fill();
  const auto starts = batch_starts(log_file(6));
  const std::string middle = slurp(log_file(6));
  flip_bit(log_file(6), starts[1] + 65);
  const std::string damaged = slurp(log_file(6));
  const std::string last = slurp(log_file(12));
  another_boot(0);
  auto p = new_process();
  // A reader sees what the next appender will leave.
  const ReadBack before = p->read("t");
  EXPECT_FALSE(before.error);
  EXPECT_EQ(before.values(), first(8));
  p->notices.clear();

  EXPECT_EQ(must(append(*p->appender("t"), {"new"})).base, Offset(8));
  EXPECT_EQ(p->notices.size(), 1U);
  EXPECT_EQ(slurp(file("spool.cut-8")), damaged.substr(starts[1]) + last);
  EXPECT_FALSE(exists(log_file(12)));
  EXPECT_FALSE(exists(log_file(12, ".index")));
  EXPECT_FALSE(exists(log_file(12, ".timeindex")));
  std::vector<std::string> want = first(8);
  want.emplace_back("new");
  EXPECT_EQ(p->read("t").values(), want);
  EXPECT_EQ(epochs(), "0\n2\n0 0\n1 8\n");
  EXPECT_EQ(state().recovery_point, Offset(8));
}

TEST_F(PowerCut, WhatIsBelowTheRecoveryPointIsNotLookedAt) {
  fill();
  flip_bit(log_file(0), 70);
  another_boot(6);
  auto p = new_process();
  EXPECT_EQ(must(append(*p->appender("t"), {"new"})).base, Offset(16));
  EXPECT_TRUE(p->notices.empty());
  const ReadBack back = p->read("t");
  ASSERT_TRUE(back.error);
  EXPECT_EQ(back.error->code, Errc::kCorrupt);
}

TEST_F(PowerCut, ASegmentThatIsMissingEndsTheLog) {
  fill();
  const std::string last = slurp(log_file(12));
  std::filesystem::remove(log_file(6));
  another_boot(0);
  auto p = new_process();
  EXPECT_EQ(must(append(*p->appender("t"), {"new"})).base, Offset(6));
  EXPECT_EQ(slurp(file("spool.cut-6")), last);
}

TEST_F(PowerCut, ASegmentCutShortAtABatchEndsTheLog) {
  fill();
  const auto starts = batch_starts(log_file(0));
  cut_file(log_file(0), starts[2]);
  another_boot(0);
  auto p = new_process();
  EXPECT_EQ(must(append(*p->appender("t"), {"new"})).base, Offset(4));
  EXPECT_FALSE(exists(log_file(6)));
  EXPECT_FALSE(exists(log_file(12)));
}

// What was on disk is gone: checked from the last segment's base, and its offsets are not reused.
TEST_F(PowerCut, ARecoveryPointBehindTheEndMeansTheLastSegment) {
  fill();
  const auto starts = batch_starts(log_file(12));
  flip_bit(log_file(12), starts[1] - 1);
  another_boot(1000);
  auto p = new_process();
  EXPECT_EQ(must(append(*p->appender("t"), {"new"})).base, Offset(1000));
  EXPECT_TRUE(exists(file("spool.cut-12")));
  EXPECT_EQ(state().recovery_point, Offset(1000));
}

TEST_F(PowerCut, ACopyIsCheckedAsAfterAPowerCut) {
  fill();
  copy_folder(root, dir / "copy");
  root = dir / "copy";
  flip_bit(log_file(12), batch_starts(log_file(12))[1] - 1);
  auto p = new_process();
  // The state of the original says 12, and everything from there is checked.
  EXPECT_EQ(must(append(*p->appender("t"), {"new"})).base, Offset(12));
  EXPECT_EQ(p->notices.size(), 1U);
}

TEST_F(PowerCut, WithoutAStateEverythingIsCheckedAndTheEpochRises) {
  fill();
  for (const bool torn : {false, true}) {
    if (torn) {
      append_to(file("spool.state"), "x");
    } else {
      std::filesystem::remove(file("spool.state"));
    }
    auto p = new_process();
    must(append(*p->appender("t"), {"new"}));
    EXPECT_TRUE(p->notices.empty());
  }
  EXPECT_EQ(epochs(), "0\n3\n0 0\n1 16\n2 17\n");
  std::filesystem::remove(file("spool.state"));
  flip_bit(log_file(0), 70);
  auto p = new_process();
  EXPECT_EQ(must(append(*p->appender("t"), {"new"})).base, Offset(0));
  EXPECT_EQ(p->read("t").values(), (std::vector<std::string>{"new"}));
}

TEST_F(PowerCut, TheEpochRisesThoughTheOneWhoCutAppendsNothing) {
  fill();
  cut_file(log_file(12), slurp(log_file(12)).size() - 3);
  another_boot(0);
  must(new_process()->appender("t")->open());
  auto p = new_process();
  EXPECT_EQ(must(append(*p->appender("t"), {"new"})).base, Offset(14));
  EXPECT_EQ(epochs(), "0\n2\n0 0\n1 14\n");
}

TEST_F(PowerCut, TakingOverAKafkaFolderRaisesTheEpochOnce) {
  copy_folder(std::string(SPOOL_GOLDEN_DIR) + "/data", root);
  const std::string before = slurp(file("leader-epoch-checkpoint", "codec-none"));
  auto p = new_process();
  must(p->appender("codec-none")->open());
  EXPECT_EQ(must(append(*p->appender("codec-none"), {"new"})).base, Offset(109));
  EXPECT_EQ(must(append(*p->appender("codec-none"), {"new"})).base, Offset(110));
  EXPECT_NE(slurp(file("leader-epoch-checkpoint", "codec-none")), before);
  const auto all = must(read_epochs(posix_fs(), folder("codec-none")));
  EXPECT_EQ(all.back().start, Offset(109));
  EXPECT_EQ(p->read("codec-none").records.size(), 111U);
}

TEST_F(PowerCut, ANewerStateIsRefused) {
  fill();
  spew(file("spool.state"), with_checksum("spool state 2\nsomething else\n"));
  auto p = new_process();
  const auto refused = append(*p->appender("t"), {"x"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kUnsupported);
}

TEST_F(PowerCut, SnapshotsOfOffsetsThatAreGoneGoToo) {
  fill();
  spew(log_file(8, ".snapshot"), "");
  spew(log_file(14, ".snapshot"), "");
  flip_bit(log_file(6), batch_starts(log_file(6))[2] - 1);
  another_boot(0);
  auto p = new_process();
  EXPECT_EQ(must(append(*p->appender("t"), {"new"})).base, Offset(8));
  EXPECT_TRUE(exists(log_file(8, ".snapshot")));
  EXPECT_FALSE(exists(log_file(14, ".snapshot")));
}

TEST_F(PowerCut, RecoveringTwiceIsRecoveringOnce) {
  fill();
  flip_bit(log_file(6), batch_starts(log_file(6))[2] - 1);
  another_boot(0);
  // Every call of the recovery fails once; the next one finishes it.
  FaultFs fs;
  const std::string saved_root = root;
  for (const Call call : {Call::kWrite, Call::kSync, Call::kCreate, Call::kRename, Call::kTruncate,
                          Call::kSyncDir, Call::kUnlink}) {
    for (int nth = 1;; ++nth) {
      SCOPED_TRACE(fmt::format("{} {}", call_name(call), nth));
      const TempDir own;
      root = own / "log";
      copy_folder(saved_root, root);
      auto p = new_process(fs);
      const PartitionPlace place = p->place("t");
      fs.plan({call, nth, EIO, false, ""});
      const bool opened = Appender(p->store->env(), place).open().has_value();
      const bool fired = fs.fired() > 0;
      fs.heal();
      EXPECT_TRUE(opened || fired);
      EXPECT_EQ(must(append(*p->appender("t"), {"new"})).base, Offset(8));
      std::vector<std::string> want = first(8);
      want.emplace_back("new");
      EXPECT_EQ(p->read("t").values(), want);
      if (!fired) break;
    }
  }
  root = saved_root;
}

class Suspect : public PowerCut {};

TEST_F(Suspect, TheFileIsRewrittenAndOthersFollow) {
  auto p = new_process();
  (void)p->create("t");
  auto a = p->appender("t");
  must(append(*a, {"a"}));
  const PartitionPlace place = p->place("t");
  Cursor cursor(p->store->env(), place, Offset(0));
  ASSERT_EQ(must(cursor.next()), Cursor::Step::kBatch);
  ASSERT_EQ(must(cursor.next()), Cursor::Step::kEnd);
  PartitionState s = state();
  s.suspect = true;
  must(write_state(posix_fs(), folder(), s, 0600, Durability::kNone));
  const FileStat before = must(posix_fs().stat(log_file()));
  auto q = new_process();
  must(append(*q->appender("t"), {"b"}));
  EXPECT_NE(must(posix_fs().stat(log_file())).inode, before.inode);
  EXPECT_FALSE(state().suspect);
  EXPECT_FALSE(exists(file("spool.rewrite.tmp")));
  EXPECT_EQ(must(append(*a, {"c"})).base, Offset(2));
  EXPECT_EQ(must(cursor.next()), Cursor::Step::kBatch);
  EXPECT_EQ(cursor.batch().header.base_offset, Offset(1));
  EXPECT_EQ(must(cursor.next()), Cursor::Step::kBatch);
  EXPECT_EQ(must(cursor.next()), Cursor::Step::kEnd);
  EXPECT_EQ(p->read("t").values(), (std::vector<std::string>{"a", "b", "c"}));
}

// A reader that stands before a torn tail must not stay with a file that was replaced.
TEST_F(Suspect, ACursorAtATornTailFollowsToo) {
  auto p = new_process();
  (void)p->create("t");
  must(append(*p->appender("t"), {"a"}));
  append_to(log_file(), "torn");
  const PartitionPlace place = p->place("t");
  Cursor cursor(p->store->env(), place, Offset(0));
  ASSERT_EQ(must(cursor.next()), Cursor::Step::kBatch);
  ASSERT_EQ(must(cursor.next()), Cursor::Step::kEnd);
  PartitionState s = state();
  s.suspect = true;
  must(write_state(posix_fs(), folder(), s, 0600, Durability::kNone));
  must(append(*new_process()->appender("t"), {"b"}));
  EXPECT_EQ(must(cursor.next()), Cursor::Step::kBatch);
  EXPECT_EQ(cursor.batch().header.base_offset, Offset(1));
}

TEST_F(Suspect, AFailedSyncCutsWhatIsAllOurs) {
  FaultFs fs;
  auto p = new_process(fs);
  (void)p->create("t");
  auto a = p->appender("t");
  must(append(*a, {"a"}));
  must(a->sync());
  must(append(*a, {"b"}));
  fs.plan({Call::kSync, 1, EIO, true, ".log"});
  EXPECT_FALSE(a->sync());
  fs.heal();
  EXPECT_FALSE(a->sync());
  EXPECT_FALSE(append(*a, {"c"}));
  EXPECT_FALSE(state().suspect);
  auto q = new_process();
  EXPECT_EQ(q->read("t").values(), (std::vector<std::string>{"a"}));
  EXPECT_EQ(must(append(*q->appender("t"), {"d"})).base, Offset(1));
}

}  // namespace
}  // namespace spool::test
