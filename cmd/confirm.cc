#include "confirm.h"

#include <cerrno>
#include <unistd.h>

#include "context.h"

namespace spool {

Result<void> may_ask(const Args& args, const std::string& what) {
  if (args.has("yes") || args.has("dry-run")) return {};
  if (::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1) return {};
  return fail(Errc::kUsage,
              what + " needs --yes where nobody can be asked (--dry-run shows what it would do)");
}

bool confirmed(const Args& args, const std::string& question) {
  if (args.has("yes")) return true;
  if (!write_all(STDERR_FILENO, "spool: " + question + " [y/N] ")) return false;
  std::string answer;
  for (char c = 0;;) {
    const ssize_t n = ::read(STDIN_FILENO, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || c == '\n') break;
    answer += c;
  }
  return answer == "y" || answer == "Y" || answer == "yes" || answer == "Yes" || answer == "YES";
}

}  // namespace spool
