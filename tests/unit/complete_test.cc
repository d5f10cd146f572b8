#include "complete.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "complete_names.h"
#include "options.h"
#include "store/catalogue.h"
#include "store/topic_config.h"
#include "support/temp_dir.h"

namespace spool {
namespace {

using Words = std::vector<std::string>;

/// Topics and groups by directory; "" is the default one.
class FakeNames : public LiveNames {
 public:
  FakeNames() {
    topics_[""] = {"__consumer_offsets", "a", "a.b", "b-1"};
    topics_["/other"] = {"far"};
    topics_["/odd"] = {"--", "-x", "x"};
    partitions_ = {{"a", 12}, {"a.b", 1}, {"b-1", 3}};
  }
  Words topics(const NamePlace& place) override { return topics_[place.dir.value_or("")]; }
  std::vector<std::int32_t> partitions(const NamePlace& place, const std::string& topic) override {
    std::vector<std::int32_t> out;
    if (!place.dir)
      for (std::int32_t p = 0; p < partitions_[topic]; ++p)
        out.push_back(p);
    return out;
  }
  Words groups(const NamePlace& /*place*/) override { return {"g1", "g2"}; }

 private:
  std::map<std::string, Words> topics_;
  std::map<std::string, std::int32_t> partitions_;
};

/// The last word is the current one. What stays, then the candidates that fit, joined by blanks.
std::string offers(Words words) {
  FakeNames names;
  const std::string current = words.back();
  words.pop_back();
  const Completion c = complete(words, current, names);
  EXPECT_TRUE(current.starts_with(c.prefix)) << current;
  std::string out = c.prefix.empty() ? "" : c.prefix + " |";
  if (c.paths == Completion::Paths::kFiles) out += " FILES";
  if (c.paths == Completion::Paths::kDirs) out += " DIRS";
  for (const Candidate& one : c.candidates)
    if (one.value.starts_with(current.substr(c.prefix.size()))) out += " " + one.value;
  return out.empty() || out.front() != ' ' ? out : out.substr(1);
}

TEST(Complete, CommandsWhereNoneIsYet) {
  std::string all;
  for (const CommandDef& c : commands())
    all += (all.empty() ? "" : " ") + std::string(c.name);
  EXPECT_EQ(offers({""}), all);
  EXPECT_EQ(offers({"prod"}), "produce");
  EXPECT_EQ(offers({"-q", "-d", "consume", "con"}), "consume") << "the value of -d is no command";
  EXPECT_EQ(offers({"--color=never", "con"}), "consume");
  EXPECT_EQ(offers({"--", "con"}), "consume");
  EXPECT_EQ(offers({"nonsense", ""}), "");
  EXPECT_EQ(offers({"nonsense", "-"}), "");
}

TEST(Complete, EveryOptionOfTheTable) {
  FakeNames names;
  for (const CommandDef& command : commands()) {
    std::set<std::string> want;
    const auto take = [&](const OptionDef& o) {
      want.insert("--" + std::string(o.name));
      if (o.letter != '\0') want.insert(std::string("-") + o.letter);
    };
    std::for_each(command.options.begin(), command.options.end(), take);
    std::for_each(common_options().begin(), common_options().end(), take);
    std::set<std::string> got;
    for (const Candidate& c : complete({std::string(command.name)}, "-", names).candidates) {
      EXPECT_TRUE(got.insert(c.value).second) << c.value << " twice";
      EXPECT_NE(c.note, "") << c.value;
    }
    EXPECT_EQ(got, want) << command.name;
    std::erase_if(want, [](const std::string& o) { return o[1] != '-'; });
    got.clear();
    for (const Candidate& c : complete({std::string(command.name)}, "--", names).candidates)
      got.insert(c.value);
    EXPECT_EQ(got, want) << command.name;
  }
}

TEST(Complete, OptionsThatGoWithTheAction) {
  EXPECT_EQ(offers({"topics", "create", "--if"}), "--if-not-exists");
  EXPECT_EQ(offers({"topics", "list", "--if-n"}), "");
  EXPECT_EQ(offers({"topics", "list", "--int"}), "--internal");
  EXPECT_EQ(offers({"topics", "--int"}), "--internal") << "no action yet: any may come";
}

TEST(Complete, OptionsThatWereGivenAreNotOfferedAgainUnlessTheyRepeat) {
  EXPECT_EQ(offers({"consume", "--ra"}), "--raw");
  EXPECT_EQ(offers({"consume", "--raw", "--ra"}), "");
  EXPECT_EQ(offers({"-qf", "consume", "--fo"}), "--format");
  EXPECT_EQ(offers({"consume", "--header", "a=b", "--hea"}), "--header");
  EXPECT_EQ(offers({"consume", "--", "--ra"}), "") << "a word";
}

TEST(Complete, OtherNamesOfAnOptionOnlyWhereItsOwnDoesNotFit) {
  EXPECT_EQ(offers({"consume", "--nu"}), "--null --null-marker");
  EXPECT_EQ(offers({"consume", "--num"}), "--num");
  EXPECT_EQ(offers({"consume", "--max-m"}), "--max-messages");
}

TEST(Complete, LettersAreWhole) {
  EXPECT_EQ(offers({"consume", "-f"}), "-f");
  EXPECT_EQ(offers({"consume", "-uf"}), "-uf");
  EXPECT_EQ(offers({"consume", "-@"}), "");
}

TEST(Complete, ValuesThatTheTableNames) {
  EXPECT_EQ(offers({"consume", "--color", ""}), "auto always never");
  EXPECT_EQ(offers({"consume", "--color=a"}), "--color= | auto always");
  EXPECT_EQ(offers({"--color", "n"}), "never");
  EXPECT_EQ(offers({"produce", "-z", ""}), "none gzip snappy lz4 zstd");
  EXPECT_EQ(offers({"produce", "-qzz"}), "-qz | zstd");
  EXPECT_EQ(offers({"produce", "--compression=g"}), "--compression= | gzip");
  EXPECT_EQ(offers({"produce", "--acks", "-"}), "-1") << "a value, not an option";
  EXPECT_EQ(offers({"consume", "--raw="}), "") << "a flag has none";
  EXPECT_EQ(offers({"consume", "-c", ""}), "") << "anything; no topic";
  EXPECT_EQ(offers({"produce", "--report="}), "--report= |");
  EXPECT_EQ(offers({"produce", "--nonsense="}), "");
}

TEST(Complete, TopicsLive) {
  EXPECT_EQ(offers({"consume", ""}), "a a.b b-1");
  EXPECT_EQ(offers({"consume", "a", ""}), "a.b b-1") << "not twice";
  EXPECT_EQ(offers({"consume", "-f", "a."}), "a.b");
  EXPECT_EQ(offers({"consume", "_"}), "__consumer_offsets");
  EXPECT_EQ(offers({"consume", "-t", ""}), "a a.b b-1");
  EXPECT_EQ(offers({"consume", "-t", "a", "-t", ""}), "a.b b-1");
  EXPECT_EQ(offers({"consume", "-tb"}), "-t | b-1");
  EXPECT_EQ(offers({"consume", "--topic=b"}), "--topic= | b-1");
  EXPECT_EQ(offers({"--topic", "b"}), "b-1") << "before the command";
  EXPECT_EQ(offers({"consume", "--", ""}), "a a.b b-1");
  EXPECT_EQ(offers({"topics", "describe", "a", "b"}), "b-1");
  EXPECT_EQ(offers({"topics", "create", ""}), "") << "a new name";
  EXPECT_EQ(offers({"topics", "list", ""}), "");
  EXPECT_EQ(offers({"topics", "nonsense", ""}), "");
}

TEST(Complete, OfTheDirectoryOnTheLine) {
  EXPECT_EQ(offers({"-d", "/other", "consume", ""}), "far");
  EXPECT_EQ(offers({"consume", "--dir=/other", ""}), "far");
  EXPECT_EQ(offers({"consume", "-qd/other", ""}), "far");
  EXPECT_EQ(offers({"-d", "/none", "consume", "-d", "/other", "-t", ""}), "far") << "the last";
}

TEST(Complete, TopicsThatLookLikeOptionsOnlyWhereTheyAreNone) {
  EXPECT_EQ(offers({"-d/odd", "consume", ""}), "x");
  EXPECT_EQ(offers({"-d/odd", "consume", "--", ""}), "-- -x x");
  EXPECT_EQ(offers({"-d/odd", "consume", "--", "-"}), "-- -x");
  EXPECT_EQ(offers({"-d/odd", "consume", "-t", "-"}), "-- -x");
  EXPECT_EQ(offers({"-d/odd", "consume", "--topic=-"}), "--topic= | -- -x");
}

TEST(Complete, FilesBehindTheTopicOfProduce) {
  EXPECT_EQ(offers({"produce", ""}), "a a.b b-1");
  EXPECT_EQ(offers({"produce", "a", ""}), "FILES");
  EXPECT_EQ(offers({"produce", "a", "x", "y"}), "FILES");
  EXPECT_EQ(offers({"produce", "-t", "a", ""}), "FILES");
  EXPECT_EQ(offers({"-d", ""}), "DIRS");
  EXPECT_EQ(offers({"consume", "--dir=/x"}), "--dir= | DIRS");
  EXPECT_EQ(offers({"consume", "-d/x"}), "-d | DIRS");
}

TEST(Complete, PartitionsOfTheTopicsOnTheLine) {
  EXPECT_EQ(offers({"consume", "b-1", "-p", ""}), "0 1 2");
  EXPECT_EQ(offers({"consume", "a", "-p", "1"}), "1 10 11");
  EXPECT_EQ(offers({"consume", "b-1", "-p", "0,"}), "0, | 1 2");
  EXPECT_EQ(offers({"consume", "b-1", "-p0-"}), "-p0- | 1 2");
  EXPECT_EQ(offers({"produce", "b-1", "file", "--partition="}), "--partition= | 0 1 2");
  EXPECT_EQ(offers({"produce", "-t", "a.b", "b-1", "-p", ""}), "0") << "a file";
  EXPECT_EQ(offers({"produce", "b-1", "-p", "0,"}), "") << "one only";
  EXPECT_EQ(offers({"consume", "-p", ""}), "");
}

TEST(Complete, ConfigsOfTopics) {
  EXPECT_EQ(offers({"topics", "create", "t", "-c", "segment.b"}), "segment.bytes=");
  EXPECT_EQ(offers({"topics", "create", "t", "--config=compression.type=z"}),
            "--config=compression.type= | zstd");
  EXPECT_EQ(offers({"produce", "t", "--config-topic", "cleanup.policy=compact,"}),
            "cleanup.policy=compact, | compact delete");
  EXPECT_EQ(offers({"topics", "create", "t", "-c", "preallocate="}), "preallocate= | true false");
  EXPECT_EQ(offers({"topics", "create", "t", "-c", "nonsense="}), "");
  FakeNames names;
  EXPECT_EQ(complete({"topics", "create", "-c"}, "", names).candidates.size(),
            topic_config_defs().size());
}

TEST(Complete, LinesOfTheAnswer) {
  Completion c;
  c.prefix = "--dir=";
  c.paths = Completion::Paths::kDirs;
  c.candidates = {{"abc", "a note"}, {"ab", ""}, {"b", ""}};
  EXPECT_EQ(format_completion(c, "--dir=ab", true), ":prefix --dir=\n:dirs\nabc\ta note\nab\n");
  EXPECT_EQ(format_completion(c, "--dir=ab", false), ":prefix --dir=\n:dirs\nabc\ta note\nab\nb\n");
  c = {"", {}, Completion::Paths::kFiles};
  EXPECT_EQ(format_completion(c, "", true), ":files\n");
  FakeNames names;
  EXPECT_EQ(format_completion(complete({"consume"}, "--color=\nx", names), "--color=\nx", false),
            "")
      << "no line of it would be read right";
}

TEST(CompleteNames, OutOfTheListOfTopicsTenThousandOfThem) {
  const test::TempDir dir;
  std::vector<CatalogueEntry> topics(10'000);
  for (std::size_t i = 0; i < topics.size(); ++i) {
    topics[i].name = "topic-" + std::to_string(10'000 + i);
    topics[i].id = Uuid::random();
  }
  topics[7].partitions = 3;
  std::ofstream(dir.path() + "/spool.topics") << format_catalogue({topics, {}});
  DirectoryNames names;
  const Words found = names.topics({dir.path()});
  ASSERT_EQ(found.size(), topics.size());
  EXPECT_EQ(found.front(), "topic-10000");
  EXPECT_EQ(found.back(), "topic-19999");
  EXPECT_EQ(names.partitions({dir.path()}, "topic-10007"), (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(names.partitions({dir.path()}, "none"), std::vector<std::int32_t>{});
  EXPECT_EQ(names.partitions({dir.path()}, "../x"), std::vector<std::int32_t>{});
  EXPECT_EQ(names.topics({dir.path() + "/none"}), Words{});
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1)
      << "nothing is made";
}

}  // namespace
}  // namespace spool
