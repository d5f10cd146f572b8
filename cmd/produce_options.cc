#include "produce_options.h"

#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "escapes.h"
#include "log/lookup.h"

namespace spool {

namespace {

constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();
/// What was stored must read: a batch is not decompressed beyond kDecompressedBytesMax, and a key
/// and headers of the command line come on top.
constexpr std::int64_t kRecordBytesMax = std::int64_t{250} << 20;
static_assert(kRecordBytesMax + (std::int64_t{4} << 20) < std::int64_t{kDecompressedBytesMax});
constexpr std::int64_t kBatchBytesMax = std::int64_t{64} << 20;

Result<void> read_codec(const std::string& text, ProduceOptions& out) {
  const std::size_t colon = text.find(':');
  const auto codec = codec_from_name(text.substr(0, colon));
  if (!codec)
    return fail(
        Errc::kUsage,
        fmt::format("-z takes none, gzip, snappy, lz4 or zstd, and a level behind ':', not '{}'",
                    text));
  out.codec = codec;
  if (colon == std::string::npos) return {};
  const CodecLevels levels = codec_levels(*codec);
  int level = 0;
  const std::string_view digits = std::string_view(text).substr(colon + 1);
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), level);
  if (problem != std::errc() || end != digits.data() + digits.size() || !levels.allows(level) ||
      levels.min == levels.max)
    return fail(Errc::kUsage,
                levels.min == levels.max
                    ? fmt::format("{} has no levels", codec_name(*codec))
                    : fmt::format("levels of {} are {} to {}, not '{}'", codec_name(*codec),
                                  levels.min, levels.max, digits));
  out.level = level;
  return {};
}

Result<void> read_framing(const Args& args, FramingOptions& out) {
  TRY(exclusive(args, {"delimiter", "null", "whole", "json", "format"}));
  TRY(exclusive(args, {"lines", "null", "whole", "json", "format"}));
  TRY(exclusive(args, {"lines", "delimiter"}));
  for (const std::string_view name : {"whole", "json", "format", "key"})
    TRY(exclusive(args, {"key-delimiter", name}));
  if (args.has("null")) out.delimiter = std::string(1, '\0');
  if (const auto d = args.value("delimiter")) {
    TRY_ASSIGN(out.delimiter, parse_delimiter(*d));
    if (out.delimiter.empty())
      return fail(Errc::kUsage, "-D '' separates nothing; -w takes the whole input as a record");
  }
  if (args.has("whole")) out.mode = FramingOptions::Mode::kWhole;
  if (args.has("json")) out.mode = FramingOptions::Mode::kJson;
  if (const auto f = args.value("format")) {
    out.mode = FramingOptions::Mode::kFormat;
    out.format = *f;
  }
  if (const auto k = args.value("key-delimiter")) {
    TRY_ASSIGN(out.key_delimiter, parse_delimiter(*k));
    if (out.key_delimiter->empty()) return fail(Errc::kUsage, "-K '' separates nothing");
  }
  out.null_marker = args.value("null-marker");
  out.tombstones = args.has("tombstone");
  if (const auto bad = args.value("on-bad")) {
    if (*bad == "skip") out.on_bad = FramingOptions::OnBad::kSkip;
    if (*bad == "keyless") out.on_bad = FramingOptions::OnBad::kKeyless;
    if (*bad == "keyless" && !out.key_delimiter)
      return fail(Errc::kUsage, "--on-bad keyless goes with -K");
  }
  if (const auto n = args.value("max-record-bytes")) {
    TRY_ASSIGN(const std::int64_t bytes, parse_size_bytes(*n));
    if (bytes < 1 || bytes > kRecordBytesMax)
      return fail(Errc::kUsage, fmt::format("--max-record-bytes takes 1 to {}", kRecordBytesMax));
    out.record_bytes_max = static_cast<std::size_t>(bytes);
  }
  return {};
}

/// Topic and files, and what stands in for input.
Result<void> read_sources(const Args& args, ProduceOptions& out) {
  out.topic = args.value("topic");
  std::vector<std::string> words = args.words();
  const bool may_lack = out.framing.mode == FramingOptions::Mode::kJson ||
                        (out.framing.mode == FramingOptions::Mode::kFormat &&
                         out.framing.format.find("%t") != std::string::npos);
  if (!out.topic && !words.empty()) {
    out.topic = words.front();
    words.erase(words.begin());
  }
  if (!out.topic && !may_lack) return fail(Errc::kUsage, "no topic");
  out.files = std::move(words);
  out.key = args.value("key");
  out.values = args.list("value");
  out.one_tombstone = out.framing.tombstones && out.key && out.values.empty() && out.files.empty();
  out.read_input = out.values.empty() && !out.one_tombstone;
  if (!out.values.empty()) {
    if (!out.files.empty()) return fail(Errc::kUsage, "--value and files exclude each other");
    for (const std::string_view name :
         {"delimiter", "null", "whole", "lines", "json", "format", "key-delimiter", "tee"})
      TRY(exclusive(args, {"value", name}));
    if (!out.topic) return fail(Errc::kUsage, "no topic");
  }
  if (out.one_tombstone && !out.topic) return fail(Errc::kUsage, "no topic");
  return {};
}

Result<void> read_placing(const Args& args, TimestampMs now, ProduceOptions& out) {
  TRY(exclusive(args, {"partition", "partitioner"}));
  for (const std::string& h : args.list("header")) {
    TRY_ASSIGN(HeaderArgument header, parse_header(h));
    out.headers.push_back(std::move(header));
  }
  if (const auto p = args.value("partition")) {
    TRY_ASSIGN(const std::int64_t n, read_number("partition", *p, 0, kInt32Max));
    out.partition = PartitionId(static_cast<std::int32_t>(n));
  }
  if (const auto p = args.value("partitioner")) out.partitioner = partitioner_from_name(*p);
  if (const auto t = args.value("timestamp")) {
    TRY_ASSIGN(out.timestamp, parse_time(*t, now));
  }
  return {};
}

Result<void> read_flow(const Args& args, ProduceOptions& out) {
  if (const auto z = args.value("compression")) TRY(read_codec(*z, out));
  if (const auto f = args.value("fsync")) {
    if (*f == "never") out.fsync = Fsync::kNever;
    if (*f == "record") out.fsync = Fsync::kRecord;
  }
  if (const auto l = args.value("linger")) {
    TRY_ASSIGN(out.linger_ms, parse_duration_ms(*l));
  }
  if (const auto b = args.value("batch-bytes")) {
    TRY_ASSIGN(const std::int64_t bytes, parse_size_bytes(*b));
    if (bytes < 1 || bytes > kBatchBytesMax)
      return fail(Errc::kUsage, fmt::format("--batch-bytes takes 1 to {}", kBatchBytesMax));
    out.batch_bytes = static_cast<std::size_t>(bytes);
  }
  if (const auto c = args.value("count")) {
    TRY_ASSIGN(out.count, read_number("count", *c, 0, std::numeric_limits<std::int64_t>::max()));
  }
  if (const auto r = args.value("rate")) {
    std::string_view text = *r;
    if (text.ends_with("/s")) text.remove_suffix(2);
    TRY_ASSIGN(const std::int64_t n, read_number("rate", text, 1, 1'000'000'000));
    out.rate = static_cast<double>(n);
  }
  TRY(exclusive(args, {"tee", "report"}));
  out.tee = args.has("tee");
  out.report = args.has("report");
  if (const auto fmt = args.value("report")) out.report_format = *fmt;
  return {};
}

Result<void> read_creation(const Args& args, ProduceOptions& out) {
  for (const std::string_view name : {"partitions", "config-topic"})
    TRY(exclusive(args, {"no-create", name}));
  out.create = !args.has("no-create");
  if (const auto p = args.value("partitions")) {
    TRY_ASSIGN(const std::int64_t n, read_number("partitions", *p, 1, kPartitionsMax));
    out.new_partitions = static_cast<std::int32_t>(n);
  }
  TRY_ASSIGN(out.new_config, read_topic_config(args.list("config-topic")));
  return {};
}

}  // namespace

Result<std::int64_t> read_number(std::string_view option, std::string_view text, std::int64_t min,
                                 std::int64_t max) {
  std::int64_t n = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (problem != std::errc() || end != text.data() + text.size() || n < min || n > max) {
    if (max == std::numeric_limits<std::int64_t>::max())
      return fail(Errc::kUsage, fmt::format("--{} takes a number from {} on, not {}", option, min,
                                            in_quotes(text)));
    return fail(Errc::kUsage, fmt::format("--{} takes a number from {} to {}, not {}", option, min,
                                          max, in_quotes(text)));
  }
  return n;
}

Result<TopicConfig> read_topic_config(const std::vector<std::string>& pairs) {
  TopicConfig config;
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos)
      return fail(Errc::kUsage, fmt::format("a config is NAME=VALUE, not {}", in_quotes(pair)));
    TRY(config.set(pair.substr(0, equals), pair.substr(equals + 1)));
  }
  TRY(config.validate());
  return config;
}

Result<ProduceOptions> read_produce_options(const Args& args, TimestampMs now) {
  ProduceOptions out;
  TRY(read_framing(args, out.framing));
  TRY(read_sources(args, out));
  TRY(read_placing(args, now, out));
  TRY(read_flow(args, out));
  TRY(read_creation(args, out));
  return out;
}

}  // namespace spool
