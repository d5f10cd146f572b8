#include <filesystem>

#include <gtest/gtest.h>

#include "log/lookup.h"
#include "log/transactions.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

using StoppedSearch = LogTest;

/// A search asks for each batch, so that a signal ends it however large the log is.
TEST_F(StoppedSearch, EndsWithinFewBatches) {
  auto p = new_process();
  (void)p->create("t");
  auto a = p->appender("t");
  for (int b = 0; b < 200; ++b) {
    BatchBuilder builder;
    builder.add(TimestampMs(1000 - b), std::nullopt, std::string(5000, 'v'));
    must(a->append(must(builder.seal(Codec::kNone, nullptr))));
  }
  const PartitionPlace place = p->place("t");
  const PartitionView view = must(view_partition(p->store->env(), place));

  LogEnv env = p->store->env();
  int asked = 0;
  env.stop = [&] { return ++asked > 3; };
  const auto by_time = offset_for_time(env, place, view, TimestampMs(5000));
  ASSERT_FALSE(by_time);
  EXPECT_EQ(by_time.error().code, Errc::kCancelled);
  EXPECT_EQ(asked, 4);

  asked = 0;
  NewestRecords newest(1000);
  const auto found = find_newest(env, place, view, view.log_end, true, newest);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::kCancelled);
  EXPECT_EQ(asked, 4);

  // Where there is no index and no state everything is read.
  for (const char* suffix : {".index", ".timeindex"})
    std::filesystem::remove(place.dir + "/00000000000000000000" + suffix);
  std::filesystem::remove(place.dir + "/spool.state");
  asked = 0;
  const auto viewed = view_partition(env, place);
  ASSERT_FALSE(viewed);
  EXPECT_EQ(viewed.error().code, Errc::kCancelled);
  asked = 0;
  const auto stable = last_stable_offset(env, place, view.log_start, view.log_end);
  ASSERT_FALSE(stable);
  EXPECT_EQ(stable.error().code, Errc::kCancelled);
}

}  // namespace
}  // namespace spool::test
