#pragma once
/// The actions of `spool topics`. A new one is a function here, a line in the table of topics.cc,
/// and its name at the options that it takes in option_tables.cc.

#include <string>
#include <vector>

#include "context.h"
#include "options.h"
#include "store/store.h"
#include "table.h"

namespace spool {

/// What an action is called with: its options make sense for it, its words are not looked at yet.
struct TopicsCall {
  const Args& args;
  const Common& common;
  std::vector<std::string> words;  ///< behind the action
  TableFormat format = TableFormat::kText;
};

/// Each says what is wrong on stderr and gives the exit status.
[[nodiscard]] int topics_list(const TopicsCall& call);
[[nodiscard]] int topics_create(const TopicsCall& call);
[[nodiscard]] int topics_describe(const TopicsCall& call);
[[nodiscard]] int topics_describe_cluster(const TopicsCall& call);
[[nodiscard]] int topics_alter(const TopicsCall& call);
[[nodiscard]] int topics_delete(const TopicsCall& call);
[[nodiscard]] int topics_trim(const TopicsCall& call);
[[nodiscard]] int topics_offsets(const TopicsCall& call);
[[nodiscard]] int topics_verify(const TopicsCall& call);
[[nodiscard]] int topics_repair(const TopicsCall& call);
[[nodiscard]] int topics_dump(const TopicsCall& call);

// What they share.

/// The topics that the words choose: by name, or with --regex by pattern; all of them where there
/// are no words. Internal topics only by name or with --internal. Errc::kNotFound for a name that
/// is not there, Errc::kUsage for a pattern that is none.
[[nodiscard]] Result<std::vector<TopicInfo>> choose_topics(Store& store, const TopicsCall& call);

/// The same for what acts on each topic by itself: what is not there is said, unless --if-exists
/// was given, and `missing` becomes that status; the others are still chosen. A pattern must match.
[[nodiscard]] Result<std::vector<TopicInfo>> choose_each(Store& store, const TopicsCall& call,
                                                         int& missing);

/// "NAME=VALUE,NAME=VALUE" of what is set.
[[nodiscard]] std::string config_text(const TopicConfig& config);

/// Writes data to stdout; the exit status.
[[nodiscard]] int print_out(const std::string& text);
/// A usage error says where the help is, any other one only what it is; the exit status.
[[nodiscard]] int report_topics_error(const Error& error);

}  // namespace spool
