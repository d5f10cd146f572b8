#pragma once
/// One table of options: what a command takes is written down once, and parsing (CLI11), --help and
/// the tests of manual and completions all read it.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spool {

enum class OptionKind : std::uint8_t {
  kFlag,
  kValue,     ///< the last one given counts
  kList,      ///< repeatable, order kept
  kOptional,  ///< a flag that may carry a value, with '=' only
};

struct OptionDef {
  std::string_view name;  ///< long name, without dashes
  char letter = '\0';     ///< short name, or none
  OptionKind kind = OptionKind::kFlag;
  std::string_view value{};    ///< what help calls the value
  std::string_view help{};     ///< one line, lower case
  std::string_view choices{};  ///< comma separated, where only these are taken
  std::string_view aliases{};  ///< more long names, comma separated
  std::string_view actions{};  ///< of `topics` and its like: the actions that take it, blank
                               ///< separated; empty: all
  std::string_view hints{};    ///< comma separated: what completions offer where other values are
                               ///< taken too
};

[[nodiscard]] inline bool takes_value(const OptionDef& o) {
  return o.kind == OptionKind::kValue || o.kind == OptionKind::kList;
}

struct CommandDef {
  std::string_view name;
  std::string_view synopsis;  ///< behind the name
  std::string_view summary;
  std::span<const OptionDef> options;
};

/// The options that every command takes.
[[nodiscard]] std::span<const OptionDef> common_options();
/// All commands of this program, in the order of help.
[[nodiscard]] std::span<const CommandDef> commands();
[[nodiscard]] const CommandDef* find_command(std::string_view name);

/// What was typed, checked against the table.
class Args {
 public:
  [[nodiscard]] bool has(std::string_view name) const { return values_.contains(name); }
  /// The last value, or nullopt when the option was not given.
  [[nodiscard]] std::optional<std::string> value(std::string_view name) const;
  /// All values in order.
  [[nodiscard]] std::vector<std::string> list(std::string_view name) const;
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }

 private:
  friend Result<Args> parse_options(const CommandDef& command,
                                    const std::vector<std::string>& args);
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::vector<std::string> words_;
};

/// Finds the command word; options may stand before it. `rest` is all the others, in order. An
/// empty command means that there was none.
struct CommandLine {
  std::string command;
  std::vector<std::string> rest;
};
[[nodiscard]] CommandLine split_command(const std::vector<std::string>& args);

/// How a word that begins with a dash reads against the table.
struct OptionWord {
  std::size_t takes = 1;               ///< itself, or itself and the next word
  std::string unknown;                 ///< the part that the table does not know
  std::vector<const OptionDef*> defs;  ///< the letters, or the one long name; only the last
                                       ///< one can have a value
  bool is_long = false;
  std::optional<std::string> attached;  ///< the value, where it is in the word
};
/// Against the options of one command, or of all when there is none.
[[nodiscard]] OptionWord read_option_word(const CommandDef* command, const std::string& word);

/// The parts between the separators; of an empty text none.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
/// "-" is a word, not an option.
[[nodiscard]] bool is_option(std::string_view word);

/// Errc::kUsage names the option.
[[nodiscard]] Result<Args> parse_options(const CommandDef& command,
                                         const std::vector<std::string>& args);

/// Text of --help for one command, and for the program.
[[nodiscard]] std::string command_help(const CommandDef& command);
[[nodiscard]] std::string program_help();

/// Errc::kUsage when more than one of these were given.
[[nodiscard]] Result<void> exclusive(const Args& args,
                                     std::initializer_list<std::string_view> names);

}  // namespace spool
