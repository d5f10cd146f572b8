#include "group_options.h"

#include <fcntl.h>

#include <fmt/format.h>

#include "group/offset_records.h"
#include "produce_options.h"

namespace spool {

namespace {

constexpr std::int64_t kBatchMax = 1'000'000;
constexpr std::int64_t kFdMax = 1 << 20;

}  // namespace

Result<void> read_group_options(const Args& args, GroupOptions& out) {
  out.name = args.value("group");
  if (out.name && (out.name->empty() || out.name->size() > kClassicStringMax))
    return fail(Errc::kUsage, fmt::format("--group needs a name of 1 to {} bytes, not '{}'",
                                          kClassicStringMax, out.name->substr(0, 40)));
  out.offsets_file = args.value("offsets-file");
  if (out.offsets_file && out.offsets_file->empty())
    return fail(Errc::kUsage, "--offsets-file needs a file");
  for (const std::string_view name : {"reset", "commit", "ack-fd"})
    if (args.has(name) && !out.commits())
      return fail(Errc::kUsage, fmt::format("--{} goes with -g or --offsets-file", name));
  if (out.stored && !out.commits())
    return fail(Errc::kUsage, "-o stored goes with -g or --offsets-file");
  if (out.commits()) TRY(exclusive(args, {"group", "tail"}));
  if (out.commits()) TRY(exclusive(args, {"offsets-file", "tail"}));
  TRY(exclusive(args, {"exec", "ack-fd"}));
  TRY(exclusive(args, {"exec", "commit"}));
  TRY(exclusive(args, {"ack-fd", "commit"}));
  const std::string reset = args.value("reset").value_or("earliest");
  out.reset = reset == "latest"  ? ResetPolicy::kLatest
              : reset == "error" ? ResetPolicy::kError
                                 : ResetPolicy::kEarliest;
  const std::string commit = args.value("commit").value_or("written");
  out.commit = commit == "end"     ? CommitRule::kEnd
               : commit == "never" ? CommitRule::kNever
                                   : CommitRule::kWritten;
  out.exec = args.value("exec");
  if (args.has("batch") && !out.exec) return fail(Errc::kUsage, "--batch goes with --exec");
  if (const auto n = args.value("batch")) {
    TRY_ASSIGN(out.batch, read_number("batch", *n, 1, kBatchMax));
  }
  if (const auto fd = args.value("ack-fd")) {
    TRY_ASSIGN(const std::int64_t n, read_number("ack-fd", *fd, 0, kFdMax));
    out.ack_fd = static_cast<int>(n);
    const int flags = ::fcntl(*out.ack_fd, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY)
      return fail(Errc::kUsage,
                  fmt::format("--ack-fd {}: no such descriptor is open for reading", n));
  }
  if (out.exec || out.ack_fd) out.commit = CommitRule::kReported;
  return {};
}

}  // namespace spool
