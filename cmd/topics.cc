/// `spool topics`: finds the action and hands over to it.

#include <algorithm>
#include <array>
#include <cerrno>
#include <regex.h>
#include <unistd.h>

#include <fmt/format.h>

#include "commands.h"
#include "topics_actions.h"

namespace spool {

namespace {

struct Action {
  std::string_view name;
  int (*run)(const TopicsCall& call) = nullptr;
};

constexpr auto kActions = std::to_array<Action>({
    {"list", topics_list},
    {"create", topics_create},
    {"alter", topics_alter},
    {"describe", topics_describe},
    {"delete", topics_delete},
    {"trim", topics_trim},
    {"offsets", topics_offsets},
    {"verify", topics_verify},
    {"repair", topics_repair},
    {"dump", topics_dump},
});

std::string action_names() {
  std::string out;
  for (const Action& a : kActions) {
    if (!out.empty()) out += &a == &kActions.back() ? " or " : ", ";
    out += a.name;
  }
  return out;
}

/// The action that was named, if it takes the options that were given.
Result<const Action*> find_action(const Args& args) {
  if (args.words().empty()) return fail(Errc::kUsage, "no action: " + action_names());
  const std::string& name = args.words().front();
  const auto action = std::find_if(kActions.begin(), kActions.end(),
                                   [&](const Action& a) { return a.name == name; });
  if (action == kActions.end())
    return fail(Errc::kUsage, fmt::format("unknown action '{}': {}", name, action_names()));
  for (const OptionDef& o : find_command("topics")->options) {
    if (!args.has(o.name) || o.actions.empty()) continue;
    const std::string padded = fmt::format(" {} ", o.actions);
    if (padded.find(fmt::format(" {} ", name)) == std::string::npos)
      return fail(Errc::kUsage, fmt::format("--{} does not go with {}", o.name, name));
  }
  return action;
}

}  // namespace

int print_out(const std::string& text) {
  if (write_all(STDOUT_FILENO, text)) return status::kOk;
  return report_error(system_error(errno, "cannot write to stdout"));
}

int report_topics_error(const Error& error) {
  return error.code == Errc::kUsage ? usage_error("topics", error) : report_error(error);
}

std::string config_text(const TopicConfig& config) {
  std::string out;
  for (const auto& [name, value] : config.values())
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", name, value);
  return out;
}

namespace {

/// A compiled pattern, which must match a whole name.
class Pattern {
 public:
  explicit Pattern(const std::string& text)
      : good_(::regcomp(&regex_, ("^(" + text + ")$").c_str(), REG_EXTENDED | REG_NOSUB) == 0) {}
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  ~Pattern() {
    if (good_) ::regfree(&regex_);
  }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool matches(const std::string& name) const {
    return ::regexec(&regex_, name.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t regex_{};
  bool good_;
};

/// The topics that a pattern matches are marked; whether there were any.
Result<bool> mark_matches(const std::vector<TopicInfo>& all, const std::string& text, bool internal,
                          std::vector<bool>& chosen) {
  const Pattern pattern(text);
  if (!pattern.good())
    return fail(Errc::kUsage, fmt::format("'{}' is no regular expression", text));
  bool any = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((!internal && is_internal_topic(all[i].name)) || !pattern.matches(all[i].name)) continue;
    any = chosen[i] = true;
  }
  return any;
}

void take_chosen(std::vector<TopicInfo>& all, const std::vector<bool>& chosen,
                 std::vector<TopicInfo>& out) {
  for (std::size_t i = 0; i < all.size(); ++i)
    if (chosen[i]) out.push_back(std::move(all[i]));
}

}  // namespace

Result<std::vector<TopicInfo>> choose_topics(Store& store, const TopicsCall& call) {
  std::vector<TopicInfo> out;
  if (!call.args.has("regex") && !call.words.empty()) {
    for (const std::string& name : call.words) {
      TRY_ASSIGN(TopicInfo topic, store.find_topic(name));
      out.push_back(std::move(topic));
    }
    return out;
  }
  TRY_ASSIGN(auto all, store.list_topics());
  const bool internal = call.args.has("internal");
  std::vector<bool> chosen(all.size());
  if (call.words.empty())
    for (std::size_t i = 0; i < all.size(); ++i)
      chosen[i] = internal || !is_internal_topic(all[i].name);
  for (const std::string& pattern : call.words)
    TRY(mark_matches(all, pattern, internal, chosen));
  take_chosen(all, chosen, out);
  return out;
}

Result<std::vector<TopicInfo>> choose_each(Store& store, const TopicsCall& call, int& missing) {
  std::vector<TopicInfo> out;
  const auto lacks = [&](const Error& error) {
    if (!call.args.has("if-exists")) missing = report_error(error);
  };
  if (call.args.has("regex")) {
    TRY_ASSIGN(auto all, store.list_topics());
    std::vector<bool> chosen(all.size());
    for (const std::string& pattern : call.words) {
      TRY_ASSIGN(const bool any, mark_matches(all, pattern, call.args.has("internal"), chosen));
      if (!any) lacks(Error{Errc::kNotFound, 0, fmt::format("no topic matches '{}'", pattern)});
    }
    take_chosen(all, chosen, out);
    return out;
  }
  std::vector<std::string> names = call.words;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& name : names) {
    auto topic = store.find_topic(name);
    if (topic) {
      out.push_back(std::move(*topic));
    } else if (topic.error().code == Errc::kNotFound) {
      lacks(topic.error());
    } else {
      return fail(topic.error());
    }
  }
  return out;
}

int run_topics(const Args& args) {
  const auto common = read_common(args);
  if (!common) return usage_error("topics", common.error());
  const auto action = find_action(args);
  if (!action) return usage_error("topics", action.error());
  const TopicsCall call{args,
                        *common,
                        {args.words().begin() + 1, args.words().end()},
                        table_format(args.value("format").value_or("text"))};
  return (*action)->run(call);
}

}  // namespace spool
