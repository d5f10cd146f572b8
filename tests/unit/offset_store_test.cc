#include "group/offset_store.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "group/data_sync.h"
#include "support/fault_fs.h"
#include "support/golden.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

class OffsetStoreTest : public LogTest {
 protected:
  static OffsetChange at(int partition, std::int64_t offset, const std::string& topic = "t") {
    return {{topic, PartitionId(partition)}, Offset(offset), ""};
  }
  static OffsetChange gone(int partition, const std::string& topic = "t") {
    return {{topic, PartitionId(partition)}, std::nullopt, ""};
  }
  /// "t-0=5 t-1=7", as a fresh process sees it.
  std::string seen_by(OffsetStore& store, const std::string& group) {
    const auto record = must(store.group(group));
    if (!record) return "none";
    std::string out;
    for (const auto& [tp, value] : record->offsets)
      out += fmt::format("{}{}-{}={}", out.empty() ? "" : " ", tp.topic, tp.partition.value(),
                         value.offset.value());
    return out;
  }
  std::string fresh(const std::string& group) {
    const auto p = new_process();
    OffsetStore store(*p->store);
    return seen_by(store, group);
  }
  /// One batch of raw records at the end of the topic, as a broker's transactions write them.
  void append_raw(Process& p, std::int64_t producer, bool control, const std::string& key,
                  const std::string& value) {
    BatchBuilder builder;
    builder.add(kStart, key, value);
    const MutableBytes batch = must(builder.seal(Codec::kNone, nullptr));
    const std::uint16_t attributes =
        batch_attribute::kTransactional | (control ? batch_attribute::kControl : 0);
    store_be(batch.data() + batch_field::kAttributes, attributes);
    store_be(batch.data() + batch_field::kProducerId, producer);
    store_be(batch.data() + batch_field::kProducerEpoch, std::int16_t{0});
    store_be(batch.data() + batch_field::kBaseSequence, std::int32_t{control ? -1 : 0});
    store_be(batch.data() + batch_field::kCrc,
             crc32c(Bytes(batch).subspan(batch_field::kAttributes)));
    must(p.appender(std::string(kOffsetsTopic))->append(batch));
  }
  void commit_in_transaction(Process& p, std::int64_t producer, const std::string& group,
                             std::int64_t offset) {
    OffsetValue v;
    v.offset = Offset(offset);
    append_raw(p, producer, false, encode_offset_key(group, "t", PartitionId(0)),
               encode_offset_value(v));
  }
  void end_transaction(Process& p, std::int64_t producer, bool commit) {
    append_raw(p, producer, true, std::string("\0\0\0", 3) + (commit ? '\1' : '\0'),
               std::string(6, '\0'));
  }
};

TEST_F(OffsetStoreTest, WhatIsCommittedIsSeenByOthersAndMakesTheTopic) {
  const auto p = new_process();
  OffsetStore store(*p->store);
  const auto q = new_process();
  OffsetStore other(*q->store);
  EXPECT_EQ(seen_by(other, "g"), "none");
  EXPECT_TRUE(must(other.groups()).empty());
  must(store.commit("g", -1, {at(0, 5), at(1, 7)}));
  EXPECT_EQ(seen_by(other, "g"), "t-0=5 t-1=7");
  must(other.commit("g", -1, {at(1, 9)}));
  must(other.commit("h", -1, {at(0, 1, "u")}));
  EXPECT_EQ(seen_by(store, "g"), "t-0=5 t-1=9");
  must(store.commit("g", -1, {gone(0)}));
  EXPECT_EQ(fresh("g"), "t-1=9");
  EXPECT_EQ(must(store.groups()).size(), 2U);
  const TopicInfo topic = must(p->store->find_topic(std::string(kOffsetsTopic)));
  EXPECT_EQ(topic.partitions.size(), 1U);
  EXPECT_TRUE(topic.config.compacts());
  must(store.commit("h", -1, {at(3, 4)}));
  must(store.remove_topic("t"));
  EXPECT_EQ(fresh("g"), "none");
  EXPECT_EQ(fresh("h"), "u-0=1");
  must(store.commit("g", -1, {at(0, 5)}));
  must(store.remove("g"));
  EXPECT_EQ(fresh("g"), "none");
  EXPECT_EQ(fresh("h"), "u-0=1");
}

TEST_F(OffsetStoreTest, ADeletedTopicsOffsetsGoAlsoWhenTheFirstAttemptFails) {
  const auto p = new_process();
  (void)p->create("t");
  OffsetStore store(*p->store);
  must(store.commit("g", -1, {at(0, 5), at(0, 6, "u")}));
  int calls = 0;
  Store::Options options{fast_fs(), clock, {}, "", true};
  options.on_deleted = [&](Store& s, const std::string& topic) -> Result<void> {
    EXPECT_EQ(topic, "t");
    if (++calls == 1) return fail(Errc::kNoSpace, "no space for it");
    return OffsetStore(s).remove_topic(topic);
  };
  const auto q = must(Store::open_for_writing(options, root, false));
  const auto failed = q->delete_topic(must(q->find_topic("t")));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::kNoSpace);
  EXPECT_NE(failed.error().context.find("topic 't' is deleted"), std::string::npos);
  EXPECT_EQ(fresh("g"), "t-0=5 u-0=6");
  // As somebody finds it who comes after a crash: the name is free when the offsets are gone.
  must(q->create_topic("t", 1, {}));
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(fresh("g"), "u-0=6");
  must(q->create_topic("w", 1, {}));
  EXPECT_EQ(calls, 2);
}

TEST_F(OffsetStoreTest, ACommitAsksWhetherItStillMayUnderTheAppendByte) {
  const auto p = new_process();
  OffsetStore store(*p->store);
  must(store.commit("g", -1, {at(0, 5)}));
  const auto refused = store.commit("g", -1, {at(0, 6)}, [&]() -> Result<void> {
    return fail(Errc::kDeleted, "topic 't' was deleted");
  });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kDeleted);
  EXPECT_EQ(fresh("g"), "t-0=5");
}

TEST_F(OffsetStoreTest, ACommitOfAnotherGenerationWritesNothing) {
  const auto p = new_process();
  OffsetStore store(*p->store);
  must(store.commit("g", -1, {at(0, 5)}));
  const auto q = new_process();
  OffsetStore other(*q->store);
  EXPECT_EQ(must(other.generation("g")), -1);
  EXPECT_EQ(must(other.change("g", {at(0, 2)}, true)), 1);
  const std::string log = slurp(folder(std::string(kOffsetsTopic)) + "/00000000000000000000.log");
  const auto refused = store.commit("g", -1, {at(0, 6)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kConflict);
  EXPECT_EQ(slurp(folder(std::string(kOffsetsTopic)) + "/00000000000000000000.log"), log);
  EXPECT_EQ(fresh("g"), "t-0=2");
  must(store.commit("g", 1, {at(0, 3)}));
  EXPECT_EQ(must(other.change("g", {}, true)), 2);
  EXPECT_EQ(must(other.change("g", {at(0, 4)}, false)), 2);
  EXPECT_EQ(fresh("g"), "t-0=4");
}

TEST_F(OffsetStoreTest, ASnapshotIsAHint) {
  {
    const auto p = new_process();
    OffsetStore store(*p->store);
    must(store.commit("first", -1, {at(0, 1)}));
    // One batch is enough: it holds more records than a snapshot is written behind.
    std::vector<OffsetChange> many;
    for (int i = 0; i < OffsetStore::kSnapshotEvery; ++i)
      many.push_back(at(i, i));
    must(store.commit("g", -1, many));
    must(store.change("g", {}, true));
    must(store.commit("g", 1, {at(0, 77)}));
    must(store.commit("z", -1, {at(0, 3)}));
  }
  const std::string path = root + "/spool.offsets";
  ASSERT_TRUE(exists(path));
  const auto all = [&] {
    const auto p = new_process();
    OffsetStore store(*p->store);
    std::string out;
    for (const auto& [name, record] : must(store.groups()))
      out += fmt::format("{} {} {} {}\n", name, record.generation(), record.offsets.size(),
                         record.offsets.begin()->second.offset.value());
    return out;
  };
  const std::string want = "first -1 1 1\ng 1 10000 77\nz -1 1 3\n";
  EXPECT_EQ(all(), want);
  const std::string content = slurp(path);
  flip_bit(path, content.size() / 2);
  EXPECT_EQ(all(), want) << "a damaged one is passed over";
  std::filesystem::remove(path);
  EXPECT_EQ(all(), want);
  // One of another log: the topic was deleted, or the log cut.
  spew(path, content);
  const std::string log = folder(std::string(kOffsetsTopic)) + "/00000000000000000000.log";
  const auto starts = batch_starts(log);
  cut_file(log, starts[1]);
  EXPECT_EQ(all(), "first -1 1 1\n");
}

TEST_F(OffsetStoreTest, TransactionsCountFromTheirCommitMarkerOn) {
  const auto p = new_process();
  OffsetStore store(*p->store);
  must(store.commit("g", -1, {at(0, 1)}));
  commit_in_transaction(*p, 7, "g", 50);
  commit_in_transaction(*p, 8, "g", 60);
  EXPECT_EQ(seen_by(store, "g"), "t-0=1");
  EXPECT_EQ(fresh("g"), "t-0=1");
  end_transaction(*p, 8, false);
  EXPECT_EQ(fresh("g"), "t-0=1");
  end_transaction(*p, 7, true);
  EXPECT_EQ(seen_by(store, "g"), "t-0=50");
  EXPECT_EQ(fresh("g"), "t-0=50");
  // What was committed behind a transaction's own record stays.
  commit_in_transaction(*p, 9, "g", 70);
  must(store.commit("g", -1, {at(0, 80)}));
  end_transaction(*p, 9, true);
  EXPECT_EQ(seen_by(store, "g"), "t-0=80");
  EXPECT_EQ(fresh("g"), "t-0=80");
}

TEST_F(OffsetStoreTest, GroupsThatABrokerWroteGoOn) {
  copy_folder(golden_data(), root);
  const auto p = new_process();
  OffsetStore store(*p->store);
  EXPECT_EQ(seen_by(store, "g-all"), "codec-zstd-0=100");
  EXPECT_EQ(seen_by(store, "g-half"), "codec-zstd-0=50");
  EXPECT_EQ(must(store.groups()).size(), 2U);
  const std::int32_t generation = must(store.generation("g-half"));
  EXPECT_GT(generation, 0);
  must(store.commit("g-half", generation, {at(0, 60, "codec-zstd")}));
  EXPECT_EQ(fresh("g-half"), "codec-zstd-0=60");
  EXPECT_EQ(fresh("g-all"), "codec-zstd-0=100");
  const auto log = root + "/__consumer_offsets-3/00000000000000000000.log";
  EXPECT_GT(slurp(log).size(), slurp(golden_data() + log.substr(root.size())).size())
      << "it is in the partition where a broker looks for it";
}

TEST_F(OffsetStoreTest, AGroupOfANewerProtocolGoesInTheOrderThatABrokerLoads) {
  const auto key = [](int type, const std::string& group, const std::string& member = "") {
    const auto text = [](const std::string& t) {
      return std::string{'\0', static_cast<char>(t.size())} + t;
    };
    return std::string{'\0', static_cast<char>(type)} + text(group) +
           (member.empty() ? "" : text(member));
  };
  const auto p = new_process();
  OffsetStore store(*p->store);
  for (const std::string group : {"gone", "reset"}) {
    must(store.commit(group, -1, {at(0, 5)}));
    BatchBuilder builder;
    const std::string epoch("\0\0\0\0\0\7\0", 7);
    for (const int type : {3, 6, 11, 10})
      builder.add(kStart, key(type, group), epoch);
    for (const int type : {5, 7, 8, 16})
      builder.add(kStart, key(type, group, "m"), epoch);
    must(
        p->appender(std::string(kOffsetsTopic))->append(must(builder.seal(Codec::kNone, nullptr))));
  }
  EXPECT_EQ(must(store.group("reset"))->consumer_epoch, 7);
  /// Key types of the last batch, tombstones with a minus.
  const auto last_batch = [&] {
    const auto q = new_process();
    const PartitionPlace place =
        q->store->place(must(q->store->find_topic(std::string(kOffsetsTopic))), PartitionId(0));
    RecordStream stream(q->store->env(), place, Offset(0), {.read_committed = false});
    std::string out;
    Offset base(-1);
    while (must(stream.next()) == RecordStream::Step::kRecord) {
      if (stream.batch().base_offset != base) out.clear();
      base = stream.batch().base_offset;
      const auto decoded = must(decode_offsets_key(*stream.record().key));
      out += fmt::format("{}{} ", stream.record().value ? "" : "-", decoded.type);
    }
    return out;
  };
  must(store.remove("gone"));
  EXPECT_EQ(last_batch(), "-16 -10 -8 -7 -6 -5 -1 -11 -3 ");
  EXPECT_EQ(fresh("gone"), "none");
  // What is left is a classic group with the next generation.
  EXPECT_EQ(must(store.change("reset", {at(0, 2)}, true)), 1);
  EXPECT_EQ(last_batch(), "1 -16 -10 -8 -7 -6 -5 -11 -3 2 ");
  EXPECT_EQ(fresh("reset"), "t-0=2");
  EXPECT_FALSE(must(store.group("reset"))->consumer_epoch);
  EXPECT_EQ(must(store.generation("reset")), 1);
  must(store.remove("reset"));
  EXPECT_EQ(last_batch(), "-2 -1 ");
}

TEST_F(OffsetStoreTest, EachKeyHasItsNewestValueHoweverManyThereAre) {
  const auto p = new_process();
  OffsetStore store(*p->store);
  std::vector<OffsetChange> first;
  std::vector<OffsetChange> second;
  for (int i = 0; i < 9000; ++i) {
    first.push_back(at(i, i));
    if (i % 3 != 0) second.push_back(i % 3 == 1 ? at(i, i + 1) : gone(i));
  }
  must(store.commit("g", -1, first));
  must(store.commit("g", -1, second));
  must(store.commit("g", -1, {at(2, 1), gone(1), at(0, 9)}));
  std::filesystem::remove(root + "/spool.offsets");
  const auto q = new_process();
  OffsetStore other(*q->store);
  const auto group = must(other.group("g"));
  ASSERT_TRUE(group);
  EXPECT_EQ(group->offsets.size(), 6000U);
  for (int i = 3; i < 9000; i += 3) {
    EXPECT_EQ((group->offsets.at({"t", PartitionId(i)}).offset), Offset(i));
    EXPECT_EQ((group->offsets.at({"t", PartitionId(i + 1)}).offset), Offset(i + 2));
  }
  EXPECT_EQ((group->offsets.at({"t", PartitionId(0)}).offset), Offset(9));
  EXPECT_EQ((group->offsets.at({"t", PartitionId(2)}).offset), Offset(1));
}

TEST_F(OffsetStoreTest, ADeletedAndNewTopicIsNoticed) {
  const auto p = new_process();
  OffsetStore store(*p->store);
  must(store.commit("g", -1, {at(0, 5)}));
  std::filesystem::remove_all(folder(std::string(kOffsetsTopic)));
  std::filesystem::remove(root + "/spool.topics");
  const auto q = new_process();
  OffsetStore other(*q->store);
  must(other.commit("g", -1, {at(1, 6)}));
  must(store.commit("g", -1, {at(2, 7)}));
  EXPECT_EQ(fresh("g"), "t-1=6 t-2=7");
}

TEST_F(OffsetStoreTest, AFailedSyncOfTheOffsetsIsNoCommit) {
  FaultFs fs;
  const auto p = new_process(fs);
  OffsetStore store(*p->store);
  must(store.commit("g", -1, {at(0, 5)}));
  fs.plan({.call = Call::kSync, .nth = 1, .only = ".log"});
  EXPECT_FALSE(store.commit("g", -1, {at(0, 6)}));
  fs.heal();
  EXPECT_FALSE(store.commit("g", -1, {at(0, 7)})) << "for ever";
}

TEST_F(OffsetStoreTest, RecordsBelowACommitAreSyncedOnceAndNeverAgainAfterAFailure) {
  FaultFs fs;
  const auto p = new_process(fs);
  p->create("t");
  const auto to = p->appender("t");
  must(append(*to, numbered("a", 0, 10)));
  DataSync data(p->store->env());
  const PartitionPlace place = p->place("t");
  const auto syncs = [&](std::int64_t upto) {
    fs.plan({.call = Call::kSync, .nth = 1000, .only = ".log"});
    must(data.sync(place, Offset(upto)));
    fs.plan({.call = Call::kSync, .nth = 1, .sticky = true, .only = ".log"});
    const bool again = !data.sync(place, Offset(upto));
    fs.heal();
    return again;
  };
  EXPECT_FALSE(syncs(5)) << "known by then";
  fs.plan({.call = Call::kSync, .nth = 1, .only = ".log"});
  EXPECT_FALSE(data.sync(place, Offset(10)));
  fs.heal();
  EXPECT_FALSE(data.sync(place, Offset(10)));
}

}  // namespace
}  // namespace spool::test
