/// What a compaction that was cut short leaves, in a broker's partition.

#include "log/swap.h"

#include <gtest/gtest.h>

#include "log/lookup.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

class SwapTest : public LogTest {
 protected:
  /// Foreign: segments 0, 10, 20, 30 of ten records each.
  void SetUp() override {
    auto p = new_process();
    (void)p->create("made");
    small_segments(150);
    p->tune = tune;
    auto appender = p->appender("made");
    for (int n = 0; n < 40; n += 10)
      must(append(*appender, numbered("v", n, n + 10)));
    std::filesystem::rename(folder("made"), folder());
    std::filesystem::remove(file("spool.state"));
    ASSERT_EQ(logs(), (std::vector<std::string>{segment(0, ".log"), segment(10, ".log"),
                                                segment(20, ".log"), segment(30, ".log")}));
  }
  static std::string segment(std::int64_t base, const std::string& suffix) {
    return fmt::format("{:020}{}", base, suffix);
  }
  std::vector<std::string> logs() {
    std::vector<std::string> out;
    for (const std::string& name : names_in(folder()))
      if (name.find(".log") != std::string::npos) out.push_back(name);
    return out;
  }
  void rename(std::int64_t base, const std::string& from, const std::string& to) {
    std::filesystem::rename(file(segment(base, from)), file(segment(base, to)));
  }
  /// A .log.swap of base 0 that holds the records of segments 0 to 10.
  void make_swap() {
    spew(file(segment(0, ".log.swap")),
         slurp(file(segment(0, ".log"))) + slurp(file(segment(10, ".log"))));
    spew(file(segment(0, ".index.swap")), "");
    spew(file(segment(0, ".timeindex.swap")), "");
  }
  void expect_all(Process& p) {
    const auto place = p.place("t");
    EXPECT_FALSE(place.ours);
    const auto read = p.read(place);
    EXPECT_FALSE(read.error);
    EXPECT_EQ(read.values(), numbered("v", 0, 40));
  }
};

TEST_F(SwapTest, AReaderFindsEveryRecordInEveryStateOfTheSwap) {
  auto p = new_process();
  make_swap();
  expect_all(*p);
  rename(0, ".log", ".log.deleted");
  expect_all(*p);
  EXPECT_EQ(must(view_partition(p->store->env(), p->place("t"))).log_start, Offset(0));
  rename(10, ".log", ".log.deleted");
  expect_all(*p);
  rename(0, ".log.swap", ".log");
  expect_all(*p);
}

TEST_F(SwapTest, TheFirstAppendCompletesIt) {
  make_swap();
  rename(0, ".log", ".log.deleted");
  spew(file(segment(20, ".log.cleaned")), "half");
  spew(file(segment(40, ".index")), "orphan");
  auto p = new_process();
  EXPECT_EQ(must(append(*p->appender("t"), {"more"})).base, Offset(40));
  for (const std::string& name : names_in(folder()))
    for (const char* suffix : {".swap", ".deleted", ".cleaned"})
      EXPECT_FALSE(name.ends_with(suffix)) << name;
  EXPECT_EQ(logs().front(), segment(0, ".log"));
  EXPECT_FALSE(exists(file(segment(10, ".log"))));
  EXPECT_FALSE(exists(file(segment(10, ".index"))));
  auto want = numbered("v", 0, 40);
  want.push_back("more");
  EXPECT_EQ(p->read("t").values(), want);
}

TEST_F(SwapTest, ASwapOfAnUnfinishedSplitGoes) {
  spew(file(segment(20, ".log.swap")), "");
  spew(file(segment(20, ".log.cleaned")), "");
  auto p = new_process();
  must(p->appender("t")->open());
  EXPECT_FALSE(exists(file(segment(20, ".log.swap"))));
  expect_all(*p);
}

TEST_F(SwapTest, ADamagedSwapReplacesNothing) {
  make_swap();
  append_to(file(segment(0, ".log.swap")), "damage");
  auto p = new_process();
  const auto before = names_in(folder());
  const auto refused = p->appender("t")->open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kCorrupt);
  EXPECT_NE(refused.error().context.find(".log.swap"), std::string::npos);
  EXPECT_NE(refused.error().context.find("'spool topics repair' mends it"), std::string::npos);
  EXPECT_EQ(names_in(folder()), before);
}

TEST_F(SwapTest, InAPartitionOfOursARunningCompactionIsLeftAlone) {
  auto p = new_process();
  (void)p->create("ours");
  must(append(*p->appender("ours"), {"a"}));
  spew(folder("ours") + "/" + segment(0, ".log.cleaned"), "half");
  spew(folder("ours") + "/" + segment(0, ".index.swap"), "");
  must(append(*new_process()->appender("ours"), {"b"}));
  EXPECT_TRUE(exists(folder("ours") + "/" + segment(0, ".log.cleaned")));
  EXPECT_FALSE(exists(folder("ours") + "/" + segment(0, ".index.swap")));
  EXPECT_EQ(p->read("ours").values(), (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace spool::test
