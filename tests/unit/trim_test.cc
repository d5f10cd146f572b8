#include "log/trim.h"

#include <gtest/gtest.h>

#include "log/checkpoint.h"
#include "log/epochs.h"
#include "log/lookup.h"
#include "support/fault_fs.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

class TrimTest : public LogTest {
 protected:
  /// Ten records a batch, a batch or two a segment: 0 to 99.
  void fill(Process& p) {
    small_segments(600);
    p.tune = tune;
    (void)p.create("t");
    auto appender = p.appender("t");
    for (int n = 0; n < 100; n += 10)
      must(append(*appender, numbered("value-that-is-longer-", n, n + 10)));
    must(appender->sync());
  }
  Result<TrimResult> trim(Process& p, std::int64_t target,
                          TrimBelowStart below = TrimBelowStart::kFails) {
    return trim_partition(p.store->env(), p.place("t"), Offset(target), below);
  }
  PartitionView view(Process& p) { return must(view_partition(p.store->env(), p.place("t"))); }
  std::int64_t bytes(Process& p) { return partition_bytes(p.store->env(), p.place("t"), view(p)); }
  std::string checkpoint() { return slurp(root + "/log-start-offset-checkpoint"); }
};

TEST_F(TrimTest, WithinASegmentOnlyTheStartMoves) {
  auto p = new_process();
  fill(*p);
  const auto before = view(*p);
  ASSERT_GT(before.files.segments.size(), 3U);
  const auto done = must(trim(*p, 3));
  EXPECT_EQ(done.old_start, Offset(0));
  EXPECT_EQ(done.new_start, Offset(3));
  EXPECT_EQ(done.segments, 0);
  EXPECT_EQ(checkpoint(), "0\n1\nt 0 3\n");
  const auto after = view(*p);
  EXPECT_EQ(after.log_start, Offset(3));
  EXPECT_EQ(after.log_end, Offset(100));
  EXPECT_EQ(after.files.segments, before.files.segments);
  EXPECT_EQ(slurp(file("leader-epoch-checkpoint")), "0\n1\n0 3\n");
}

TEST_F(TrimTest, WholeSegmentsGoWithTheirIndexes) {
  auto p = new_process();
  fill(*p);
  const auto before = view(*p);
  const Offset target = before.files.segments[2];
  const auto planned =
      must(plan_trim(p->store->env(), p->place("t"), target, TrimBelowStart::kFails));
  const auto done = must(trim(*p, target.value()));
  EXPECT_EQ(done.segments, 2);
  EXPECT_GT(done.bytes, 0);
  EXPECT_EQ(planned.segments, done.segments);
  EXPECT_EQ(planned.bytes, done.bytes);
  EXPECT_FALSE(exists(log_file(0)));
  EXPECT_FALSE(exists(log_file(0, ".index")));
  EXPECT_FALSE(exists(log_file(0, ".timeindex")));
  EXPECT_FALSE(exists(root + "/log-start-offset-checkpoint")) << "the first segment says it";
  EXPECT_EQ(view(*p).log_start, target);
  // One more record, and the start is written down; a whole segment more, and it is not any more.
  must(trim(*p, target.value() + 1));
  EXPECT_EQ(checkpoint(), fmt::format("0\n1\nt 0 {}\n", target.value() + 1));
  must(trim(*p, before.files.segments[3].value()));
  EXPECT_EQ(checkpoint(), "0\n0\n");
}

TEST_F(TrimTest, ToTheEndANewSegmentKeepsTheEnd) {
  auto p = new_process();
  fill(*p);
  auto writer = new_process();
  auto appender = writer->appender("t");
  must(append(*appender, {"one more"}));
  must(trim(*p, 101));
  EXPECT_EQ(view(*p).log_start, Offset(101));
  EXPECT_EQ(view(*p).log_end, Offset(101));
  EXPECT_EQ(view(*p).files.segments, std::vector<Offset>{Offset(101)});
  EXPECT_EQ(bytes(*p), 0);
  // Who had it open goes on there, and so does a new one.
  EXPECT_EQ(must(append(*appender, {"x"})).base, Offset(101));
  EXPECT_EQ(must(append(*new_process()->appender("t"), {"y"})).base, Offset(102));
  EXPECT_EQ(p->read("t").values(), (std::vector<std::string>{"x", "y"}));
  // Nothing to do twice.
  const auto again = must(trim(*p, 101));
  EXPECT_EQ(again.segments, 0);
  EXPECT_EQ(slurp(file("leader-epoch-checkpoint")), "0\n1\n0 101\n");
}

TEST_F(TrimTest, OutsideOfTheLogIsAnErrorThatNamesTheRange) {
  auto p = new_process();
  fill(*p);
  must(trim(*p, 40));
  for (const std::int64_t bad : {0, 39, 101}) {
    const auto got = trim(*p, bad);
    ASSERT_FALSE(got) << bad;
    EXPECT_EQ(got.error().code, Errc::kOutOfRange);
    EXPECT_EQ(got.error().context,
              fmt::format("t-0: offset {} is outside of the log, which is 40 to 100", bad));
  }
  EXPECT_EQ(must(trim(*p, 39, TrimBelowStart::kNothing)).new_start, Offset(40));
  EXPECT_FALSE(trim(*p, 101, TrimBelowStart::kNothing));
  EXPECT_EQ(view(*p).log_start, Offset(40));
}

TEST_F(TrimTest, AnEmptyPartition) {
  auto p = new_process();
  (void)p->create("t");
  EXPECT_EQ(must(trim(*p, 0)).new_start, Offset(0));
  EXPECT_FALSE(trim(*p, 1));
  EXPECT_FALSE(exists(folder()));
  must(p->appender("t")->open());
  EXPECT_EQ(must(trim(*p, 0)).segments, 0);
}

TEST_F(TrimTest, AReaderBelowTheStartIsToldHowManyAreGone) {
  auto p = new_process();
  fill(*p);
  const PartitionPlace place = p->place("t");
  RecordStream stream(p->store->env(), place, Offset(0), {.chunk_bytes = 1});
  ASSERT_EQ(must(stream.next()), RecordStream::Step::kRecord);
  const Offset target = view(*p).files.segments[4];
  must(trim(*p, target.value()));
  std::vector<std::int64_t> offsets;
  std::int64_t gone = 0;
  while (must(stream.next()) == RecordStream::Step::kRecord) {
    offsets.push_back(stream.record().offset.value());
    gone += stream.take_gone();
  }
  // It got to the end of the file that it had open.
  const std::int64_t first_end =
      view(*p).log_end.value() - static_cast<std::int64_t>(offsets.size()) - gone;
  EXPECT_EQ(first_end, 1) << "every offset was read, or counted as gone";
  EXPECT_GT(gone, 0);
  EXPECT_EQ(offsets.back(), 99);
}

TEST_F(TrimTest, ATornEndIsLookedAtBeforeEverythingGoes) {
  auto p = new_process();
  fill(*p);
  const Offset last = view(*p).files.segments.back();
  append_to(log_file(last.value()), "torn");
  must(trim(*p, 100));
  EXPECT_EQ(view(*p).log_end, Offset(100));
  EXPECT_EQ(bytes(*p), 0);
  EXPECT_TRUE(exists(file("spool.cut-100")));
  EXPECT_EQ(must(append(*p->appender("t"), {"x"})).base, Offset(100));
}

TEST_F(TrimTest, ADeletedTopicIsNotTrimmed) {
  auto p = new_process();
  fill(*p);
  const PartitionPlace old = p->place("t");
  must(p->store->delete_topic(must(p->store->find_topic("t"))));
  EXPECT_EQ(trim_partition(p->store->env(), old, Offset(0), TrimBelowStart::kFails).error().code,
            Errc::kDeleted);
  (void)p->create("t");
  must(append(*p->appender("t"), {"new"}));
  EXPECT_EQ(trim_partition(p->store->env(), old, Offset(1), TrimBelowStart::kFails).error().code,
            Errc::kDeleted);
  EXPECT_EQ(p->read("t").values(), std::vector<std::string>{"new"});
}

/// Whatever fails, what is there afterwards is the log from some offset on.
TEST_F(TrimTest, EveryFailureLeavesTheLogFromSomeOffsetOn) {
  for (const Call call :
       {Call::kWrite, Call::kCreate, Call::kRename, Call::kUnlink, Call::kSyncDir, Call::kSync}) {
    for (const std::int64_t target : {55, 100}) {
      for (int nth = 1;; ++nth) {
        const TempDir fresh;
        root = fresh / "log";
        auto p = new_process();
        fill(*p);
        FaultFs faulty;
        auto q = new_process(faulty);
        faulty.plan({.call = call, .nth = nth, .sys_errno = ENOSPC, .sticky = true, .only = ""});
        const auto done = trim(*q, target);
        const bool fired = faulty.fired() > 0;
        faulty.heal();
        const auto after = view(*p);
        EXPECT_LE(after.log_start, Offset(target));
        EXPECT_EQ(after.log_end, Offset(100)) << call_name(call) << ' ' << nth;
        if (done) {
          EXPECT_EQ(after.log_start, Offset(target));
        }
        const auto read = p->read(p->place("t"), after.log_start);
        EXPECT_FALSE(read.error);
        EXPECT_EQ(read.values(), numbered("value-that-is-longer-",
                                          static_cast<int>(after.log_start.value()), 100));
        EXPECT_EQ(must(append(*new_process()->appender("t"), {"x"})).base, Offset(100));
        must(trim(*p, target, TrimBelowStart::kNothing));
        EXPECT_EQ(view(*p).log_start, Offset(target));
        if (!fired) break;
      }
    }
  }
}

TEST_F(TrimTest, OnAFullDiskWholeSegmentsGoWithoutAWrite) {
  auto p = new_process();
  fill(*p);
  FaultFs full;
  auto q = new_process(full);
  full.plan({.call = Call::kWrite, .nth = 1, .sys_errno = ENOSPC, .sticky = true, .only = ""});
  const Offset target = view(*p).files.segments[3];
  // The epochs want to be written, but that comes last.
  (void)trim(*q, target.value());
  EXPECT_EQ(view(*p).log_start, target);
  (void)trim(*q, 100);
  EXPECT_EQ(view(*p).log_start, Offset(100));
  EXPECT_EQ(bytes(*p), 0);
}

TEST(EpochsFrom, AreCutAsKafkaCutsThem) {
  const std::vector<EpochStart> all{
      {Epoch(0), Offset(0)}, {Epoch(2), Offset(50)}, {Epoch(3), Offset(100)}};
  EXPECT_EQ(epochs_from(all, Offset(0)), all);
  EXPECT_EQ(format_epochs(epochs_from(all, Offset(49))), "0\n3\n0 49\n2 50\n3 100\n");
  EXPECT_EQ(format_epochs(epochs_from(all, Offset(50))), "0\n2\n2 50\n3 100\n");
  EXPECT_EQ(format_epochs(epochs_from(all, Offset(70))), "0\n2\n2 70\n3 100\n");
  EXPECT_EQ(format_epochs(epochs_from(all, Offset(500))), "0\n1\n3 500\n");
  EXPECT_TRUE(epochs_from({}, Offset(5)).empty());
}

TEST(LogStartCheckpoint, OtherLinesStay) {
  const TempDir dir;
  ManualClock clock(kStart);
  DirLocks locks(posix_fs(), dir.path(), 0600);
  LogEnv env{posix_fs(), clock, locks, dir.path(), "", 0600, 0700, {}};
  const std::string path = dir / kLogStartCheckpoint;
  must(set_log_start(env, "t", PartitionId(0), std::nullopt));
  EXPECT_FALSE(exists(path));
  spew(path, "0\n2\nt 1 6\nother 0 7\n");
  must(set_log_start(env, "t", PartitionId(0), Offset(5)));
  EXPECT_EQ(slurp(path), "0\n3\nt 1 6\nother 0 7\nt 0 5\n");
  must(set_log_start(env, "t", PartitionId(1), Offset(8)));
  EXPECT_EQ(slurp(path), "0\n3\nt 1 8\nother 0 7\nt 0 5\n");
  must(set_log_start(env, "t", PartitionId(1), std::nullopt));
  EXPECT_EQ(slurp(path), "0\n2\nother 0 7\nt 0 5\n");
  spew(dir / "cleaner-offset-checkpoint", "0\n1\nt 0 3\n");
  must(forget_topic(env, "t"));
  EXPECT_EQ(slurp(path), "0\n1\nother 0 7\n");
  EXPECT_EQ(slurp(dir / "cleaner-offset-checkpoint"), "0\n0\n");
  spew(path, "0\n9\n");
  EXPECT_EQ(set_log_start(env, "t", PartitionId(0), Offset(5)).error().code, Errc::kCorrupt);
}

}  // namespace
}  // namespace spool::test
