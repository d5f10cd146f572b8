// A sync that fails, and small writes that fail beside an append: what was acknowledged stays, no
// offset is given out twice, and nobody goes on behind bytes that the disk may have lost.

#include <gtest/gtest.h>

#include "log/appender.h"
#include "log/epochs.h"
#include "log/state_file.h"
#include "support/fault_fs.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

class FailedSync : public LogTest {
 protected:
  PartitionState state() { return must(read_state(posix_fs(), folder())).value(); }
  std::uint64_t inode(std::int64_t base = 0) { return must(posix_fs().stat(log_file(base))).inode; }
  void fail_next_sync(FaultFs& fs, const std::string& of = ".log") {
    fs.plan({Call::kSync, 1, EIO, false, of});
  }
};

// The other one opened before the failure and would never look again: only another file makes it.
TEST_F(FailedSync, AmongOthersTheSegmentIsRewrittenAtOnce) {
  FaultFs fs;
  auto p = new_process(fs);
  (void)p->create("t");
  auto q = new_process();
  auto a = p->appender("t");
  auto b = q->appender("t");
  must(append(*a, {"a"}));
  must(append(*b, {"b"}));
  const std::uint64_t before = inode();
  fail_next_sync(fs);
  EXPECT_FALSE(a->sync());
  const std::uint64_t after = inode();
  EXPECT_NE(after, before);
  EXPECT_FALSE(state().suspect);
  EXPECT_FALSE(exists(file("spool.rewrite.tmp")));
  EXPECT_EQ(must(append(*b, {"c"})).base, Offset(2));
  must(b->sync());
  EXPECT_EQ(inode(), after);
  EXPECT_EQ(q->read("t").values(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_FALSE(append(*a, {"d"}));
  EXPECT_TRUE(p->notices.empty());
}

// Where the copy fails too, the mark must be seen by one that is open already.
TEST_F(FailedSync, AMarkIsSeenByAnOpenAppender) {
  FaultFs fs;
  auto p = new_process(fs);
  (void)p->create("t");
  auto q = new_process();
  auto a = p->appender("t");
  auto b = q->appender("t");
  must(append(*a, {"a"}));
  must(append(*b, {"b"}));
  const std::uint64_t before = inode();
  fs.plan({Call::kSync, 1, EIO, true, ""});
  EXPECT_FALSE(a->sync());
  fs.heal();
  EXPECT_EQ(inode(), before);
  EXPECT_TRUE(state().suspect);
  EXPECT_EQ(must(append(*b, {"c"})).base, Offset(2));
  EXPECT_NE(inode(), before);
  EXPECT_FALSE(state().suspect);
  EXPECT_EQ(q->read("t").values(), (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(FailedSync, OfASegmentThatWasRolledMeanwhileRewritesThatOne) {
  FaultFs fs;
  auto p = new_process(fs);
  (void)p->create("t", 1, {{"segment.ms", "1000"}});
  auto q = new_process();
  auto a = p->appender("t");
  must(append(*a, {"a"}));
  auto b = q->appender("t");
  must(append(*b, {"b"}, kStart + 5000));
  const std::uint64_t first = inode(0);
  const std::uint64_t second = inode(1);
  fail_next_sync(fs);
  EXPECT_FALSE(a->sync());
  EXPECT_NE(inode(0), first);
  EXPECT_EQ(inode(1), second);
  EXPECT_EQ(must(append(*b, {"c"}, kStart + 5000)).base, Offset(2));
  EXPECT_EQ(q->read("t").values(), (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(FailedSync, AMarkNamesTheSegmentThatWasRolledMeanwhile) {
  FaultFs fs;
  auto p = new_process(fs);
  (void)p->create("t", 1, {{"segment.ms", "1000"}});
  auto q = new_process();
  auto a = p->appender("t");
  must(append(*a, {"a"}));
  auto b = q->appender("t");
  must(append(*b, {"b"}, kStart + 5000));
  const std::uint64_t first = inode(0);
  fs.plan({Call::kSync, 1, EIO, true, ""});
  EXPECT_FALSE(a->sync());
  fs.heal();
  EXPECT_TRUE(state().suspect);
  EXPECT_EQ(state().suspect_from, Offset(0));
  must(append(*q->appender("t"), {"c"}, kStart + 5000));
  EXPECT_NE(inode(0), first);
  EXPECT_FALSE(state().suspect);
}

// With --fsync never a record is reported when it is written: a roll must not take it back.
TEST_F(FailedSync, OfARollTakesNothingBack) {
  FaultFs fs;
  auto p = new_process(fs);
  (void)p->create("t", 1, {{"segment.ms", "1000"}});
  auto a = p->appender("t");
  must(append(*a, {"a"}));
  must(append(*a, {"b"}));
  const std::uint64_t before = inode();
  fail_next_sync(fs);
  EXPECT_FALSE(append(*a, {"c"}, kStart + 5000));
  EXPECT_FALSE(append(*a, {"d"}));
  EXPECT_NE(inode(), before);
  auto q = new_process();
  EXPECT_EQ(must(append(*q->appender("t"), {"e"})).base, Offset(2));
  EXPECT_EQ(q->read("t").values(), (std::vector<std::string>{"a", "b", "e"}));
}

TEST_F(FailedSync, WhatIsCutRaisesTheEpochSinceReadersMayHaveSeenIt) {
  FaultFs fs;
  auto p = new_process(fs);
  (void)p->create("t");
  auto a = p->appender("t");
  must(append(*a, {"a"}));
  must(a->sync());
  must(append(*a, {"b"}));
  fail_next_sync(fs);
  EXPECT_FALSE(a->sync());
  auto q = new_process();
  EXPECT_EQ(must(append(*q->appender("t"), {"c"})).base, Offset(1));
  const auto epochs = must(read_epochs(posix_fs(), folder()));
  ASSERT_EQ(epochs.size(), 2U);
  EXPECT_EQ(epochs[1].epoch, Epoch(1));
  EXPECT_EQ(epochs[1].start, Offset(1));
  const std::string log = slurp(log_file());
  const auto starts = batch_starts(log_file());
  EXPECT_EQ(BatchHeader::decode(as_bytes(log).data() + starts[1]).leader_epoch, Epoch(1));
}

// Others cut what this one had synced, and wrote again: a later cut must not go by the old place.
TEST_F(FailedSync, ACutGoesByWhatWasSyncedSinceItLookedAgain) {
  FaultFs fs;
  FaultFs other;
  auto p = new_process(fs);
  (void)p->create("t");
  auto q = new_process(other);
  auto a = p->appender("t");
  auto b = q->appender("t");
  must(append(*a, {"a"}));
  must(a->sync());
  must(append(*a, {std::string(500, 'x')}));
  must(b->open());
  must(b->sync());  // covers what a appended
  fail_next_sync(fs);
  EXPECT_FALSE(a->sync());  // and is cut all the same
  must(append(*b, {std::string(900, 'b')}));
  fail_next_sync(other);
  EXPECT_FALSE(b->sync());
  auto r = new_process();
  must(append(*r->appender("t"), {"c"}));
  EXPECT_TRUE(r->notices.empty()) << r->notices[0];
  const ReadBack back = r->read("t");
  EXPECT_FALSE(back.error);
  EXPECT_EQ(back.values().front(), "a");
  EXPECT_EQ(back.values().back(), "c");
}

// Readers may have shown the batch as soon as it was written.
TEST_F(FailedSync, AFailedIndexWriteUndoesNothing) {
  for (const char* suffix : {".index", ".timeindex"}) {
    for (const Call call : {Call::kWrite, Call::kShortWrite}) {
      SCOPED_TRACE(fmt::format("{} of {}", call_name(call), suffix));
      const TempDir own;
      root = own / "log";
      FaultFs fs;
      small_segments(1 << 30, 0);
      auto p = new_process(fs);
      (void)p->create("t");
      auto a = p->appender("t");
      must(append(*a, {"a"}, kStart));
      fs.plan({call, 1, ENOSPC, false, suffix});
      EXPECT_EQ(must(append(*a, {"b"}, kStart + 1)).base, Offset(1));
      EXPECT_EQ(fs.fired(), 1);
      EXPECT_EQ(must(append(*a, {"c"}, kStart + 2)).base, Offset(2));
      must(a->sync());
      EXPECT_EQ(p->read("t").values(), (std::vector<std::string>{"a", "b", "c"}));
      EXPECT_EQ(slurp(log_file(0, ".index")).size(), 16U);
      EXPECT_EQ(slurp(log_file(0, ".timeindex")).size(), 24U);
      EXPECT_TRUE(p->notices.empty());
    }
  }
}

// Whoever finds partition.metadata believes that the folder is on disk.
TEST_F(FailedSync, AFolderIsNamedOnDiskBeforeItIsCalledComplete) {
  for (const bool parent : {false, true}) {
    const TempDir own;
    root = own / "log";
    FaultFs fs;
    auto p = new_process(fs);
    (void)p->create("t");
    fs.plan({Call::kSyncDir, 1, EIO, true, parent ? "/log" : "/t-0"});
    EXPECT_FALSE(append(*p->appender("t"), {"a"}));
    EXPECT_GT(fs.fired(), 0);
    EXPECT_FALSE(exists(file("partition.metadata")));
    fs.heal();
    EXPECT_EQ(must(append(*p->appender("t"), {"b"})).base, Offset(0));
    EXPECT_TRUE(exists(file("partition.metadata")));
  }
}

}  // namespace
}  // namespace spool::test
