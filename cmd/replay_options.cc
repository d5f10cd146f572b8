#include "replay_options.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "store/store.h"

namespace spool {

namespace {

/// "10" or "10x", "0.5"; above 0.
Result<double> read_speed(const std::string& text) {
  std::string_view digits = text;
  if (digits.ends_with('x')) digits.remove_suffix(1);
  double speed = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), speed,
                                              std::chars_format::fixed);
  if (problem == std::errc() && end == digits.data() + digits.size() && std::isfinite(speed) &&
      speed > 0)
    return speed;
  return fail(Errc::kUsage,
              fmt::format("--speed takes a number above 0 (1 is the original pace) or max, not "
                          "'{}'",
                          text));
}

Result<void> check_target(const Args& args, const ReplayOptions& options) {
  if (!options.to_target()) {
    for (const std::string_view name :
         {"timestamps", "partitions", "origin-headers", "resume", "verbatim"})
      if (args.has(name))
        return fail(Errc::kUsage, fmt::format("--{} goes with --to-topic or --to-dir", name));
    return {};
  }
  for (const std::string_view name :
       {"format", "json", "delimiter", "null", "key-delimiter", "null-marker", "unbuffered", "raw"})
    if (args.has(name))
      return fail(Errc::kUsage, fmt::format("--{} says how to print, and a target is given: "
                                            "nothing is printed",
                                            name));
  return {};
}

Result<void> check_verbatim(const Args& args) {
  for (const std::string_view name : {"speed", "timestamps", "partitions", "origin-headers",
                                      "count", "key", "header", "grep", "isolation-level"})
    if (args.has(name) && !(name == "speed" && args.value(name) == "max"))
      return fail(Errc::kUsage,
                  fmt::format("--verbatim copies whole batches as they are: --{} does not go with "
                              "it",
                              name));
  return {};
}

}  // namespace

Result<ReplayOptions> read_replay_options(const Args& args, TimestampMs now) {
  ReplayOptions out;
  TRY_ASSIGN(out.read, read_consume_options(args, now));
  out.to_topic = args.value("to-topic");
  out.to_dir = args.value("to-dir");
  if (out.to_topic) TRY(check_topic_name(*out.to_topic));
  if (out.to_dir && out.to_dir->empty())
    return fail(Errc::kUsage, "--to-dir needs a directory, not ''");
  if (const auto speed = args.value("speed")) {
    out.speed.reset();
    if (*speed != "max") {
      TRY_ASSIGN(out.speed, read_speed(*speed));
    }
  }
  out.timestamps_now = args.value("timestamps") == "now";
  if (const auto partitions = args.value("partitions"))
    out.partitions =
        *partitions == "keep" ? ReplayOptions::Partitions::kKeep : ReplayOptions::Partitions::kHash;
  out.origin_headers = args.has("origin-headers");
  out.resume = args.value("resume");
  if (out.resume && out.resume->empty()) return fail(Errc::kUsage, "--resume needs a file, not ''");
  out.verbatim = args.has("verbatim");
  TRY(check_target(args, out));
  if (out.verbatim) {
    TRY(check_verbatim(args));
    if (out.to_topic && out.read.topics.size() > 1)
      return fail(Errc::kUsage, "--verbatim keeps offsets: one topic only goes to --to-topic");
    out.read.read_committed = false;  // whatever there is
  }
  return out;
}

}  // namespace spool
