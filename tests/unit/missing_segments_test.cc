// Segments that are missing, empty or short, and a log that lost its end: readers say what is not
// there, and nobody gives its offsets to other records.

#include <gtest/gtest.h>

#include "log/appender.h"
#include "log/epochs.h"
#include "log/lookup.h"
#include "log/state_file.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

class MissingSegments : public LogTest {
 protected:
  /// One record a batch, three batches a segment: bases 0, 3, 6 with nine records.
  void SetUp() override {
    (void)new_process()->create("t");
    fill();
  }
  /// The records again, in a topic whose folder was removed.
  void fill() {
    small_segments(3 * static_cast<std::int64_t>(Batch(kStart, {"v0"}).bytes().size()));
    p = new_process();
    auto a = p->appender("t");
    for (int i = 0; i < 9; ++i)
      must(append(*a, {fmt::format("v{}", i)}));
    place = p->place("t");
  }
  std::vector<std::int64_t> offsets(Offset from, bool skip, std::string* said = nullptr) {
    const ReadBack back = p->read(place, from, false, skip);
    if (said != nullptr) *said = back.error ? back.error->message() : "";
    if (back.error) {
      EXPECT_EQ(back.error->code, Errc::kCorrupt);
    }
    std::vector<std::int64_t> out;
    for (const Seen& s : back.records)
      out.push_back(s.offset);
    return out;
  }
  PartitionState state() { return must(read_state(posix_fs(), folder())).value(); }
  void set_recovery_point(std::int64_t offset) {
    PartitionState s = state();
    s.recovery_point = Offset(offset);
    must(write_state(posix_fs(), folder(), s, 0600, Durability::kNone));
  }
  using Offsets = std::vector<std::int64_t>;

  std::unique_ptr<Process> p;
  PartitionPlace place;
};

TEST_F(MissingSegments, InTheMiddleAreDamageFromEveryStart) {
  const std::string whole = slurp(log_file(3));
  const auto starts = batch_starts(log_file(3));
  struct Case {
    const char* what;
    std::optional<std::size_t> size;  ///< of what is left; unset: no file
    std::int64_t first;               ///< offset that is not there
  };
  for (const Case& c :
       {Case{"removed", std::nullopt, 3}, Case{"emptied", 0, 3},
        Case{"cut at a batch", starts[1], 4}, Case{"cut in a batch", starts[2] - 7, 4}}) {
    SCOPED_TRACE(c.what);
    spew(log_file(3), c.size ? whole.substr(0, *c.size) : "");
    if (!c.size) std::filesystem::remove(log_file(3));
    for (std::int64_t from = 0; from < 9; ++from) {
      SCOPED_TRACE(from);
      Offsets before;
      Offsets behind;
      for (std::int64_t o = from; o < c.first; ++o)
        before.push_back(o);
      for (std::int64_t o = std::max<std::int64_t>(from, 6); o < 9; ++o)
        behind.push_back(o);
      std::string said;
      Offsets want = before;
      if (from >= 6) want = behind;
      EXPECT_EQ(offsets(Offset(from), false, &said), want);
      EXPECT_EQ(said.empty(), from >= 6);
      if (from < 6) {
        const auto gap = fmt::format("offsets {} to 5 do not read", std::max(from, c.first));
        EXPECT_NE(said.find(gap), std::string::npos) << said;
        EXPECT_NE(said.find(folder() + "/0000"), std::string::npos) << said;
        want.insert(want.end(), behind.begin(), behind.end());
      }
      EXPECT_EQ(offsets(Offset(from), true), want);
    }
  }
}

TEST_F(MissingSegments, ArePassedByTheSearchForTheNewestRecords) {
  std::filesystem::remove(log_file(3));
  const PartitionView view = must(view_partition(p->store->env(), place));
  NewestRecords newest(100);
  must(find_newest(p->store->env(), place, view, view.log_end, true, newest));
  Offsets found;
  for (const RecordTime& r : newest.take())
    found.push_back(r.offset.value());
  EXPECT_EQ(found, (Offsets{0, 1, 2, 6, 7, 8}));
}

TEST_F(MissingSegments, ThatOverlapGiveEachRecordOnce) {
  // 6 begins again where 3 does: as a segment that was copied under another name.
  std::filesystem::rename(log_file(6), log_file(5));
  const std::string all = slurp(log_file(3)).substr(batch_starts(log_file(3))[2]);
  spew(log_file(5), all + slurp(log_file(5)));
  std::string said;
  EXPECT_EQ(offsets(Offset(0), true, &said), (Offsets{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_NE(said.find("offsets 5 to 5 are there twice"), std::string::npos) << said;
  EXPECT_EQ(offsets(Offset(0), false).size(), 6U);
}

class LostEnd : public MissingSegments {};

TEST_F(LostEnd, IsDamageForReadersAndItsOffsetsAreNotGivenAgain) {
  set_recovery_point(8);
  const auto starts = batch_starts(log_file(6));
  for (const std::size_t size : {starts[1], starts[1] + 20, std::size_t{0}}) {
    SCOPED_TRACE(size);
    const std::int64_t first = size == 0 ? 6 : 7;
    cut_file(log_file(6), size);
    const std::string left = slurp(log_file(6));

    const PartitionView view = must(view_partition(p->store->env(), place));
    EXPECT_EQ(view.log_end, Offset(8));
    std::string said;
    EXPECT_EQ(offsets(Offset(5), false, &said).size(), static_cast<std::size_t>(first - 5));
    EXPECT_NE(said.find(fmt::format("offsets {} to 7 do not read", first)), std::string::npos)
        << said;
    EXPECT_EQ(offsets(Offset(5), true).size(), static_cast<std::size_t>(first - 5));

    auto q = new_process();
    EXPECT_EQ(must(append(*q->appender("t"), {"new"})).base, Offset(8));
    ASSERT_EQ(q->notices.size(), 1U);
    EXPECT_NE(q->notices[0].find(fmt::format("offsets {} to 7 were on disk and are gone", first)),
              std::string::npos)
        << q->notices[0];
    EXPECT_EQ(slurp(log_file(6)), left) << "what is below the recovery point is left as it is";
    EXPECT_TRUE(exists(log_file(8)));
    EXPECT_EQ(must(read_epochs(posix_fs(), folder())).back().start, Offset(8));
    EXPECT_EQ(offsets(Offset(5), false, &said).back(), first - 1);
    EXPECT_NE(said.find(fmt::format("offsets {} to 7 do not read", first)), std::string::npos);
    EXPECT_EQ(offsets(Offset(5), true).back(), 8);
    EXPECT_EQ(offsets(Offset(8), false, &said), (Offsets{8}));
    EXPECT_EQ(said, "");
    auto r = new_process();
    EXPECT_EQ(must(append(*r->appender("t"), {"more"})).base, Offset(9));
    EXPECT_TRUE(r->notices.empty());

    std::filesystem::remove_all(folder());
    fill();
    set_recovery_point(8);
  }
}

TEST_F(LostEnd, OfTheLastSegmentsOrAll) {
  for (const bool all : {false, true}) {
    SCOPED_TRACE(all);
    for (const std::int64_t base : {0, 3, 6})
      if (all || base == 6) std::filesystem::remove(log_file(base));
    const std::int64_t first = all ? 0 : 6;
    set_recovery_point(8);
    std::string said;
    EXPECT_EQ(offsets(Offset(0), false, &said).size(), static_cast<std::size_t>(first));
    EXPECT_NE(said.find(fmt::format("offsets {} to 7", first)), std::string::npos) << said;
    EXPECT_EQ(offsets(Offset(0), true).size(), static_cast<std::size_t>(first));
    auto q = new_process();
    EXPECT_EQ(must(append(*q->appender("t"), {"new"})).base, Offset(8));
    EXPECT_EQ(q->notices.size(), 1U);
    EXPECT_EQ(offsets(Offset(0), true).back(), 8);
    std::filesystem::remove_all(folder());
    fill();
  }
}

// A reader that stands at the end, and the appender, must not be taken for a loss.
TEST_F(LostEnd, IsNoneWhereSomebodyAppendsAndCloses) {
  Cursor cursor(p->store->env(), place, Offset(9));
  EXPECT_EQ(must(cursor.next()), Cursor::Step::kEnd);
  for (int i = 9; i < 15; ++i) {
    auto q = new_process();
    auto a = q->appender("t");
    must(a->open());
    must(append(*a, {"x"}));
    must(a->sync());
    must(a->close());
    EXPECT_EQ(must(cursor.next()), Cursor::Step::kBatch);
    EXPECT_EQ(must(cursor.next()), Cursor::Step::kEnd);
    EXPECT_TRUE(q->notices.empty());
  }
}

// What was not copied is no damage of the copy, and still not given to other records.
TEST_F(LostEnd, OfACopyIsPassedByAnEmptyBatch) {
  set_recovery_point(8);
  copy_folder(root, dir / "copy");
  root = dir / "copy";
  cut_file(log_file(6), batch_starts(log_file(6))[1]);
  auto q = new_process();
  place = q->place("t");
  p = std::move(q);
  std::string said;
  EXPECT_EQ(offsets(Offset(0), false, &said), (Offsets{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(said, "");
  EXPECT_EQ(must(append(*p->appender("t"), {"new"})).base, Offset(8));
  ASSERT_EQ(p->notices.size(), 1U);
  EXPECT_NE(p->notices[0].find("is a copy without offsets 7 to 7"), std::string::npos);
  EXPECT_EQ(offsets(Offset(0), false, &said), (Offsets{0, 1, 2, 3, 4, 5, 6, 8}));
  EXPECT_EQ(said, "");
  auto r = new_process();
  EXPECT_EQ(must(append(*r->appender("t"), {"more"})).base, Offset(9));
  EXPECT_TRUE(r->notices.empty());
}

}  // namespace
}  // namespace spool::test
