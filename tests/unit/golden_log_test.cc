// A directory that Apache Kafka wrote, against what Kafka's own consumer read from it.

#include <set>

#include <gtest/gtest.h>

#include "log/lookup.h"
#include "support/golden.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

class GoldenLog : public ::testing::Test {
 protected:
  std::unique_ptr<Store> open(const std::string& root) {
    const Store::Options options{
        fast_fs(), clock, [this](const std::string& text) { notices.push_back(text); }, "", true};
    return must(Store::open(options, root));
  }
  static std::string say(const GoldenKey& key) {
    return fmt::format("{}-{} {}", std::get<0>(key), std::get<1>(key),
                       std::get<2>(key) ? "committed" : "uncommitted");
  }
  static ReadBack read(Store& store, const PartitionPlace& place, Offset from, bool committed) {
    ReadBack out;
    RecordStream stream(store.env(), place, from, {.read_committed = committed});
    for (;;) {
      auto step = stream.next();
      if (!step) {
        out.error = step.error();
        break;
      }
      out.step = *step;
      if (*step != RecordStream::Step::kRecord) break;
      out.records.push_back(seen(stream.record()));
    }
    out.position = stream.position();
    return out;
  }

  void compare_all(Store& store) {
    ASSERT_EQ(golden_runs().size(), 40U);
    for (const auto& [key, want] : golden_runs()) {
      SCOPED_TRACE(say(key));
      const auto& [topic, partition, committed] = key;
      const PartitionPlace place =
          store.place(must(store.find_topic(topic)), PartitionId(partition));
      const PartitionView view = must(view_partition(store.env(), place));
      EXPECT_EQ(view.log_start, Offset(want.start));
      const Offset stable =
          must(last_stable_offset(store.env(), place, view.log_start, view.log_end));
      EXPECT_EQ(committed ? stable : view.log_end, Offset(want.end));
      const ReadBack got = read(store, place, view.log_start, committed);
      ASSERT_FALSE(got.error) << got.error->message();
      EXPECT_EQ(got.position, Offset(want.end));
      ASSERT_EQ(got.records.size(), want.records.size());
      for (std::size_t i = 0; i < want.records.size(); ++i)
        ASSERT_EQ(got.records[i], want.records[i]);
      if (topic == "hanging" && committed) {
        EXPECT_EQ(got.step, RecordStream::Step::kUndecided);
      }
    }
    EXPECT_TRUE(notices.empty());
  }

  ManualClock clock{kStart};
  std::vector<std::string> notices;
};

TEST_F(GoldenLog, EveryTopicReadsAsKafkasConsumerReadIt) {
  compare_all(*open(golden_data()));
}

TEST_F(GoldenLog, WithoutIndexesAndSnapshotsItReadsTheSame) {
  const TempDir dir;
  copy_folder(golden_data(), dir / "log");
  for (const auto& e : std::filesystem::recursive_directory_iterator(dir / "log")) {
    const std::string ext = e.path().extension().string();
    if (ext == ".index" || ext == ".timeindex" || ext == ".txnindex" || ext == ".snapshot")
      std::filesystem::remove(e.path());
  }
  compare_all(*open(dir / "log"));
}

TEST_F(GoldenLog, WithIndexesOfGarbageItReadsTheSame) {
  const TempDir dir;
  copy_folder(golden_data(), dir / "log");
  unsigned n = 0;
  for (const auto& e : std::filesystem::recursive_directory_iterator(dir / "log")) {
    const std::string ext = e.path().extension().string();
    if (ext != ".index" && ext != ".timeindex" && ext != ".txnindex" && ext != ".snapshot")
      continue;
    std::string garbage;
    for (int i = 0; i < 480; ++i)
      garbage += static_cast<char>((n = n * 1103515245 + 12345) >> 16);
    spew(e.path(), garbage);
  }
  compare_all(*open(dir / "log"));
}

TEST_F(GoldenLog, StartingAtEachOffsetGivesTheRecordsFromThereOn) {
  const auto store = open(golden_data());
  for (const char* topic : {"codec-zstd", "compacted", "transactions", "trimmed"}) {
    SCOPED_TRACE(topic);
    const GoldenRun& want = golden_runs().at({topic, 0, false});
    const PartitionPlace place = store->place(must(store->find_topic(topic)), PartitionId(0));
    for (std::int64_t from = want.start; from <= want.end; ++from) {
      const ReadBack got = read(*store, place, Offset(from), false);
      std::vector<Seen> rest;
      for (const Seen& s : want.records)
        if (s.offset >= from) rest.push_back(s);
      ASSERT_EQ(got.records, rest) << from;
    }
  }
}

TEST_F(GoldenLog, CutAnywhereInTheLastTwoBatchesItEndsBeforeTheCutOne) {
  const TempDir dir;
  for (const auto& [key, want] : golden_runs()) {
    const auto& [topic, partition, committed] = key;
    if (committed || partition != 0) continue;
    SCOPED_TRACE(topic);
    const std::string root = dir / topic;
    std::filesystem::create_directory(root);
    const std::string folder = fmt::format("{}/{}-0", root, topic);
    copy_folder(fmt::format("{}/{}-0", golden_data(), topic), folder);
    const Offset base = must(list_partition(posix_fs(), folder)).segments.back();
    const std::string log = segment_path(folder, base, ".log");
    const std::string whole = slurp(log);
    const auto starts = batch_starts(log);
    const std::size_t batches = starts.size() - 1;
    const auto base_of = [&](std::size_t b) {
      return BatchHeader::decode(as_bytes(whole).data() + starts[b]).base_offset;
    };
    const auto store = open(root);
    const PartitionPlace place = store->place(must(store->find_topic(topic)), PartitionId(0));
    for (std::size_t b = batches; b-- > (batches < 2 ? 0 : batches - 2);) {
      const std::size_t size = starts[b + 1] - starts[b];
      const Offset from = std::max(base_of(b < 2 ? 0 : b - 2), Offset(want.start));
      std::vector<Seen> left;
      for (const Seen& s : want.records)
        if (s.offset >= from.value() && s.offset < base_of(b).value()) left.push_back(s);
      // Every byte of small batches and of each one's first and last hundred, and some between.
      std::size_t step = 1;
      for (std::size_t cut = size - 1; cut < size; cut -= step) {
        step = cut < 100 || cut + 100 >= size ? 1 : std::min(cut - 99, 1 + size / 100);
        cut_file(log, starts[b] + cut);
        const ReadBack got = read(*store, place, from, false);
        ASSERT_FALSE(got.error) << got.error->message();
        ASSERT_EQ(got.records, left) << "batch " << b << " cut at " << cut;
      }
    }
  }
}

TEST_F(GoldenLog, KafkasTimeIndexLeadsToTheSameOffsetAsAScan) {
  const TempDir dir;
  copy_folder(golden_data(), dir / "log");
  for (const auto& e : std::filesystem::recursive_directory_iterator(dir / "log"))
    if (e.path().extension() == ".timeindex") std::filesystem::remove(e.path());
  const auto store = open(golden_data());
  const auto bare = open(dir / "log");
  for (const auto& [key, want] : golden_runs()) {
    const auto& [topic, partition, committed] = key;
    if (committed) continue;
    SCOPED_TRACE(say(key));
    std::set<std::int64_t> times{0};
    for (std::size_t i = 0; i < want.records.size(); i += 1 + want.records.size() / 40)
      for (const std::int64_t d : {-1, 0, 1})
        times.insert(want.records[i].timestamp + d);
    for (const std::int64_t time : times) {
      std::int64_t first = want.end;
      for (const Seen& s : want.records)
        if (s.timestamp >= time) first = std::min(first, s.offset);
      for (Store* s : {store.get(), bare.get()}) {
        const PartitionPlace place = s->place(must(s->find_topic(topic)), PartitionId(partition));
        const PartitionView view = must(view_partition(s->env(), place));
        ASSERT_EQ(must(offset_for_time(s->env(), place, view, TimestampMs(time))), Offset(first))
            << time;
      }
    }
  }
}

}  // namespace
}  // namespace spool::test
