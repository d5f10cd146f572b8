#include "io/read_ahead.h"

#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "support/log_fixture.h"
#include "worker.h"

namespace spool::test {
namespace {

constexpr std::size_t kChunk = 4096;

class ReadAheadThreads : public LogTest {
 protected:
  /// Batches of a few bytes up to several chunks, by seed.
  std::string random_value() {
    std::string value(random_() % 3 == 0 ? random_() % (3 * kChunk) : random_() % 300, 'x');
    for (char& c : value)
      c = static_cast<char>(random_());
    return value;
  }
  ReadBack read(Process& p, const PartitionPlace& place, Worker* worker) {
    ReadBack out;
    RecordStream stream(p.store->env(), place, Offset(0),
                        {.chunk_bytes = kChunk, .executor = worker});
    while (must(stream.next()) == RecordStream::Step::kRecord)
      out.records.push_back(seen(stream.record()));
    return out;
  }
  std::mt19937 random_{7};
};

TEST_F(ReadAheadThreads, GivesWhatPlainReadingGives) {
  small_segments(300'000);
  auto p = new_process();
  (void)p->create("t");
  auto appender = p->appender("t");
  for (int i = 0; i < 1500; ++i)
    must(append(*appender, {random_value()}));
  const PartitionPlace place = p->place("t");
  const ReadBack plain = read(*p, place, nullptr);
  ASSERT_EQ(plain.records.size(), 1500U);
  Worker worker;
  EXPECT_EQ(read(*p, place, &worker).records, plain.records);
}

TEST_F(ReadAheadThreads, GivesWhatIsAppendedMeanwhile) {
  auto p = new_process();
  (void)p->create("t");
  constexpr std::size_t kRecords = 2000;
  std::vector<std::string> values;
  for (std::size_t i = 0; i < kRecords; ++i)
    values.push_back(random_value());
  must(append(*p->appender("t"), {values[0]}));
  std::thread writer([&] {
    auto other = new_process();
    auto appender = other->appender("t");
    for (std::size_t i = 1; i < kRecords; ++i)
      must(append(*appender, {values[i]}));
  });
  const PartitionPlace place = p->place("t");
  Worker worker;
  std::vector<std::string> got;
  {
    RecordStream stream(p->store->env(), place, Offset(0),
                        {.chunk_bytes = kChunk, .executor = &worker});
    while (got.size() < kRecords)
      if (must(stream.next()) == RecordStream::Step::kRecord)
        got.push_back(std::string(*stream.record().value));
  }
  writer.join();
  EXPECT_EQ(got, values);
}

/// Runs its jobs when told to.
class HeldExecutor : public Executor {
 public:
  void run(std::function<void()> job) override { jobs_.push_back(std::move(job)); }
  void run_all() {
    for (auto& job : std::exchange(jobs_, {}))
      job();
  }

 private:
  std::vector<std::function<void()>> jobs_;
};

TEST(ReadAhead, TakesOnlyWhatWasAskedFor) {
  const TempDir dir;
  spew(dir / "f", "0123456789");
  const std::shared_ptr<File> file = must(posix_fs().open(dir / "f", OpenMode::kRead, 0));
  HeldExecutor executor;
  ReadAhead ahead(executor, file);
  Buffer into;
  std::size_t used = 0;
  EXPECT_FALSE(ahead.take(4, {}, into, used)) << "nothing was started";
  ahead.start(4, 3, 4);
  executor.run_all();
  EXPECT_FALSE(ahead.take(5, {}, into, used)) << "another place";
  ahead.start(4, 3, 4);
  executor.run_all();
  EXPECT_FALSE(ahead.take(4, as_bytes("abcd"), into, used)) << "no room for what is before";
  ahead.start(4, 3, 4);
  executor.run_all();
  ASSERT_TRUE(ahead.take(4, as_bytes("ab"), into, used));
  EXPECT_EQ(as_text(into.bytes().subspan(used)), "ab4567");
  ahead.start(8, 3, 4);
  executor.run_all();
  ASSERT_TRUE(ahead.take(8, into.bytes().last(1), into, used));
  EXPECT_EQ(as_text(into.bytes().subspan(used)), "789") << "as much as the file has";
  ahead.start(10, 3, 4);
  executor.run_all();
  EXPECT_FALSE(ahead.take(10, {}, into, used)) << "behind the end";
}

}  // namespace
}  // namespace spool::test
