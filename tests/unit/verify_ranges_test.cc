/// A large segment is checked by several threads in pieces: what is found is what one thread finds.

#include "log/verify_ranges.h"

#include <algorithm>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "log/records_flaw.h"
#include "log/verify.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

/// Threads that help as soon as they are asked, until the end of the test.
class Crew final : public Helpers {
 public:
  explicit Crew(std::size_t threads) : threads_(threads) {
    for (std::size_t i = 1; i < threads; ++i)
      crew_.emplace_back([this] { work(); });
  }
  ~Crew() override {
    {
      const std::lock_guard guard(mutex_);
      ended_ = true;
      changed_.notify_all();
    }
    for (std::thread& t : crew_)
      t.join();
  }
  [[nodiscard]] std::size_t size() const override { return threads_; }
  void ask(const std::shared_ptr<SharedWork>& work) override {
    const std::lock_guard guard(mutex_);
    work_ = work;
    ++asked_;
    changed_.notify_all();
  }
  void forget(const std::shared_ptr<SharedWork>&) override {
    const std::lock_guard guard(mutex_);
    work_.reset();
  }

 private:
  void work() {
    std::unique_lock guard(mutex_);
    for (int seen = 0; !ended_;) {
      const auto work = work_;
      const int asked = asked_;
      guard.unlock();
      const bool did = work && work->help();
      guard.lock();
      if (!did) changed_.wait(guard, [&] { return ended_ || asked_ != asked || seen++ == 0; });
    }
  }

  const std::size_t threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<SharedWork> work_;
  int asked_ = 0;
  bool ended_ = false;
  std::vector<std::thread> crew_;
};

class VerifyRangesThreads : public LogTest {
 protected:
  /// About 11 MB: six ranges.
  void fill() {
    auto p = new_process();
    (void)p->create("t");
    auto to = p->appender("t");
    const std::string filler(990, 'x');
    for (int i = 0; i < 550; ++i)
      must(append(*to, numbered(filler, i * 20, i * 20 + 20), kStart + i));
    must(to->sync());
    must(to->close());
  }
  std::vector<std::string> check(Helpers* helpers) {
    auto p = new_process();
    const PartitionPlace place = p->place("t");
    PartitionCheck check(p->store->env(), place, {}, [](int) {});
    must(check.begin());
    VerifyProgress progress;
    for (std::size_t i = 0; i < check.segments(); ++i)
      must(check.check_segment(i, progress, helpers));
    must(check.finish());
    std::vector<std::string> out{
        fmt::format("{} batches, {} records", check.batches(), check.records())};
    for (const Finding& f : check.findings())
      out.push_back(fmt::format("{} {} @{} {}-{}: {}", f.damage(), f.file, f.position,
                                f.first.value(), f.last.value(), f.what));
    return out;
  }
  /// The same with one thread and with four; how many findings.
  std::size_t compare() {
    const auto alone = check(nullptr);
    Crew crew(4);
    EXPECT_EQ(check(&crew), alone);
    return alone.size() - 1;
  }
  static void flip(const std::string& path, std::size_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    ASSERT_GE(byte, 0);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 0x10));
  }
};

TEST_F(VerifyRangesThreads, FindWhatOneThreadFinds) {
  fill();
  EXPECT_EQ(compare(), 0U);
  EXPECT_EQ(check(nullptr).front(), "550 batches, 11000 records");

  const std::vector<std::size_t> starts = batch_starts(log_file());
  const auto ranges = must(RangeChecks::starts(fast_fs(), log_file(0, ".index"),
                                               static_cast<std::int64_t>(starts.back())));
  ASSERT_GE(ranges.size(), 5U);
  EXPECT_TRUE(std::all_of(ranges.begin(), ranges.end(), [&](std::int64_t at) {
    return std::binary_search(starts.begin(), starts.end(), static_cast<std::size_t>(at));
  }));
  const std::string index = slurp(log_file(0, ".index"));

  // In the middle of a range, in the header and in the records of the first batch of one, in the
  // batch in front of it, and in all of these.
  const auto border = static_cast<std::size_t>(ranges[2]);
  const std::size_t before = *(std::lower_bound(starts.begin(), starts.end(), border) - 1);
  const std::vector<std::size_t> places{starts[200] + 300, border + 9, border + 500,
                                        border + 3,        before + 8, before + 100};
  for (const std::size_t at : places) {
    flip(log_file(), at);
    EXPECT_GE(compare(), 1U) << at;
    flip(log_file(), at);
  }
  for (const std::size_t at : places)
    flip(log_file(), at);
  EXPECT_GE(compare(), 2U);
  for (const std::size_t at : places)
    flip(log_file(), at);

  // An end in the middle of a batch.
  // An index that points anywhere, one without entries, and none.
  for (std::size_t at = 3; at < index.size(); at += 5)
    flip(log_file(0, ".index"), at);
  EXPECT_GE(compare(), 1U);
  spew(log_file(0, ".index"), std::string(index.size(), '\0'));
  (void)compare();
  std::filesystem::remove(log_file(0, ".index"));
  (void)compare();
  spew(log_file(0, ".index"), index);
  EXPECT_EQ(compare(), 0U);

  // An end in the middle of a batch.
  std::filesystem::resize_file(log_file(), starts[540] + 77);
  EXPECT_GE(compare(), 1U);
}

TEST_F(VerifyRangesThreads, ARangeIsGivenOnceAndOnlyWhereItBegins) {
  fill();
  const auto starts = batch_starts(log_file());
  const auto end = static_cast<std::int64_t>(starts.back());
  const auto third = static_cast<std::int64_t>(starts[300]);
  std::shared_ptr<File> file = must(fast_fs().open(log_file(), OpenMode::kRead, 0));
  RangeChecks ranges(file, {0, third, third + 5}, end, 2);
  const auto first = must(ranges.take(0));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->batches.size(), 300U);
  EXPECT_EQ(first->end, third);
  EXPECT_FALSE(must(ranges.take(0)));
  EXPECT_TRUE(ranges.help());
  EXPECT_TRUE(ranges.help());
  EXPECT_FALSE(ranges.help());
  const auto second = must(ranges.take(third));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->batches.size(), 1U);
  EXPECT_EQ(second->end, static_cast<std::int64_t>(starts[301]));
  // No batch begins where the last one does.
  EXPECT_FALSE(must(ranges.take(second->end)));
  EXPECT_FALSE(must(ranges.take(end)));
}

/// A sealed batch whose records block is replaced by `change`.
std::string flaw_of(const std::function<void(MutableBytes block)>& change, int records = 3) {
  BatchBuilder builder;
  for (int i = 0; i < records; ++i)
    builder.add(kStart + i, "key", "value");
  const MutableBytes bytes = must(builder.seal(Codec::kNone, nullptr));
  change(bytes.subspan(kBatchHeaderBytes));
  BatchView view;
  view.bytes = bytes;
  view.header = BatchHeader::decode(bytes.data());
  Decompressor decompressor;
  Buffer scratch;
  return records_flaw(view, decompressor, scratch);
}

TEST(RecordsFlaw, SaysWhichRecordIsMalformed) {
  EXPECT_EQ(flaw_of([](MutableBytes) {}), "");
  // length | attributes | time | offset | key length, key | value length, value | headers
  const auto set = [](std::size_t at, int value) {
    return flaw_of([=](MutableBytes b) { b[at] = static_cast<std::byte>(value); });
  };
  EXPECT_EQ(set(0, 0x7e), "record 0 of the batch is malformed");  // longer than it is
  EXPECT_EQ(set(0, 0), "record 0 of the batch is malformed");
  EXPECT_EQ(set(3, 8), "record 0 of the batch is malformed");  // an offset that the batch has not
  EXPECT_EQ(set(3, 2), "record 1 of the batch is malformed");  // the same offset twice
  EXPECT_EQ(set(4, 3), "record 0 of the batch is malformed");  // a length of -2
  EXPECT_EQ(set(2, 20), "the record at offset 0 is newer than the batch says");
  EXPECT_EQ(set(1, 0x55), "");  // unused
}

}  // namespace
}  // namespace spool::test
