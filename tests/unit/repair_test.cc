// Repair: afterwards verify has nothing to say, all that is whole is still there at its offset, and
// what was taken out is kept.

#include "log/repair.h"

#include <set>

#include <gtest/gtest.h>

#include "store/verify_dir.h"
#include "support/golden.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

class Repair : public LogTest {
 protected:
  struct Done {
    std::vector<RepairStep> steps;
    std::vector<std::string> left;  ///< what verify says afterwards, notes aside
  };

  /// Repairs and verifies one partition.
  Done repair(const std::string& topic, int partition = 0, bool apply = true) {
    auto p = new_process();
    DirectoryCheck directory(*p->store);
    must(directory.run());
    Done out;
    for (const TopicInfo& t : directory.topics()) {
      if (t.name != topic) continue;
      PartitionPlace place = p->store->place(t, PartitionId(partition));
      if (tune) tune(place);
      const PartitionFacts facts = directory.facts(t, PartitionId(partition));
      PartitionRepair repair(p->store->env(), place, facts, [](int) {});
      must(repair.run(apply));
      out.steps = repair.steps();
      PartitionCheck check(p->store->env(), place, facts, [](int) {});
      must(check.begin());
      VerifyProgress progress;
      for (std::size_t i = 0; i < check.segments(); ++i)
        must(check.check_segment(i, progress));
      must(check.finish());
      for (const Finding& f : check.findings())
        if (f.kind != Finding::Kind::kNote)
          out.left.push_back(fmt::format("{} @{}: {}", f.file, f.position, f.what));
      return out;
    }
    ADD_FAILURE() << "no topic " << topic;
    return out;
  }

  /// Twelve batches of three records in small segments.
  void fill() {
    small_segments(700, 100);
    auto p = new_process();
    p->create("t");
    auto to = p->appender("t");
    for (int i = 0; i < 12; ++i)
      must(append(*to, numbered(fmt::format("value {} ", i), 0, 3), kStart + i));
    must(to->sync());
    must(to->close());
  }
  std::vector<Seen> seen_records() {
    auto p = new_process();
    const ReadBack back = p->read(p->place("t"));
    EXPECT_FALSE(back.error) << back.error->message();
    return back.records;
  }
  /// What is there is as it was, and at most `missing` records are not.
  void expect_subset(const std::vector<Seen>& before, const std::vector<Seen>& after,
                     std::size_t missing) {
    std::map<std::int64_t, Seen> all;
    for (const Seen& s : before)
      all[s.offset] = s;
    for (const Seen& s : after)
      EXPECT_EQ(s, all[s.offset]);
    EXPECT_GE(after.size() + missing, before.size());
  }

  /// Puts the files back; the folder stays the same one, else it would count as a copy.
  static void restore(const std::string& from, const std::string& in) {
    for (const std::string& name : names_in(in))
      std::filesystem::remove(in + "/" + name);
    for (const std::string& name : names_in(from))
      std::filesystem::copy_file(from + "/" + name, in + "/" + name);
  }

  void repair_each_flip(const std::string& in, const std::string& topic, int partition,
                        std::size_t stride,
                        const std::function<bool(const std::string&, std::size_t)>& excepted,
                        const std::function<void()>& check) {
    const TempDir kept;
    copy_folder(in, kept / "folder");
    std::size_t at = 0;
    for (const std::string& name : names_in(in)) {
      const std::string content = slurp(in + "/" + name);
      for (std::size_t byte = at++ % stride; byte < content.size(); byte += stride) {
        if (excepted(name, byte)) continue;
        SCOPED_TRACE(fmt::format("{} byte {}", name, byte));
        flip_bit(in + "/" + name, byte, static_cast<unsigned>(byte) % 8);
        const Done done = repair(topic, partition);
        EXPECT_FALSE(done.steps.empty());
        EXPECT_EQ(done.left, std::vector<std::string>{});
        check();
        restore(kept / "folder", in);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
};

TEST_F(Repair, AnyFlippedBitOfOursIsMendedOrTakenOut) {
  fill();
  const auto before = seen_records();
  ASSERT_EQ(before.size(), 36U);
  repair_each_flip(
      folder(), "t", 0, 7, [](const std::string&, std::size_t) { return false; },
      [&] {
        const auto after = seen_records();
        expect_subset(before, after, 3);
        // Offsets go on behind all that were ever given out, unless the very end was torn.
        auto p = new_process();
        auto to = p->appender("t");
        const auto at = must(append(*to, {"more"}, kStart + 99));
        EXPECT_GE(at.base, Offset(33));
      });
}

TEST_F(Repair, AnyFlippedBitOfKafkasIsMendedOrTakenOut) {
  copy_folder(golden_data(), root);
  for (const auto& [topic, partition] :
       std::vector<std::pair<std::string, int>>{{"transactions", 0}, {"codec-lz4", 0}})
    repair_each_flip(
        fmt::format("{}/{}-{}", root, topic, partition), topic, partition, 37,
        [](const std::string& name, std::size_t) { return name == "partition.metadata"; }, [] {});
}

TEST_F(Repair, WithoutApplyNothingChanges) {
  fill();
  const std::string log = log_file();
  flip_bit(log, batch_starts(log)[1] + 70);
  const std::string before = slurp(log);
  const auto names = names_in(folder());
  const Done done = repair("t", 0, false);
  ASSERT_EQ(done.steps.size(), 1U);
  EXPECT_EQ(done.steps[0].first, Offset(3));
  EXPECT_EQ(done.steps[0].last, Offset(5));
  EXPECT_EQ(slurp(log), before);
  EXPECT_EQ(names_in(folder()), names);
}

TEST_F(Repair, ABadBatchIsKeptAndAnEmptyOneStandsForItsOffsets) {
  fill();
  const std::string log = log_file();
  const auto starts = batch_starts(log);
  flip_bit(log, starts[1] + 70);
  const std::string bad = slurp(log).substr(starts[1], starts[2] - starts[1]);
  const Done done = repair("t");
  EXPECT_EQ(done.left, std::vector<std::string>{});
  EXPECT_EQ(slurp(file("spool.cut-3")), bad);
  const auto after = seen_records();
  ASSERT_EQ(after.size(), 33U);
  EXPECT_EQ(after[2].offset, 2);
  EXPECT_EQ(after[3].offset, 6);
  // A power cut makes the next appender check everything: the hole must not end the log.
  std::filesystem::remove(file("spool.state"));
  auto p = new_process();
  auto to = p->appender("t");
  must(to->open());
  EXPECT_EQ(to->next_offset(), Offset(36));
  EXPECT_EQ(seen_records().size(), 33U);
}

TEST_F(Repair, AMovedBaseOffsetAndABadLengthArePutRight) {
  fill();
  const auto before = seen_records();
  const std::string log = log_file();
  const auto starts = batch_starts(log);
  for (const std::size_t byte : {6U, 7U, 9U, 11U, 15U, 16U}) {
    flip_bit(log, starts[1] + byte, 2);
    EXPECT_EQ(repair("t").left, std::vector<std::string>{});
    EXPECT_EQ(seen_records(), before) << "byte " << byte;
  }
}

TEST_F(Repair, ATornEndIsCutAndKept) {
  fill();
  const std::string log =
      log_file(must(list_partition(posix_fs(), folder())).segments.back().value());
  const auto before = seen_records();
  append_to(log, "half a batch");
  const Done done = repair("t");
  EXPECT_EQ(done.left, std::vector<std::string>{});
  EXPECT_EQ(slurp(file("spool.cut-36")), "half a batch");
  EXPECT_EQ(seen_records(), before);
}

TEST_F(Repair, WritersGoOnBesideIt) {
  fill();
  auto writer = new_process();
  auto to = writer->appender("t");
  must(append(*to, {"before"}, kStart + 50));
  const std::string log = log_file();
  flip_bit(log, batch_starts(log)[1] + 70);
  const std::string last =
      log_file(must(list_partition(posix_fs(), folder())).segments.back().value(), ".index");
  if (std::filesystem::file_size(last) > 0) flip_bit(last, 3);
  EXPECT_EQ(repair("t").left, std::vector<std::string>{});
  const auto at = must(append(*to, {"after"}, kStart + 51));
  EXPECT_EQ(at.base, Offset(37));
  EXPECT_EQ(seen_records().size(), 35U);
  EXPECT_EQ(repair("t").steps.size(), 0U);
}

TEST_F(Repair, AnInterruptedCompactionIsFinished) {
  fill();
  const auto files = must(list_partition(posix_fs(), folder()));
  ASSERT_GE(files.segments.size(), 2U);
  const auto before = seen_records();
  // The first segment was compacted to itself, and is not renamed yet.
  for (const char* suffix : {".log", ".index", ".timeindex"}) {
    std::filesystem::copy(log_file(0, suffix), log_file(0, suffix) + ".swap");
    spew(log_file(0, suffix), "old");
  }
  const Done done = repair("t");
  EXPECT_EQ(done.left, std::vector<std::string>{});
  EXPECT_EQ(seen_records(), before);
  EXPECT_EQ(slurp(log_file(0) + ".deleted"), "old");
  EXPECT_FALSE(exists(log_file(0) + ".swap"));
}

}  // namespace
}  // namespace spool::test
