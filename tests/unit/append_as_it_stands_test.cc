#include <gtest/gtest.h>

#include "log/appender.h"
#include "log/epochs.h"
#include "log/lookup.h"
#include "log/state_file.h"
#include "record/batch.h"
#include "store/gaps.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

class AppendAsItStandsTest : public LogTest {
 protected:
  /// A batch as another log would have it.
  static std::string placed(Batch& batch, std::int64_t base, std::int32_t epoch = 0) {
    place_batch(batch.bytes(), Offset(base), Epoch(epoch));
    return std::string(as_text(batch.bytes()));
  }
  static std::string placed(const std::vector<std::string>& values, std::int64_t base,
                            std::int32_t epoch = 0) {
    Batch batch(kStart, values);
    return placed(batch, base, epoch);
  }
  static Result<Appender::Appended> put(Appender& to, const std::string& batch, std::int64_t end) {
    return to.append_as_it_stands(as_bytes(batch), Offset(end));
  }
  std::vector<std::pair<int, std::int64_t>> epochs() {
    std::vector<std::pair<int, std::int64_t>> out;
    for (const EpochStart& e : must(read_epochs(posix_fs(), folder())))
      out.emplace_back(e.epoch.value(), e.start.value());
    return out;
  }
};

TEST_F(AppendAsItStandsTest, BytesOffsetsAndEpochsStay) {
  auto p = new_process();
  (void)p->create("t");
  auto a = p->appender("t");
  const std::string first = placed({"a", "b"}, 0);
  const std::string second = placed({"c"}, 2, 5);
  must(put(*a, first, 0));
  const auto at = must(put(*a, second, 2));
  EXPECT_EQ(at.base, Offset(2));
  EXPECT_EQ(at.last, Offset(2));
  EXPECT_EQ(slurp(log_file()), first + second);
  EXPECT_EQ(epochs(), (std::vector<std::pair<int, std::int64_t>>{{0, 0}, {5, 2}}));
  // What is appended later has the epoch that the log has by then.
  must(append(*a, {"d"}));
  EXPECT_EQ(BatchHeader::decode(as_bytes(slurp(log_file())).data() + first.size() + second.size())
                .leader_epoch,
            Epoch(5));
  EXPECT_EQ(p->read("t").values(), (std::vector<std::string>{"a", "b", "c", "d"}));
}

TEST_F(AppendAsItStandsTest, OnlyWhereTheCallerBelievesTheEnd) {
  auto p = new_process();
  (void)p->create("t");
  auto a = p->appender("t");
  must(put(*a, placed({"a"}, 0), 0));
  auto other = new_process();
  must(append(*other->appender("t"), {"theirs"}));
  const auto refused = put(*a, placed({"b"}, 1), 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kConflict);
  EXPECT_EQ(p->read("t").values(), (std::vector<std::string>{"a", "theirs"}));
}

TEST_F(AppendAsItStandsTest, AnEmptyLogBeginsWithTheBatch) {
  auto p = new_process();
  (void)p->create("t");
  auto other = new_process();
  auto theirs = other->appender("t");
  must(theirs->open());
  auto a = p->appender("t");
  must(put(*a, placed({"a", "b"}, 100), 0));
  const auto view = must(view_partition(p->store->env(), p->place("t")));
  EXPECT_EQ(view.log_start, Offset(100));
  EXPECT_EQ(view.log_end, Offset(102));
  EXPECT_EQ(view.files.segments, std::vector<Offset>{Offset(100)});
  // One that has the old file open finds the new one.
  EXPECT_EQ(must(append(*theirs, {"c"})).base, Offset(102));
  const auto all = p->read("t");
  EXPECT_EQ(all.values(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_FALSE(all.error);
  EXPECT_TRUE(p->notices.empty());
  EXPECT_TRUE(other->notices.empty());
}

TEST_F(AppendAsItStandsTest, AGapNeedsATopicThatMayHaveOne) {
  auto p = new_process();
  const TopicInfo topic = p->create("t");
  {
    auto a = p->appender("t");
    must(put(*a, placed({"a"}, 0), 0));
    const auto refused = put(*a, placed({"b"}, 10), 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::kConflict);
  }
  EXPECT_FALSE(must(allow_gaps(*p->store, topic)).dense);
  EXPECT_FALSE(must(p->store->find_topic("t")).dense);
  must(allow_gaps(*p->store, topic));  // again: nothing to do
  auto a = p->appender("t");
  must(put(*a, placed({"b"}, 10), 1));
  must(append(*a, {"c"}));
  const auto all = p->read("t");
  EXPECT_FALSE(all.error);
  EXPECT_EQ(all.values(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(all.records.back().offset, 11);
  EXPECT_TRUE(p->notices.empty());
}

TEST_F(AppendAsItStandsTest, AGapLongerThanASegmentIsRefused) {
  auto p = new_process();
  must(allow_gaps(*p->store, p->create("t")));
  auto a = p->appender("t");
  must(put(*a, placed({"a"}, 0), 0));
  const auto refused = put(*a, placed({"b"}, std::int64_t{1} << 32), 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kUnsupported);
  EXPECT_EQ(must(append(*a, {"c"})).base, Offset(1));
}

TEST_F(AppendAsItStandsTest, SegmentsRollAsTheyFill) {
  small_segments(300);
  auto p = new_process();
  (void)p->create("t");
  auto a = p->appender("t");
  std::string all;
  for (int i = 0; i < 10; ++i) {
    const std::string batch = placed({std::string(100, 'x')}, i);
    must(put(*a, batch, i));
    all += batch;
  }
  const auto view = must(view_partition(p->store->env(), p->place("t")));
  EXPECT_GT(view.files.segments.size(), 3U);
  std::string got;
  for (const Offset base : view.files.segments)
    got += slurp(log_file(base.value()));
  EXPECT_EQ(got, all);
  EXPECT_EQ(p->read("t").records.size(), 10U);
}

TEST_F(AppendAsItStandsTest, ATransactionEndsThePlainState) {
  auto p = new_process();
  (void)p->create("t");
  auto a = p->appender("t");
  must(put(*a, placed({"a"}, 0), 0));
  EXPECT_TRUE(must(read_state(posix_fs(), folder()))->plain);
  Batch batch(kStart, {"b"});
  store_be<std::uint16_t>(batch.bytes().data() + batch_field::kAttributes,
                          batch_attribute::kTransactional);
  store_be<std::int64_t>(batch.bytes().data() + batch_field::kProducerId, 9);
  must(put(*a, placed(batch, 1), 1));
  EXPECT_FALSE(must(read_state(posix_fs(), folder()))->plain);
}

}  // namespace
}  // namespace spool::test
