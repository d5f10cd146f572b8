#include "complete.h"

#include <algorithm>
#include <set>
#include <span>
#include <unistd.h>

#include <fmt/format.h>

#include "complete_names.h"
#include "context.h"
#include "options.h"
#include "store/topic_config.h"

namespace spool {

namespace {

/// An option that was typed, with its value where it has one.
struct Given {
  const OptionDef* def;
  std::optional<std::string> value;
};

/// The words in front of the current one, as far as they can be understood.
struct TypedLine {
  const CommandDef* command = nullptr;
  bool unknown_command = false;
  std::vector<std::string> words;  ///< that are neither options nor their values
  std::vector<Given> given;
  const OptionDef* pending = nullptr;  ///< the current word is its value
  bool only_words = false;             ///< behind "--"

  [[nodiscard]] bool has(std::string_view name) const {
    return std::any_of(given.begin(), given.end(),
                       [&](const Given& g) { return g.def->name == name; });
  }
  [[nodiscard]] std::vector<std::string> values(std::string_view name) const {
    std::vector<std::string> out;
    for (const Given& g : given)
      if (g.def->name == name && g.value) out.push_back(*g.value);
    return out;
  }
  [[nodiscard]] std::optional<std::string> last_value(std::string_view name) const {
    const auto all = values(name);
    return all.empty() ? std::nullopt : std::optional(all.back());
  }
};

TypedLine read_line(const std::vector<std::string>& words) {
  TypedLine line;
  const CommandLine split = split_command(words);
  line.command = find_command(split.command);
  line.unknown_command = line.command == nullptr && !split.command.empty();
  for (std::size_t i = 0; i < split.rest.size(); ++i) {
    const std::string& word = split.rest[i];
    if (line.only_words || !is_option(word)) {
      line.words.push_back(word);
      continue;
    }
    if (word == "--") {
      line.only_words = true;
      continue;
    }
    OptionWord seen = read_option_word(line.command, word);
    for (const OptionDef* def : seen.defs)
      line.given.push_back({def, std::nullopt});
    if (!seen.unknown.empty()) continue;
    if (seen.attached) {
      line.given.back().value = std::move(seen.attached);
    } else if (seen.takes == 2 && i + 1 < split.rest.size()) {
      line.given.back().value = split.rest[++i];
    } else if (seen.takes == 2) {
      line.pending = seen.defs.back();
      line.given.pop_back();
    }
  }
  return line;
}

// What stands for a value or a word in help tells what it is: T or TOPIC a topic, T[:P] or its like
// a topic and partitions of it, G or GROUP a group, DIR and FILE (or F) paths. A '|' parts several.
// What help says in a word that is no such name (N, SPEC, CMD) has no completions.
enum class Label { kOther, kTopic, kTopicPartition, kGroup, kFile, kDir };

Label label_of(std::string_view text) {
  if (text == "T" || text == "TOPIC") return Label::kTopic;
  if (text.starts_with("T[:") || text.starts_with("T:")) return Label::kTopicPartition;
  if (text == "TOPIC[:P]") return Label::kTopicPartition;
  if (text == "G" || text == "GROUP") return Label::kGroup;
  if (text == "F" || text == "FILE") return Label::kFile;
  if (text == "DIR") return Label::kDir;
  return Label::kOther;
}

/// A place for words behind the command: what the synopsis says.
struct Slot {
  std::string_view label;
  bool optional = false;
  bool repeats = false;
};

/// "create T... [OPTIONS]" without its options.
std::vector<Slot> read_slots(std::string_view synopsis) {
  std::vector<Slot> out;
  bool value_of_option = false;
  for (std::string_view word : split(synopsis, ' ')) {
    Slot slot;
    if (word.starts_with('[')) {
      slot.optional = true;
      word.remove_prefix(1);
      if (word.ends_with(']')) word.remove_suffix(1);
    }
    if (word.starts_with('(') || word.starts_with('-')) {
      value_of_option = true;
      continue;
    }
    while (word.ends_with('.')) {
      slot.repeats = true;
      word.remove_suffix(1);
    }
    if (word.empty() || word == "|" || word == "OPTIONS" || value_of_option) {
      value_of_option = false;
      continue;
    }
    slot.label = word;
    out.push_back(slot);
  }
  return out;
}

/// The actions of a command, with what may follow each: "list | create T... | ..". A command whose
/// synopsis begins otherwise has none.
struct Action {
  std::string_view name;
  std::string_view synopsis;
};

std::vector<Action> actions_of(const CommandDef& command) {
  std::vector<Action> out;
  std::string_view left = command.synopsis;
  if (left.empty() || left.front() < 'a' || left.front() > 'z') return out;
  constexpr std::string_view kOr = " | ";
  for (bool more = true; more;) {
    const std::size_t end = left.find(kOr);
    more = end != std::string_view::npos;
    const std::string_view one = left.substr(0, end);
    const std::size_t blank = std::min(one.find(' '), one.size());
    out.push_back({one.substr(0, blank), one.substr(std::min(blank + 1, one.size()))});
    if (more) left.remove_prefix(end + kOr.size());
  }
  return out;
}

bool belongs_to(const OptionDef& o, std::string_view action) {
  if (o.actions.empty() || action.empty()) return true;
  const auto all = split(o.actions, ' ');
  return std::find(all.begin(), all.end(), action) != all.end();
}

class Completer {
 public:
  Completer(const std::vector<std::string>& words, const std::string& current, LiveNames& names)
      : line_(read_line(words)), current_(current), names_(names) {}

  Completion run() {
    if (line_.unknown_command || current_.find('\n') != std::string::npos) return {};
    if (line_.command != nullptr) actions_ = actions_of(*line_.command);
    if (!actions_.empty() && !line_.words.empty()) {
      const auto at = std::find_if(actions_.begin(), actions_.end(),
                                   [&](const Action& a) { return a.name == line_.words.front(); });
      if (at == actions_.end())
        unknown_action_ = true;
      else
        action_ = *at;
    }
    if (line_.pending != nullptr) {
      value_of(*line_.pending, current_);
    } else if (!line_.only_words && current_.starts_with('-')) {
      option();
    } else if (line_.command == nullptr) {
      for (const CommandDef& c : commands())
        add(c.name, c.summary);
    } else {
      word();
    }
    return std::move(out_);
  }

 private:
  void add(std::string_view value, std::string_view note = {}) {
    out_.candidates.push_back({std::string(value), std::string(note)});
  }
  void add_list(std::string_view comma_separated) {
    for (const std::string_view v : split(comma_separated, ','))
      add(v);
  }

  [[nodiscard]] bool offered(const OptionDef& o) const {
    if (!belongs_to(o, action_.name)) return false;
    return o.kind == OptionKind::kList || !line_.has(o.name);
  }

  template <class Use>
  void each_option(Use use) {
    if (line_.command != nullptr)
      for (const OptionDef& o : line_.command->options)
        if (offered(o)) use(o);
    for (const OptionDef& o : common_options())
      if (offered(o)) use(o);
  }

  void option() {
    if (current_ == "-")
      each_option([&](const OptionDef& o) {
        if (o.letter != '\0') add(fmt::format("-{}", o.letter), o.help);
      });
    if (current_ != "-" && !current_.starts_with("--")) {
      letters();
      return;
    }
    const std::size_t equals = current_.find('=');
    if (equals != std::string::npos) {
      const OptionWord seen = read_option_word(line_.command, current_);
      if (!seen.unknown.empty() || seen.defs.back()->kind == OptionKind::kFlag) return;
      out_.prefix = current_.substr(0, equals + 1);
      value_of(*seen.defs.back(), current_.substr(equals + 1));
      return;
    }
    bool fits = false;
    each_option([&](const OptionDef& o) {
      const std::string name = fmt::format("--{}", o.name);
      fits = fits || name.starts_with(current_);
      add(name, o.help);
    });
    if (fits) return;
    each_option([&](const OptionDef& o) {
      for (const std::string_view alias : split(o.aliases, ','))
        add(fmt::format("--{}", alias), o.help);
    });
  }

  void letters() {
    const OptionWord seen = read_option_word(line_.command, current_);
    if (!seen.unknown.empty()) return;
    if (!seen.attached) {
      add(current_, seen.defs.back()->help);
      return;
    }
    out_.prefix = current_.substr(0, current_.size() - seen.attached->size());
    value_of(*seen.defs.back(), *seen.attached);
  }

  void word() {
    std::size_t position = line_.words.size();
    std::string_view synopsis = line_.command->synopsis;
    if (!actions_.empty()) {
      if (position == 0) {
        for (const Action& a : actions_)
          add(a.name);
        return;
      }
      if (unknown_action_ || action_.name == "create") return;  // a new name is nobody's
      synopsis = action_.synopsis;
      --position;
    }
    std::vector<Slot> slots = read_slots(synopsis);
    if (!slots.empty() && slots.front().optional && !slots.front().repeats &&
        label_of(slots.front().label) == Label::kTopic && line_.has("topic"))
      slots.erase(slots.begin());
    if (slots.empty()) return;
    const std::size_t last = slots.size() - 1;
    if (position > last && !slots[last].repeats) return;
    // Whoever repeats does not name the same thing twice.
    std::set<std::string> taken(line_.words.begin() + (actions_.empty() ? 0 : 1),
                                line_.words.end());
    for (std::string& t : line_.values("topic"))
      taken.insert(std::move(t));
    labelled(slots[std::min(position, last)].label, current_, taken);
    // As a word, "-name" would be taken for options.
    if (!line_.only_words)
      std::erase_if(out_.candidates, [](const Candidate& c) { return c.value.starts_with('-'); });
  }

  void value_of(const OptionDef& o, const std::string& typed) {
    if (!o.choices.empty() || !o.hints.empty()) {
      add_list(o.choices.empty() ? o.hints : o.choices);
    } else if (names_partitions(o)) {
      partition_value(o, typed);
    } else if (takes_configs(o)) {
      config(typed, o.value.find('=') != std::string_view::npos);
    } else {
      std::set<std::string> taken;
      if (o.kind == OptionKind::kList)
        for (std::string& v : line_.values(o.name))
          taken.insert(std::move(v));
      labelled(o.value, typed, taken, o.name.starts_with("to-") || o.name == "to");
    }
  }

  void labelled(std::string_view labels, const std::string& typed,
                const std::set<std::string>& taken, bool target = false) {
    for (const std::string_view one : split(labels, '|')) {
      switch (label_of(one)) {
        case Label::kTopic:
          topics(typed, taken, target);
          break;
        case Label::kTopicPartition:
          if (const std::size_t colon = typed.find(':'); colon != std::string::npos) {
            out_.prefix += typed.substr(0, colon + 1);
            partitions({typed.substr(0, colon)}, typed.substr(colon + 1), true);
          } else {
            topics(typed, taken, target);
          }
          break;
        case Label::kGroup:
          if (remote(target)) break;
          for (const std::string& g : names_.groups(place(target)))
            if (!taken.contains(g)) add(g);
          break;
        case Label::kFile:
          out_.paths = Completion::Paths::kFiles;
          break;
        case Label::kDir:
          out_.paths = Completion::Paths::kDirs;
          break;
        case Label::kOther:
          break;
      }
    }
  }

  /// Only a directory is asked: no key press goes out to a network.
  [[nodiscard]] bool remote(bool target) const {
    if (target && line_.has("to-bootstrap-server")) return true;
    return line_.has("bootstrap-server") && !(target && line_.has("to-dir"));
  }
  [[nodiscard]] NamePlace place(bool target) const {
    if (target && line_.has("to-dir")) return {line_.last_value("to-dir")};
    return {line_.last_value("dir")};
  }

  void topics(const std::string& typed, const std::set<std::string>& taken, bool target) {
    if (remote(target)) return;
    for (const std::string& t : names_.topics(place(target)))
      if (!taken.contains(t) && (typed.starts_with('_') || !is_internal_topic(t))) add(t);
  }

  /// --partitions is a number to create and to alter, and a choice elsewhere.
  [[nodiscard]] bool names_partitions(const OptionDef& o) const {
    if (o.name == "partition") return true;
    return o.name == "partitions" && !action_.name.empty() && action_.name != "create" &&
           action_.name != "alter";
  }

  void partition_value(const OptionDef& o, const std::string& typed) {
    std::vector<std::string> of = line_.values("topic");
    const std::size_t skip = actions_.empty() ? 0 : 1;
    const bool first_only = line_.command != nullptr && line_.command->name == "produce";
    for (std::size_t i = skip; i < line_.words.size(); ++i) {
      if (first_only && !of.empty()) break;
      of.push_back(line_.words[i]);
    }
    partitions(of, typed, o.value != "N" || o.name == "partitions");
  }

  /// A number, or a list such as 0,2,4-7.
  void partitions(const std::vector<std::string>& of, const std::string& typed, bool list) {
    if (remote(false)) return;
    std::set<std::int32_t> numbers;
    for (const std::string& topic : of)
      for (const std::int32_t p : names_.partitions(place(false), topic))
        numbers.insert(p);
    std::string before;
    if (list) {
      const std::size_t end = typed.find_last_of(",-");
      if (end != std::string::npos) before = typed.substr(0, end + 1);
    }
    out_.prefix += before;
    std::set<std::string, std::less<>> taken;
    for (const std::string_view part : split(before, ','))
      for (const std::string_view end : split(part, '-'))
        taken.emplace(end);
    for (const std::int32_t p : numbers)
      if (const std::string text = std::to_string(p); !taken.contains(text)) add(text);
  }

  [[nodiscard]] bool takes_configs(const OptionDef& o) const {
    if (o.name == "config-topic" || o.name == "delete-config") return true;
    return o.name == "config" && line_.command != nullptr && line_.command->name == "topics";
  }

  void config(const std::string& typed, bool with_value) {
    const std::size_t equals = typed.find('=');
    if (equals == std::string::npos || !with_value) {
      for (const TopicConfigDef& d : topic_config_defs())
        add(fmt::format("{}{}", d.name, with_value ? "=" : ""),
            d.preset.empty()
                ? std::string(config_type_name(d.type))
                : fmt::format("{}, {} by default", config_type_name(d.type), d.preset));
      return;
    }
    const TopicConfigDef* def = find_topic_config(typed.substr(0, equals));
    if (def == nullptr) return;
    std::size_t behind = equals + 1;
    if (const std::size_t comma = typed.rfind(',');
        def->type == ConfigType::kList && comma != std::string::npos && comma > equals)
      behind = comma + 1;
    out_.prefix += typed.substr(0, behind);
    if (def->type == ConfigType::kBoolean) add_list("true,false");
    for (const std::string_view c : def->choices)
      add(c);
  }

  TypedLine line_;
  const std::string& current_;
  LiveNames& names_;
  std::vector<Action> actions_;
  Action action_;
  bool unknown_action_ = false;
  Completion out_;
};

}  // namespace

Completion complete(const std::vector<std::string>& words, const std::string& current,
                    LiveNames& names) {
  return Completer(words, current, names).run();
}

std::string format_completion(const Completion& completion, const std::string& current,
                              bool only_fitting) {
  std::string out;
  if (!completion.prefix.empty()) out += fmt::format(":prefix {}\n", completion.prefix);
  if (completion.paths == Completion::Paths::kFiles) out += ":files\n";
  if (completion.paths == Completion::Paths::kDirs) out += ":dirs\n";
  const std::string_view typed = std::string_view(current).substr(completion.prefix.size());
  for (const Candidate& c : completion.candidates) {
    if (only_fitting && !c.value.starts_with(typed)) continue;
    out += c.value;
    if (!c.note.empty()) {
      out += '\t';
      out += c.note;
    }
    out += '\n';
  }
  return out;
}

int run_complete(const std::vector<std::string>& args) {
  if (args.size() < 2 || (args[0] != "prefix" && args[0] != "all")) return status::kOk;
  const std::vector<std::string> words(args.begin() + 1, args.end() - 1);
  const std::string& current = args.back();
  DirectoryNames names;
  const Completion completion = complete(words, current, names);
  const std::string text = format_completion(completion, current, args[0] == "prefix");
  (void)write_all(STDOUT_FILENO, text);  // a shell that does not listen is not told
  return status::kOk;
}

}  // namespace spool
