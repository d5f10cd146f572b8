// Verify: clean directories have nothing to say; a bit flipped at any byte of a partition is told.

#include <gtest/gtest.h>

#include "log/lookup.h"
#include "log/state_file.h"
#include "log/trim.h"
#include "store/verify_dir.h"
#include "support/golden.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

std::string text(const Finding& f) {
  const char* kind = f.kind == Finding::Kind::kDamage ? "damage"
                     : f.kind == Finding::Kind::kTail ? "tail"
                                                      : "note";
  return fmt::format("{} {} @{} {}-{}: {}", kind, f.file.substr(f.file.rfind('/') + 1), f.position,
                     f.first.value(), f.last.value(), f.what);
}

std::vector<std::string> texts(const std::vector<Finding>& findings) {
  std::vector<std::string> out;
  for (const Finding& f : findings)
    out.push_back(text(f));
  return out;
}

class Verify : public LogTest {
 protected:
  std::unique_ptr<Store> open(const std::string& at) {
    const Store::Options options{fast_fs(), clock, [](const std::string&) {}, "", true};
    return must(Store::open(options, at));
  }
  /// All findings of one partition of a directory.
  std::vector<Finding> check(const std::string& at, const std::string& topic, int partition = 0) {
    const auto store = open(at);
    DirectoryCheck directory(*store);
    must(directory.run());
    for (const TopicInfo& t : directory.topics()) {
      if (t.name != topic) continue;
      const PartitionId p(partition);
      PartitionCheck check(store->env(), store->place(t, p), directory.facts(t, p), [](int) {});
      must(check.begin());
      VerifyProgress progress;
      for (std::size_t i = 0; i < check.segments(); ++i)
        must(check.check_segment(i, progress));
      must(check.finish());
      return check.findings();
    }
    ADD_FAILURE() << "no topic " << topic;
    return {};
  }
  std::vector<Finding> check() { return check(root, "t"); }

  /// Flips a bit at each byte of each file of a folder, one after the other.
  void flip_all(const std::string& at, const std::string& topic, int partition,
                const std::function<bool(const std::string& file, std::size_t byte)>& excepted) {
    const std::string in = fmt::format("{}/{}-{}", at, topic, partition);
    int missed = 0;
    for (const std::string& name : names_in(in)) {
      const std::string path = in + "/" + name;
      const std::string content = slurp(path);
      for (std::size_t byte = 0; byte < content.size(); ++byte) {
        if (excepted(name, byte)) continue;
        std::string changed = content;
        const unsigned bit = static_cast<unsigned>(byte * 5 + byte / 8) % 8;
        changed[byte] = static_cast<char>(static_cast<unsigned char>(changed[byte]) ^ (1U << bit));
        spew(path, changed);
        const auto findings = check(at, topic, partition);
        const bool named = std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
          return f.file == path && f.kind != Finding::Kind::kNote;
        });
        if (!named && ++missed < 20)
          ADD_FAILURE() << name << " byte " << byte << " bit " << bit << ": not told, but "
                        << ::testing::PrintToString(texts(findings));
        spew(path, content);
      }
    }
    EXPECT_EQ(missed, 0);
    EXPECT_EQ(texts(check(at, topic, partition)), std::vector<std::string>{});
  }
};

TEST_F(Verify, NothingIsWrongWithWhatKafkaWrote) {
  const auto store = open(golden_data());
  DirectoryCheck directory(*store);
  must(directory.run());
  EXPECT_EQ(texts(directory.findings()), std::vector<std::string>{});
  std::int64_t records = 0;
  for (const TopicInfo& t : directory.topics())
    for (const PartitionId p : t.partitions) {
      PartitionCheck check(store->env(), store->place(t, p), directory.facts(t, p), [](int) {});
      must(check.begin());
      VerifyProgress progress;
      for (std::size_t i = 0; i < check.segments(); ++i)
        must(check.check_segment(i, progress));
      must(check.finish());
      EXPECT_EQ(texts(check.findings()), std::vector<std::string>{}) << check.place().name();
      records += check.records();
    }
  EXPECT_GT(records, 5000);
}

TEST_F(Verify, ACopyMadeBesideATrimHasNothingWorseThanANote) {
  const std::string copy = dir / "copy";
  {
    auto p = new_process();
    (void)p->create("t");
    auto to = p->appender("t");
    for (int i = 0; i < 6; ++i)
      must(append(*to, numbered("v", 2 * i, 2 * i + 2), kStart + i));
    must(to->sync());
    std::filesystem::copy(root, copy, std::filesystem::copy_options::recursive);
    must(trim_partition(p->store->env(), p->place("t"), Offset(7), TrimBelowStart::kFails));
  }
  // The epochs of afterwards; segments and checkpoint of before.
  spew(copy + "/t-0/leader-epoch-checkpoint", slurp(file("leader-epoch-checkpoint")));
  ASSERT_EQ(slurp(copy + "/t-0/leader-epoch-checkpoint"), "0\n1\n0 7\n");
  const auto found = check(copy, "t");
  ASSERT_EQ(found.size(), 1U) << ::testing::PrintToString(texts(found));
  EXPECT_EQ(found[0].kind, Finding::Kind::kNote);
  // The first append there puts it right.
  root = copy;
  EXPECT_EQ(must(append(*new_process()->appender("t"), {"more"})).base, Offset(12));
  EXPECT_EQ(slurp(copy + "/t-0/leader-epoch-checkpoint"), "0\n1\n0 0\n");
  EXPECT_EQ(texts(check(copy, "t")), std::vector<std::string>{});
}

TEST_F(Verify, ACopyWithANewerEpochFileThanLogGoesOnUnderAnEpochOfItsOwn) {
  const std::string copy = dir / "copy";
  {
    auto p = new_process();
    (void)p->create("t");
    auto to = p->appender("t");
    must(append(*to, numbered("v", 0, 4)));
    must(to->close());
    std::filesystem::copy(root, copy, std::filesystem::copy_options::recursive);
  }
  spew(copy + "/t-0/leader-epoch-checkpoint", "0\n2\n0 0\n1 9\n");
  EXPECT_EQ(texts(check(copy, "t")), std::vector<std::string>{});
  root = copy;
  EXPECT_EQ(must(append(*new_process()->appender("t"), {"more"})).base, Offset(4));
  EXPECT_EQ(slurp(copy + "/t-0/leader-epoch-checkpoint"), "0\n2\n0 0\n2 4\n");
  EXPECT_EQ(texts(check(copy, "t")), std::vector<std::string>{});
}

TEST_F(Verify, ACopyThatLacksItsEndIsCleanAfterTheNextAppend) {
  const std::string copy = dir / "copy";
  {
    auto p = new_process();
    (void)p->create("t");
    auto to = p->appender("t");
    must(append(*to, numbered("v", 0, 4)));
    must(to->close());
  }
  std::filesystem::copy(root, copy, std::filesystem::copy_options::recursive);
  // Of a moment when the log had nine.
  auto state = must(read_state(fast_fs(), folder()));
  ASSERT_TRUE(state);
  state->recovery_point = Offset(9);
  must(write_state(fast_fs(), copy + "/t-0", *state, 0644, Durability::kNamed));
  root = copy;
  EXPECT_EQ(must(append(*new_process()->appender("t"), {"more"})).base, Offset(9));
  EXPECT_EQ(slurp(copy + "/t-0/leader-epoch-checkpoint"), "0\n2\n0 0\n1 4\n");
  EXPECT_EQ(texts(check(copy, "t")), std::vector<std::string>{});
}

TEST_F(Verify, ACopyThatIsOlderThanATrimGoesOnBehindTheTrim) {
  const std::string copy = dir / "copy";
  {
    auto p = new_process();
    (void)p->create("t");
    auto to = p->appender("t");
    must(append(*to, numbered("v", 0, 4)));
    must(to->close());
    std::filesystem::copy(root, copy, std::filesystem::copy_options::recursive);
    must(append(*p->appender("t"), numbered("v", 4, 9)));
    must(trim_partition(p->store->env(), p->place("t"), Offset(7), TrimBelowStart::kFails));
  }
  spew(copy + "/log-start-offset-checkpoint", slurp(root + "/log-start-offset-checkpoint"));
  root = copy;
  EXPECT_EQ(must(append(*new_process()->appender("t"), {"more"})).base, Offset(7));
  const auto p = new_process();
  const auto view = must(view_partition(p->store->env(), p->place("t")));
  EXPECT_EQ(view.log_start, Offset(7));
  EXPECT_EQ(view.log_end, Offset(8));
  EXPECT_EQ(p->read(p->place("t"), Offset(7)).values(), std::vector<std::string>{"more"});
  EXPECT_EQ(texts(check(copy, "t")), std::vector<std::string>{});
}

TEST_F(Verify, ABitFlippedAnywhereInAPartitionOfOursIsTold) {
  small_segments(700, 100);
  {
    auto p = new_process();
    p->create("t");
    auto to = p->appender("t");
    for (int i = 0; i < 12; ++i)
      must(append(*to, numbered(fmt::format("value {} ", i), 0, 3), kStart + i));
    must(to->sync());
    must(to->close());
  }
  ASSERT_EQ(texts(check()), std::vector<std::string>{});
  ASSERT_GE(names_in(folder()).size(), 9U);
  flip_all(root, "t", 0, [](const std::string&, std::size_t) { return false; });
}

TEST_F(Verify, ABitFlippedAnywhereInAPartitionOfKafkasIsTold) {
  // No more than is needed: each check looks at all of the directory.
  std::filesystem::create_directory(root);
  for (const std::string& name : names_in(golden_data())) {
    const bool wanted = name.starts_with("transactions-") || name.starts_with("crc32-keys-") ||
                        name == "trimmed-0" || name == "append-time-0";
    if (wanted || !std::filesystem::is_directory(golden_data() + "/" + name))
      copy_folder(golden_data() + "/" + name, root + "/" + name);
  }
  const auto none = [](const std::string&, std::size_t) { return false; };
  flip_all(root, "transactions", 1, none);
  flip_all(root, "crc32-keys", 3, none);
  // One partition alone: nothing else has the topic's id.
  const auto id = [](const std::string& name, std::size_t byte) {
    return name == "partition.metadata" && byte >= 21;
  };
  flip_all(root, "append-time", 0, id);
  flip_all(root, "trimmed", 0, id);
}

}  // namespace
}  // namespace spool::test
