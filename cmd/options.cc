#include "options.h"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace spool {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    out.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return out;
}

bool is_option(std::string_view word) {
  return word.size() > 1 && word.front() == '-';
}

namespace {

bool answers_to(const OptionDef& o, std::string_view long_name) {
  if (o.name == long_name) return true;
  const auto aliases = split(o.aliases, ',');
  return std::find(aliases.begin(), aliases.end(), long_name) != aliases.end();
}

/// In the options of one command, or of all when there is none.
const OptionDef* find_option(const CommandDef* command, auto matches) {
  for (const OptionDef& o : common_options())
    if (matches(o)) return &o;
  for (const CommandDef& c : commands()) {
    if (command != nullptr && command->name != c.name) continue;
    for (const OptionDef& o : c.options)
      if (matches(o)) return &o;
  }
  return nullptr;
}

const OptionDef* find_long(const CommandDef* command, std::string_view name) {
  return find_option(command, [&](const OptionDef& o) { return answers_to(o, name); });
}

const OptionDef* find_letter(const CommandDef* command, char letter) {
  return find_option(command, [&](const OptionDef& o) { return o.letter == letter; });
}

std::string cli_names(const OptionDef& o) {
  std::string names;
  if (o.letter != '\0') names = fmt::format("-{},", o.letter);
  names += fmt::format("--{}", o.name);
  for (const std::string_view alias : split(o.aliases, ','))
    names += fmt::format(",--{}", alias);
  return names;
}

CLI::Option* add_option(CLI::App& app, const OptionDef& o) {
  if (o.kind == OptionKind::kFlag || o.kind == OptionKind::kOptional) {
    CLI::Option* flag = app.add_flag(cli_names(o));
    if (o.kind == OptionKind::kFlag) flag->disable_flag_override();
    return flag->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  // Without extra arguments CLI11 takes "[a,b]" as it stands instead of splitting it.
  return app.add_option(cli_names(o))
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Result<void> check_choice(const OptionDef& o, const std::vector<std::string>& given) {
  if (o.choices.empty()) return {};
  const auto choices = split(o.choices, ',');
  for (const std::string& v : given)
    if (std::find(choices.begin(), choices.end(), v) == choices.end())
      return fail(Errc::kUsage, fmt::format("--{} takes {}, not '{}'", o.name, o.choices, v));
  return {};
}

}  // namespace

OptionWord read_option_word(const CommandDef* command, const std::string& word) {
  OptionWord out;
  if (word.starts_with("--")) {
    out.is_long = true;
    const std::size_t equals = word.find('=');
    const OptionDef* o = find_long(command, std::string_view(word).substr(2, equals - 2));
    if (o == nullptr) {
      out.unknown = word.substr(0, equals);
      return out;
    }
    out.defs.push_back(o);
    if (equals != std::string::npos) {
      out.attached = word.substr(equals + 1);
    } else if (takes_value(*o)) {
      out.takes = 2;
    }
    return out;
  }
  for (std::size_t i = 1; i < word.size(); ++i) {
    const OptionDef* o = find_letter(command, word[i]);
    if (o == nullptr) {
      out.unknown = fmt::format("-{}", word[i]);
      return out;
    }
    out.defs.push_back(o);
    if (takes_value(*o)) {
      if (i + 1 == word.size()) {
        out.takes = 2;
      } else {
        out.attached = word.substr(i + 1);
      }
      return out;
    }
    if (o->kind == OptionKind::kOptional && i + 1 < word.size() && word[i + 1] == '=') {
      out.attached = word.substr(i + 2);
      return out;
    }
  }
  return out;
}

const CommandDef* find_command(std::string_view name) {
  for (const CommandDef& c : commands())
    if (c.name == name) return &c;
  return nullptr;
}

std::optional<std::string> Args::value(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Args::list(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

CommandLine split_command(const std::vector<std::string>& args) {
  CommandLine out;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& word = args[i];
    if (!out.command.empty() || word == "--") {
      out.rest.push_back(word);
    } else if (is_option(word)) {
      const std::size_t takes = read_option_word(nullptr, word).takes;
      for (std::size_t k = 0; k < takes && i + k < args.size(); ++k)
        out.rest.push_back(args[i + k]);
      i += takes - 1;
    } else {
      out.command = word;
    }
  }
  return out;
}

Result<Args> parse_options(const CommandDef& command, const std::vector<std::string>& args) {
  Args out;
  std::vector<std::string> options;
  bool only_words = false;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& word = args[i];
    if (only_words || !is_option(word)) {
      out.words_.push_back(word);
    } else if (word == "--") {
      only_words = true;
    } else {
      const OptionWord seen = read_option_word(&command, word);
      if (!seen.unknown.empty())
        return fail(Errc::kUsage, fmt::format("unknown option '{}'", seen.unknown));
      if (i + seen.takes > args.size())
        return fail(Errc::kUsage, fmt::format("option '{}' needs a value", word));
      if (seen.is_long && seen.attached) {
        const std::string name = word.substr(0, word.find('='));
        if (seen.defs.back()->kind == OptionKind::kFlag)
          return fail(Errc::kUsage, fmt::format("option '{}' takes no value", name));
        if (takes_value(*seen.defs.back())) {
          // As two words: CLI11 takes the next word for the value where nothing is behind the '='.
          options.push_back(name);
          options.push_back(*seen.attached);
          continue;
        }
      }
      for (std::size_t k = 0; k < seen.takes; ++k)
        options.push_back(args[i + k]);
      i += seen.takes - 1;
    }
  }

  CLI::App app;
  app.set_help_flag();
  std::vector<std::pair<const OptionDef*, CLI::Option*>> added;
  const auto add_all = [&](std::span<const OptionDef> defs) {
    for (const OptionDef& o : defs)
      added.emplace_back(&o, add_option(app, o));
  };
  add_all(common_options());
  add_all(command.options);
  try {
    std::reverse(options.begin(), options.end());  // CLI11 takes them from the back
    app.parse(std::move(options));
  } catch (const CLI::Error& e) {
    return fail(Errc::kUsage, e.what());
  }
  for (const auto& [def, option] : added) {
    if (option->count() == 0) continue;
    std::vector<std::string> given = option->results();
    if (def->kind == OptionKind::kFlag) given.clear();
    TRY(check_choice(*def, given));
    if (def->kind == OptionKind::kOptional && given.back() == "true") given.clear();
    out.values_[std::string(def->name)] = std::move(given);
  }
  return out;
}

namespace {

constexpr std::size_t kHelpColumn = 30;

std::string option_line(const OptionDef& o) {
  std::string left = o.letter != '\0' ? fmt::format("  -{}, ", o.letter) : "      ";
  left += fmt::format("--{}", o.name);
  if (o.kind == OptionKind::kOptional) {
    left += fmt::format("[={}]", o.value);
  } else if (!o.value.empty()) {
    left += fmt::format(" {}", o.value);
  }
  std::string right(o.help);
  if (!o.aliases.empty()) {
    std::string aliases;
    for (const std::string_view a : split(o.aliases, ','))
      aliases += fmt::format("{}--{}", aliases.empty() ? "" : ", ", a);
    right += fmt::format(" (also {})", aliases);
  }
  if (left.size() + 2 > kHelpColumn)
    return fmt::format("{}\n{:{}}{}\n", left, "", kHelpColumn, right);
  return fmt::format("{:<{}}{}\n", left, kHelpColumn, right);
}

}  // namespace

std::string command_help(const CommandDef& command) {
  std::string out = fmt::format("usage: spool {} {}\n\n{}.\n\noptions:\n", command.name,
                                command.synopsis, command.summary);
  for (const OptionDef& o : command.options)
    out += option_line(o);
  out += "\ncommon options:\n";
  for (const OptionDef& o : common_options())
    out += option_line(o);
  out += fmt::format("\nThe manual, spool-{}(1), says more and has examples.\n", command.name);
  return out;
}

std::string program_help() {
  std::string out =
      "usage: spool COMMAND [OPTIONS]\n\n"
      "Topics in a directory, in Kafka's own log format: no daemon needed.\n\ncommands:\n";
  for (const CommandDef& c : commands())
    out += fmt::format("  {:<15}{}\n", c.name, c.summary);
  out += "\ncommon options:\n";
  for (const OptionDef& o : common_options())
    out += option_line(o);
  out += "\n'spool COMMAND --help' lists a command's options; the manual is spool(1).\n";
  return out;
}

Result<void> exclusive(const Args& args, std::initializer_list<std::string_view> names) {
  std::string_view first;
  for (const std::string_view name : names) {
    if (!args.has(name)) continue;
    if (!first.empty())
      return fail(Errc::kUsage, fmt::format("--{} and --{} exclude each other", first, name));
    first = name;
  }
  return {};
}

}  // namespace spool
