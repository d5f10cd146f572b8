#include "commands.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>

#include "complete.h"
#include "context.h"

namespace spool {

namespace {

/// A closed standard descriptor would be the next file that is opened, and that file would get our
/// output.
void keep_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // Opened so that reads and writes fail, as they do on a closed descriptor.
    [[maybe_unused]] const int got = ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

/// Partitions are files: the soft limit that shells set is for programs that use select(2).
void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // where it is refused, an open will say so
}

/// The last --color, before the options are known to make sense: messages about them have colours
/// too.
std::string color_asked_for(const std::vector<std::string>& args) {
  constexpr std::string_view kName = "--color";
  std::string when = "auto";
  for (std::size_t i = 0; i < args.size() && args[i] != "--"; ++i) {
    if (args[i] == kName && i + 1 < args.size()) when = args[i + 1];
    if (args[i].starts_with("--color=")) when = args[i].substr(kName.size() + 1);
  }
  return when;
}

int print(const std::string& text) {
  if (write_all(STDOUT_FILENO, text)) return status::kOk;
  return report_error(system_error(errno, "cannot write to stdout"));
}

}  // namespace

int run_program(int argc, char** argv) {
  keep_standard_descriptors();
  raise_file_limit();
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (!args.empty() && args.front() == "__complete")
    return run_complete({args.begin() + 1, args.end()});
  set_color(color_asked_for(args));
  const CommandLine line = split_command(args);
  if (line.command.empty()) {
    // No command: only --help and --version make sense.
    const auto parsed = parse_options(CommandDef{}, line.rest);
    if (!parsed) return usage_error("", parsed.error());
    if (parsed->has("version")) return print("spool " SPOOL_VERSION "\n");
    if (parsed->has("help")) return print(program_help());
    return usage_error("", Error{Errc::kUsage, 0, "no command"});
  }
  const CommandDef* command = find_command(line.command);
  if (command == nullptr)
    return usage_error("",
                       Error{Errc::kUsage, 0, fmt::format("unknown command '{}'", line.command)});
  const auto parsed = parse_options(*command, line.rest);
  if (!parsed) return usage_error(command->name, parsed.error());
  set_color(parsed->value("color").value_or("auto"));
  if (parsed->has("help")) return print(command_help(*command));
  if (parsed->has("version")) return print("spool " SPOOL_VERSION "\n");
  if (command->name == "produce") return run_produce(*parsed);
  if (command->name == "consume") return run_consume(*parsed);
  if (command->name == "groups") return run_groups(*parsed);
  if (command->name == "reset-offsets") return run_reset_offsets(*parsed);
  if (command->name == "replay") return run_replay(*parsed);
  return run_topics(*parsed);
}

}  // namespace spool
