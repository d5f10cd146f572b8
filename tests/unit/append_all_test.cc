// Several batches in one go: all or the first ones, and whoever asked knows how many.

#include <deque>

#include <gtest/gtest.h>

#include "support/fault_fs.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

class AppendAll : public LogTest {
 protected:
  /// Batches of one value each, about 370 bytes long.
  std::vector<MutableBytes> batches(int from, int to) {
    std::vector<MutableBytes> out;
    for (int i = from; i < to; ++i)
      out.push_back(made_.emplace_back(kStart, std::vector<std::string>{value(i)}).bytes());
    return out;
  }
  static std::string value(int i) { return fmt::format("v{}-{}", i, std::string(300, 'x')); }
  static std::vector<std::string> values(int to) {
    std::vector<std::string> out;
    for (int i = 0; i < to; ++i)
      out.push_back(value(i));
    return out;
  }

 private:
  std::deque<Batch> made_;
};

TEST_F(AppendAll, InOrderAndOverTheEndOfASegment) {
  small_segments(1000);
  auto p = new_process();
  (void)p->create("t");
  auto a = p->appender("t");
  std::vector<std::int64_t> heard;
  must(a->append_all(batches(0, 5), [&](const Appender::Appended& done) {
    EXPECT_EQ(done.base, done.last);
    heard.push_back(done.base.value());
  }));
  EXPECT_EQ(heard, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(p->read("t").values(), values(5));
  EXPECT_EQ(must(list_partition(posix_fs(), folder())).segments,
            (std::vector<Offset>{Offset(0), Offset(2), Offset(4)}));
  must(a->append_all({}, [](const Appender::Appended&) { FAIL(); }));
}

TEST_F(AppendAll, WhatWasHeardOfIsThereAndNothingElse) {
  constexpr int kCount = 6;
  for (const Call call : {Call::kWrite, Call::kShortWrite, Call::kSync, Call::kCreate,
                          Call::kSyncDir, Call::kRename}) {
    for (int nth = 1;; ++nth) {
      SCOPED_TRACE(fmt::format("{} number {}", call_name(call), nth));
      ASSERT_LT(nth, 200);
      const TempDir own;
      root = own / "log";
      small_segments(1000, 100);
      FaultFs fs;
      auto p = new_process(fs);
      (void)p->create("t");
      auto a = p->appender("t");
      fs.plan({call, nth, EIO, false, {}});
      int heard = 0;
      const auto done = a->append_all(batches(0, kCount), [&](const Appender::Appended& appended) {
        EXPECT_EQ(appended.base, Offset(heard));
        ++heard;
      });
      fs.heal();
      EXPECT_EQ(done.has_value(), heard == kCount);
      auto later = new_process();
      auto b = later->appender("t");
      must(b->append_all(batches(heard, kCount), [&](const Appender::Appended& appended) {
        EXPECT_EQ(appended.base, Offset(heard));
        ++heard;
      }));
      EXPECT_EQ(later->read("t").values(), values(kCount));
      if (fs.fired() == 0) break;
    }
  }
}

}  // namespace
}  // namespace spool::test
