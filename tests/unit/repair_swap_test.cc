/// Verify and repair of a broker's partition in which a compaction was cut short, and its result is
/// damaged.

#include <gtest/gtest.h>

#include "log/repair.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

class RepairSwap : public LogTest {
 protected:
  /// Foreign: segments 0, 10, 20, 30 of ten records each, in batches of two.
  void SetUp() override {
    auto p = new_process();
    (void)p->create("made");
    small_segments(450);
    p->tune = tune;
    auto appender = p->appender("made");
    for (int n = 0; n < 40; n += 2)
      must(append(*appender, numbered("v", n, n + 2)));
    std::filesystem::rename(folder("made"), folder());
    std::filesystem::remove(file("spool.state"));
    std::filesystem::remove(root + "/spool.topics");
    for (const int base : {0, 10, 20, 30})
      ASSERT_TRUE(exists(log_file(base))) << ::testing::PrintToString(names_in(folder()));
    // The result: base 0, with all of segments 0 and 10.
    swap_ = log_file(0, ".log.swap");
    spew(swap_, slurp(log_file(0)) + slurp(log_file(10)));
    for (const char* suffix : {".index.swap", ".timeindex.swap"})
      spew(log_file(0, suffix), "");
  }
  void remove_segment(std::int64_t base) {
    for (const char* suffix : {".log", ".index", ".timeindex"})
      std::filesystem::remove(log_file(base, suffix));
  }
  void flip(const std::string& path, std::size_t at) {
    std::string content = slurp(path);
    content[at] = static_cast<char>(content[at] ^ 4);
    spew(path, content);
  }
  /// Damage that verify finds, as `FILE @POSITION`.
  std::vector<std::string> damage() {
    auto p = new_process();
    PartitionCheck check(p->store->env(), p->place("t"), {}, [](int) {});
    must(check.begin());
    VerifyProgress progress;
    for (std::size_t i = 0; i < check.segments(); ++i)
      must(check.check_segment(i, progress));
    must(check.finish());
    std::vector<std::string> out;
    for (const Finding& f : check.findings())
      if (f.damage())
        out.push_back(fmt::format("{} @{}", f.file.substr(f.file.rfind('/') + 1), f.position));
    return out;
  }
  void repair() {
    const auto before = names_in(folder());
    {
      auto p = new_process();
      PartitionRepair plan(p->store->env(), p->place("t"), {}, [](int) {});
      must(plan.run(false));
      EXPECT_FALSE(plan.steps().empty());
      EXPECT_EQ(names_in(folder()), before);
    }
    auto p = new_process();
    PartitionRepair repair(p->store->env(), p->place("t"), {}, [](int) {});
    must(repair.run(true));
    for (const RepairStep& s : repair.steps())
      EXPECT_TRUE(s.possible) << s.file << ": " << s.what;
    EXPECT_EQ(damage(), std::vector<std::string>{});
    for (const std::string& name : names_in(folder()))
      EXPECT_FALSE(name.ends_with(".swap")) << name;
    after_repair_ = names_in(folder());
    // A writer goes on.
    EXPECT_EQ(must(append(*new_process()->appender("t"), {"more"})).base, Offset(40));
  }
  std::vector<std::string> values() {
    auto p = new_process();
    const auto read = p->read("t");
    EXPECT_FALSE(read.error) << read.error->message();
    return read.values();
  }
  static std::vector<std::string> without(int from, int to) {
    auto out = numbered("v", 0, from);
    for (const std::string& v : numbered("v", to, 40))
      out.push_back(v);
    out.emplace_back("more");
    return out;
  }

  std::string swap_;
  std::vector<std::string> after_repair_;
};

TEST_F(RepairSwap, BesideWhatItWasMadeFromItIsPutAside) {
  EXPECT_EQ(damage(), std::vector<std::string>{});
  const auto starts = batch_starts(swap_);
  flip(swap_, starts[6] + 70);
  const std::string bad = slurp(swap_);
  EXPECT_EQ(damage(), (std::vector<std::string>{fmt::format("{:020}.log.swap @{}", 0, starts[6])}));
  repair();
  EXPECT_EQ(values(), without(40, 40));
  EXPECT_EQ(slurp(file(fmt::format("spool.bad-{:020}.log.swap-1", 0))), bad);
}

TEST_F(RepairSwap, WhereNothingElseIsLeftItIsMended) {
  remove_segment(0);
  remove_segment(10);
  EXPECT_EQ(damage(), std::vector<std::string>{});
  const auto starts = batch_starts(swap_);
  flip(swap_, starts[6] + 70);
  const std::string bad = slurp(swap_).substr(starts[6], starts[7] - starts[6]);
  EXPECT_EQ(damage(), (std::vector<std::string>{fmt::format("{:020}.log.swap @{}", 0, starts[6])}));
  repair();
  EXPECT_EQ(values(), without(12, 14));
  EXPECT_EQ(slurp(file("spool.cut-12")), bad);
}

TEST_F(RepairSwap, WhatIsLeftOfTheOriginalsIsPreferred) {
  remove_segment(0);
  EXPECT_EQ(damage(), std::vector<std::string>{});
  const auto starts = batch_starts(swap_);
  flip(swap_, starts[6] + 70);
  repair();
  EXPECT_EQ(values(), without(40, 40));
}

TEST_F(RepairSwap, DamageInFrontOfTheOriginalsIsCut) {
  remove_segment(0);
  flip(swap_, batch_starts(swap_)[1] + 70);
  repair();
  EXPECT_EQ(values(), without(2, 4));
}

TEST_F(RepairSwap, AWholeOneTakesItsPlace) {
  repair();
  EXPECT_EQ(values(), without(40, 40));
  // Until the next writer, as a broker's.
  EXPECT_EQ(
      std::count(after_repair_.begin(), after_repair_.end(), fmt::format("{:020}.log.deleted", 10)),
      1);
}

TEST_F(RepairSwap, ResultsOfASplitThatCameToNothingArePutAside) {
  spew(log_file(0, ".log.cleaned"), "half");
  repair();
  EXPECT_EQ(values(), without(40, 40));
  EXPECT_TRUE(exists(log_file(0)));
  for (const std::string& name : after_repair_)
    EXPECT_FALSE(name.ends_with(".deleted")) << name;
}

}  // namespace
}  // namespace spool::test
