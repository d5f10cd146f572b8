#include "commit_rule.h"

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/log_fixture.h"

namespace spool::test {
namespace {

/// Standard output is a pipe, or a file, for the life of this.
class Stdout {
 public:
  explicit Stdout(const std::string& file = "") : saved_(::dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    if (!file.empty()) {
      const int fd = ::open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
      ::dup2(fd, STDOUT_FILENO);
      ::close(fd);
      return;
    }
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    reader_ = ends[0];
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[1]);
  }
  ~Stdout() {
    std::fflush(stdout);
    ::dup2(saved_, STDOUT_FILENO);
    ::close(saved_);
    leave();
  }
  Stdout(const Stdout&) = delete;
  Stdout& operator=(const Stdout&) = delete;

  std::string take(std::size_t bytes) const {
    std::string out(bytes, '\0');
    const ssize_t n = ::read(reader_, out.data(), bytes);
    out.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
    return out;
  }
  void leave() {
    if (reader_ >= 0) ::close(reader_);
    reader_ = -1;
  }

 private:
  int saved_;
  int reader_ = -1;
};

/// A committer with an output before it; commits are noted as "LANE=NEXT".
struct Bench {
  explicit Bench(CommitRule rule)
      : output(false),
        delivery(output),
        committer(rule, delivery, [this](const std::vector<LaneCommit>& lanes) -> Result<void> {
          if (failing) return fail(Errc::kIo, "no");
          for (const LaneCommit& c : lanes)
            commits += fmt::format("{}={} ", c.lane, c.next.value());
          return {};
        }) {}
  void print(int lane, std::int64_t next, std::string_view text) {
    output.text() += text;
    committer.mark(lane, Offset(next), output.bytes() + std::ssize(output.text()));
  }
  void flush() {
    committer.publish();
    (void)output.flush();
    (void)output.finish();
  }
  /// What is committed by a commit that is asked for now.
  std::string committed(bool all = false) {
    commits.clear();
    const auto done = committer.commit_now(all);
    return done ? commits : done.error().message();
  }
  std::string commits;
  bool failing = false;
  Output output;
  Delivery delivery;
  Committer committer;
};

TEST(CommitRule, APipesRecordsCountWhenAllTheirBytesAreTaken) {
  Stdout out;
  Bench b(CommitRule::kWritten);
  EXPECT_TRUE(b.delivery.is_pipe());
  b.print(0, 1, "aaaa\n");
  b.print(0, 2, "bbbb\n");
  b.print(1, 8, "cc\n");
  EXPECT_EQ(b.committed(), "") << "not even written";
  b.flush();
  EXPECT_EQ(b.committed(), "");
  EXPECT_EQ(b.committer.untaken(), 3);
  EXPECT_EQ(out.take(4), "aaaa");
  EXPECT_EQ(b.committed(), "") << "a record without its last byte";
  EXPECT_EQ(out.take(1), "\n");
  EXPECT_EQ(b.committed(), "0=1 ");
  EXPECT_EQ(b.committed(), "") << "once";
  EXPECT_FALSE(b.committer.settled(0));
  EXPECT_EQ(out.take(7), "bbbb\ncc");
  EXPECT_EQ(b.committed(), "0=2 ");
  EXPECT_TRUE(b.committer.settled(0));
  EXPECT_FALSE(b.committer.settled(1));
  // The reader leaves: what he left behind stays uncommitted for ever.
  out.leave();
  EXPECT_TRUE(b.delivery.reader_gone());
  EXPECT_EQ(b.committed(true), "");
  EXPECT_EQ(b.committer.untaken(), 1);
}

TEST(CommitRule, AFilesRecordsCountWhenTheyAreWritten) {
  const TempDir dir;
  const Stdout out(dir / "f");
  Bench b(CommitRule::kWritten);
  EXPECT_FALSE(b.delivery.is_pipe());
  b.print(0, 5, "a\n");
  EXPECT_EQ(b.committed(), "");
  b.flush();
  EXPECT_EQ(b.committed(), "0=5 ");
  EXPECT_EQ(b.committer.untaken(), 0);
}

TEST(CommitRule, WhatIsPassedOverCountsWithTheRecordBefore) {
  const Stdout out;
  Bench b(CommitRule::kWritten);
  b.committer.mark(0, Offset(3), 0);  // dropped by a filter: nothing was printed
  EXPECT_EQ(b.committed(), "0=3 ");
  b.print(0, 4, "a\n");
  b.committer.mark(0, Offset(9), b.output.bytes() + std::ssize(b.output.text()));
  b.flush();
  EXPECT_EQ(b.committed(), "");
  EXPECT_EQ(b.committer.untaken(), 1);
  EXPECT_EQ(out.take(2), "a\n");
  EXPECT_EQ(b.committed(), "0=9 ");
}

TEST(CommitRule, AtTheEndMeansAtTheEndButForLanesThatOthersGet) {
  const TempDir dir;
  const Stdout out(dir / "f");
  Bench b(CommitRule::kEnd);
  b.print(0, 1, "a\n");
  b.print(1, 2, "b\n");
  b.flush();
  EXPECT_EQ(b.committed(), "");
  b.committer.end_lane(1);
  EXPECT_EQ(b.committed(), "1=2 ");
  EXPECT_TRUE(b.committer.settled(1));
  EXPECT_FALSE(b.committer.settled(0));
  EXPECT_EQ(b.committed(true), "0=1 ");
}

TEST(CommitRule, NeverIsNever) {
  const TempDir dir;
  const Stdout out(dir / "f");
  Bench b(CommitRule::kNever);
  b.committer.start();
  b.print(0, 1, "a\n");
  b.flush();
  b.committer.done(0, Offset(1));
  EXPECT_EQ(b.committed(true), "");
  EXPECT_TRUE(b.committer.settled(0)) << "nobody waits for a commit that never comes";
}

TEST(CommitRule, ReportedCountsWhatIsReportedAndNeverGoesBack) {
  const TempDir dir;
  const Stdout out(dir / "f");
  Bench b(CommitRule::kReported);
  b.print(0, 10, "a\n");
  b.flush();
  EXPECT_EQ(b.committed(true), "");
  b.committer.done(0, Offset(7));
  b.committer.done(0, Offset(4));
  EXPECT_EQ(b.committed(), "0=7 ");
  EXPECT_FALSE(b.committer.settled(0));
  b.committer.done(0, Offset(10));
  EXPECT_EQ(b.committed(), "0=10 ");
  EXPECT_TRUE(b.committer.settled(0));
}

TEST(CommitRule, AFailureIsTheEndOfCommitting) {
  const TempDir dir;
  const Stdout out(dir / "f");
  Bench b(CommitRule::kWritten);
  b.print(0, 1, "a\n");
  b.flush();
  b.failing = true;
  EXPECT_EQ(b.committed(), "no");
  b.failing = false;
  EXPECT_EQ(b.committed(), "no");
  ASSERT_TRUE(b.committer.failure());
  EXPECT_EQ(b.committer.failure()->code, Errc::kIo);
  EXPECT_EQ(b.commits, "");
  EXPECT_TRUE(b.committer.settled(0)) << "nobody waits for it";
}

TEST(CommitRule, ADroppedLaneCommitsNothingMore) {
  const Stdout out;
  Bench b(CommitRule::kWritten);
  b.print(0, 1, "a\n");
  b.print(1, 1, "b\n");
  b.flush();
  b.committer.drop(0);
  EXPECT_EQ(out.take(4), "a\nb\n");
  EXPECT_EQ(b.committed(), "1=1 ");
}

TEST(CommitRule, ThreadsCommitByThemselvesWhatAReaderTakes) {
  const Stdout out;
  Bench b(CommitRule::kWritten);
  b.committer.start();
  b.print(0, 1, "a\n");
  b.flush();
  EXPECT_EQ(out.take(2), "a\n");
  for (int i = 0; i < 1000 && !b.committer.settled(0); ++i)
    ::usleep(10'000);
  EXPECT_TRUE(b.committer.settled(0));
  b.committer.stop();
  EXPECT_EQ(b.commits, "0=1 ");
}

}  // namespace
}  // namespace spool::test
