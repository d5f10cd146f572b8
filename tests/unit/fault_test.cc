// Every call to the system that appending makes fails once, or from then on: nothing that was
// acknowledged may be lost, nothing invented, and the partition must take records again.

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "support/fault_fs.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

/// What a producer was told of each value that it tried to append.
struct Told {
  std::vector<std::string> attempted;
  std::vector<std::string> appended;  ///< append() said yes and no sync failed afterwards
  std::vector<std::string> synced;
};

constexpr int kBatches = 6;

/// Appends small batches, a sync behind every second one, rolling often. A failed append is tried
/// again once; an appender whose sync failed is given up for a new one.
Told produce(Process& p, FaultFs& fs, const FaultFs::Plan& plan) {
  Told told;
  const PartitionPlace place = p.place("t");
  fs.plan(plan);
  auto appender = std::make_unique<Appender>(p.store->env(), place);
  std::vector<std::string> unsynced;
  for (int i = 0; i < kBatches; ++i) {
    const std::string value = fmt::format("v{}-{}", i, std::string(300, 'x'));
    told.attempted.push_back(value);
    auto done = append(*appender, {value});
    if (!done) done = append(*appender, {value});
    if (done) unsynced.push_back(value);
    if (done && i % 2 == 1) {
      if (appender->sync()) {
        told.synced.insert(told.synced.end(), unsynced.begin(), unsynced.end());
        told.appended.insert(told.appended.end(), unsynced.begin(), unsynced.end());
      } else {
        EXPECT_FALSE(appender->sync()) << "a failed sync must stay failed";
        EXPECT_FALSE(append(*appender, {"behind a failed sync"}));
        EXPECT_FALSE(appender->open());
        appender = std::make_unique<Appender>(p.store->env(), place);
      }
      unsynced.clear();
    }
    if (!done) {
      // Whether it is an append's own failure or that of a roll's sync: what was not synced may be
      // gone, if and only if this appender refuses to go on.
      if (!appender->open()) unsynced.clear();
      appender = std::make_unique<Appender>(p.store->env(), place);
    }
  }
  told.appended.insert(told.appended.end(), unsynced.begin(), unsynced.end());
  fs.heal();
  (void)appender->close();
  return told;
}

class Faults : public LogTest {
 protected:
  /// One run with a plan in a directory of its own; the number of faults that fired.
  int run(const FaultFs::Plan& plan, bool folder_there) {
    SCOPED_TRACE(fmt::format("{} number {} of '*{}', errno {}, {}", call_name(plan.call), plan.nth,
                             plan.only, plan.sys_errno, plan.sticky ? "for ever" : "once"));
    const TempDir own;
    root = own / "log";
    Told told;
    int fired = 0;
    FaultFs fs;
    small_segments(1000, 100);
    {
      auto p = new_process(fs);
      (void)p->create("t");
      if (folder_there) must(append(*p->appender("t"), {"first"}));
      told = produce(*p, fs, plan);
      fired = fs.fired();
    }
    if (folder_there) told.appended.insert(told.appended.begin(), "first");
    told.attempted.push_back("first");
    check(told);
    return fired;
  }

  void check(const Told& told) {
    auto p = new_process();
    auto appender = p->appender("t");
    const auto more = append(*appender, {"afterwards"});
    ASSERT_TRUE(more) << more.error().message();
    EXPECT_TRUE(appender->sync());
    const ReadBack back = p->read("t");
    ASSERT_FALSE(back.error) << back.error->message();
    std::map<std::string, int> times;
    for (const std::string& v : back.values())
      ++times[v];
    EXPECT_EQ(times["afterwards"], 1);
    for (const std::string& v : told.appended)
      EXPECT_EQ(times[v], 1) << v.substr(0, 10);
    const std::set<std::string> attempted(told.attempted.begin(), told.attempted.end());
    for (const auto& [v, n] : times) {
      EXPECT_TRUE(v == "afterwards" || attempted.contains(v) || n == 0) << v.substr(0, 30);
    }
    for (std::size_t i = 0; i < back.records.size(); ++i)
      EXPECT_EQ(back.records[i].offset, static_cast<std::int64_t>(i));
  }

  /// N grows until nothing fires any more.
  void until_quiet(FaultFs::Plan plan, bool folder_there) {
    for (plan.nth = 1;; ++plan.nth) {
      ASSERT_LT(plan.nth, 500);
      const int fired = run(plan, folder_there);
      if (fired == 0 || HasFatalFailure()) break;
    }
  }
};

struct Kind {
  Call call;
  int sys_errno;
  const char* name;
};

class EveryCall : public Faults, public ::testing::WithParamInterface<Kind> {};

TEST_P(EveryCall, FailingOnceLosesNothing) {
  until_quiet({GetParam().call, 1, GetParam().sys_errno, false, ""}, true);
  until_quiet({GetParam().call, 1, GetParam().sys_errno, false, ""}, false);
}

TEST_P(EveryCall, FailingFromThenOnLosesNothing) {
  until_quiet({GetParam().call, 1, GetParam().sys_errno, true, ""}, true);
}

INSTANTIATE_TEST_SUITE_P(Calls, EveryCall,
                         ::testing::Values(Kind{Call::kWrite, EIO, "WriteIo"},
                                           Kind{Call::kWrite, ENOSPC, "WriteFull"},
                                           Kind{Call::kShortWrite, ENOSPC, "ShortWriteFull"},
                                           Kind{Call::kSync, EIO, "SyncIo"},
                                           Kind{Call::kCreate, ENOSPC, "CreateFull"},
                                           Kind{Call::kRename, EIO, "RenameIo"},
                                           Kind{Call::kTruncate, EIO, "TruncateIo"},
                                           Kind{Call::kSyncDir, EIO, "SyncDirIo"}),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace spool::test
