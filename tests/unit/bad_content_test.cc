// Batches whose CRC is right and whose content is not, batches inside of records, and transactional
// batches that spool itself appends.

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "log/appender.h"
#include "log/lookup.h"
#include "log/state_file.h"
#include "log/transactions.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

void renew_crc(MutableBytes batch) {
  store_be<std::uint32_t>(batch.data() + batch_field::kCrc,
                          crc32c(batch.subspan(batch_field::kAttributes)));
}

/// One record; `offset_delta` below 64.
std::string record(int offset_delta, const std::string& value) {
  std::string body("\0\0", 2);
  body += static_cast<char>(offset_delta * 2);
  body += '\1';
  body += static_cast<char>(value.size() * 2);
  body += value;
  body += '\0';
  return static_cast<char>(body.size() * 2) + body;
}

/// A batch of these records with a right CRC.
std::string batch_of(std::int64_t base, int last_delta, const std::vector<std::string>& records) {
  const auto empty = empty_batch(Offset(base), Offset(base + last_delta + 1), Epoch(0));
  std::string out(as_text(Bytes(empty)));
  for (const std::string& r : records)
    out += r;
  auto* at = reinterpret_cast<std::byte*>(out.data());
  store_be<std::int32_t>(at + batch_field::kLength, static_cast<std::int32_t>(out.size() - 12));
  store_be<std::int32_t>(at + batch_field::kCount, static_cast<std::int32_t>(records.size()));
  store_be<std::int64_t>(at + batch_field::kBaseTimestamp, kStart.value());
  store_be<std::int64_t>(at + batch_field::kMaxTimestamp, kStart.value());
  renew_crc({at, out.size()});
  return out;
}

class BadContent : public LogTest {
 protected:
  /// "a" at 0, the batch at 1 and 2, "d" at 3.
  void fill(const std::vector<std::string>& records) {
    p = new_process();
    (void)p->create("t");
    must(append(*p->appender("t"), {"a"}));
    at = slurp(log_file()).size();
    append_to(log_file(), batch_of(1, 1, records));
    must(append(*p->appender("t"), {"d"}, kStart + 1));
    EXPECT_TRUE(p->notices.empty());
    place = p->place("t");
  }
  void remove() { std::filesystem::remove_all(root); }

  std::unique_ptr<Process> p;
  PartitionPlace place;
  std::size_t at = 0;
};

TEST_F(BadContent, IsSaidWithFileBytesAndOffsetsAndCanBePassed) {
  const std::vector<std::vector<std::string>> contents{
      {record(0, "b"), record(2, "beyond the last offset")},
      {record(1, "b"), record(1, "twice")},
      {record(1, "b"), record(0, "falling")},
      {record(0, "b"), "no record at all"},
      {record(0, "b"), record(1, "c") + "left over"},
  };
  for (const auto& records : contents) {
    SCOPED_TRACE(records[1]);
    fill(records);
    const ReadBack strict = p->read(place);
    ASSERT_TRUE(strict.error);
    EXPECT_EQ(strict.error->code, Errc::kCorrupt);
    const std::string said =
        fmt::format("'{}' is damaged at byte {}: the batch of offsets 1 to 2 ", log_file(), at);
    EXPECT_TRUE(strict.error->context.starts_with(said)) << strict.error->context;
    EXPECT_EQ(p->read(place, Offset(0), false, true).values().back(), "d");

    // The values alone, as consume reads them.
    RecordStream stream(p->store->env(), place, Offset(1), {.read_committed = true});
    std::vector<std::string> values;
    if (const auto step = stream.next(); step && *step == RecordStream::Step::kRecord) {
      values.emplace_back(*stream.record().value);
      std::optional<std::string_view> value;
      while (stream.rest_of_batch()->next_value(value))
        values.emplace_back(*value);
      EXPECT_FALSE(stream.next());
    }
    EXPECT_TRUE(values.size() == 1 || records[1].ends_with("left over")) << values.size();

    const PartitionView view = must(view_partition(p->store->env(), place));
    NewestRecords newest(10);
    must(find_newest(p->store->env(), place, view, view.log_end, true, newest));
    const auto kept = newest.take();
    EXPECT_EQ(kept.back().offset, Offset(3));
    EXPECT_EQ(kept.front().offset, Offset(0));
    EXPECT_EQ(must(offset_for_time(p->store->env(), place, view, kStart + 1)), Offset(3));
    remove();
  }
}

TEST_F(BadContent, ATimeWithinABatchThatCannotBeTakenApartIsItsBaseOffset) {
  fill({"no record", "none"});
  const PartitionView view = must(view_partition(p->store->env(), place));
  std::string log = slurp(log_file());
  auto* batch = reinterpret_cast<std::byte*>(log.data()) + at;
  store_be<std::int64_t>(batch + batch_field::kMaxTimestamp, kStart.value() + 1);
  const auto size = static_cast<std::size_t>(BatchHeader::decode(batch).size());
  renew_crc({batch, size});
  spew(log_file(), log);
  EXPECT_EQ(must(offset_for_time(p->store->env(), place, view, kStart + 1)), Offset(1));
}

TEST_F(BadContent, AGapAtTheStartOffsetIsDamage) {
  p = new_process();
  (void)p->create("t");
  auto a = p->appender("t");
  for (const char* v : {"a", "b", "c", "d", "e"})
    must(append(*a, {v}));
  const auto starts = batch_starts(log_file());
  const std::string log = slurp(log_file());
  spew(log_file(), log.substr(0, starts[1]) + log.substr(starts[3]));  // without 1 and 2
  place = p->place("t");
  for (const std::int64_t from : {0, 1, 2}) {
    const ReadBack back = p->read(place, Offset(from));
    ASSERT_TRUE(back.error) << from;
    EXPECT_NE(
        back.error->message().find(fmt::format("offsets {} to ", std::max<std::int64_t>(1, from))),
        std::string::npos)
        << back.error->message();
  }
  EXPECT_EQ(p->read(place, Offset(3)).values(), (std::vector<std::string>{"d", "e"}));
}

// A process that died within a batch whose record holds batches: nothing of it is of this log.
TEST_F(BadContent, BatchesInsideATornRecordAreNotOfTheLog) {
  for (const int stored : {1, 3}) {
    for (const bool to_the_end : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", stored, to_the_end));
      p = new_process();
      (void)p->create("t");
      must(append(*p->appender("t"), {"a"}));
      const std::string whole = slurp(log_file());
      std::string inside;
      for (int i = 0; i < stored; ++i)
        inside += batch_of(1 + i, 0, {record(0, "inside")});
      Batch outer(kStart, {inside + std::string(5000, 'x')});
      place_batch(outer.bytes(), Offset(1), Epoch(0));
      const std::string torn(as_text(outer.bytes()));
      const std::size_t end = torn.find(inside) + inside.size();
      append_to(log_file(), torn.substr(0, to_the_end ? end : end + 1000));
      EXPECT_EQ(p->read("t").values(), (std::vector<std::string>{"a"}));
      auto q = new_process();
      EXPECT_EQ(must(append(*q->appender("t"), {"new"})).base, Offset(1));
      ASSERT_EQ(q->notices.size(), 1U);
      EXPECT_NE(q->notices[0].find("spool.cut-1"), std::string::npos) << q->notices[0];
      EXPECT_EQ(q->read("t").values(), (std::vector<std::string>{"a", "new"}));
      remove();
    }
  }
}

// The damaged batch is there to its end, and what stands inside of it is not what follows it.
TEST_F(BadContent, BatchesInsideARottenRecordAreNotOfTheLog) {
  p = new_process();
  (void)p->create("t");
  auto a = p->appender("t");
  must(append(*a, {"a"}));
  const std::size_t size = slurp(log_file()).size();
  must(append(*a, {batch_of(1, 0, {record(0, "inside")})}));
  must(append(*a, {"c"}));
  flip_bit(log_file(), size + 63);
  place = p->place("t");
  const ReadBack back = p->read(place, Offset(0), false, true);
  ASSERT_TRUE(back.error);
  EXPECT_NE(back.error->message().find("offsets 1 to 1 do not read"), std::string::npos);
  EXPECT_EQ(back.values(), (std::vector<std::string>{"a", "c"}));
}

TEST_F(BadContent, TheFirstTransactionalBatchIsInTheStateBeforeItIsInTheLog) {
  p = new_process();
  (void)p->create("t");
  auto a = p->appender("t");
  auto b = p->appender("t");
  must(append(*a, {"a"}));
  must(append(*b, {"b"}));
  const auto plain = [&] { return must(read_state(posix_fs(), folder())).value().plain; };
  EXPECT_TRUE(plain());
  Batch open(kStart, {"open"});
  std::byte* raw = open.bytes().data();
  store_be<std::uint16_t>(raw + batch_field::kAttributes, batch_attribute::kTransactional);
  store_be<std::int64_t>(raw + batch_field::kProducerId, 7);
  renew_crc(open.bytes());
  must(a->append(open.bytes()));
  EXPECT_FALSE(plain());
  must(append(*b, {"behind"}));
  EXPECT_FALSE(plain());
  EXPECT_EQ(must(last_stable_offset(p->store->env(), p->place("t"), Offset(0), Offset(4))),
            Offset(2));
  EXPECT_EQ(p->read(p->place("t"), Offset(0), true).values(), (std::vector<std::string>{"a", "b"}));
}

// One that somebody else appended: found when the end is looked at.
TEST_F(BadContent, ATransactionalBatchOfOthersIsInTheStateToo) {
  p = new_process();
  (void)p->create("t");
  must(append(*p->appender("t"), {"a"}));
  Batch open(kStart, {"open"});
  place_batch(open.bytes(), Offset(1), Epoch(0));
  store_be<std::uint16_t>(open.bytes().data() + batch_field::kAttributes,
                          batch_attribute::kTransactional);
  renew_crc(open.bytes());
  append_to(log_file(), as_text(open.bytes()));
  must(append(*p->appender("t"), {"b"}));
  EXPECT_FALSE(must(read_state(posix_fs(), folder())).value().plain);
}

}  // namespace
}  // namespace spool::test
