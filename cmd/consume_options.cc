#include "consume_options.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "produce_options.h"
#include "store/store.h"
#include "values.h"

namespace spool {

namespace {

constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

Result<void> read_span(const Args& args, TimestampMs now, ConsumeOptions& out) {
  TRY(exclusive(args, {"tail", "offset", "from", "from-beginning"}));
  TRY(exclusive(args, {"tail", "until"}));
  if (const auto n = args.value("tail")) {
    const bool from_nth = n->starts_with('+');
    TRY_ASSIGN(const std::int64_t value,
               read_number("tail", from_nth ? n->substr(1) : *n, 0, kInt64Max));
    (from_nth ? out.from_nth : out.tail) = value;
  }
  for (const std::string& text : args.list("offset")) {
    if (text == "stored") {
      out.group.stored = true;
      continue;
    }
    TRY_ASSIGN(const OffsetSpec spec, parse_offset_spec(text, now));
    if (spec.partition) {
      out.for_partition.push_back(spec);
      continue;
    }
    if (spec.from) out.from = spec.from;
    if (spec.until) out.until = spec.until;
  }
  if (const auto from = args.value("from")) {
    TRY_ASSIGN(out.from, parse_bound(*from, now));
  }
  if (const auto until = args.value("until")) {
    if (out.until) return fail(Errc::kUsage, "-o gives an end already; --until gives another one");
    TRY_ASSIGN(out.until, parse_bound(*until, now));
  }
  if (const auto list = args.value("partition")) {
    TRY_ASSIGN(out.partitions, parse_partitions(*list));
    for (const OffsetSpec& spec : out.for_partition)
      if (!std::binary_search(out.partitions->begin(), out.partitions->end(), *spec.partition))
        return fail(Errc::kUsage, fmt::format("-o names partition {}, which -p leaves out",
                                              spec.partition->value()));
  }
  return {};
}

Result<void> read_shape(const Args& args, ConsumeOptions& out) {
  TRY(exclusive(args, {"format", "json", "delimiter", "null"}));
  TRY(exclusive(args, {"format", "json", "key-delimiter"}));
  TRY(exclusive(args, {"json", "null-marker"}));
  out.format = args.value("format");
  out.json = args.has("json");
  if (args.has("null")) out.delimiter = std::string(1, '\0');
  if (const auto d = args.value("delimiter")) {
    TRY_ASSIGN(out.delimiter, parse_delimiter(*d));
  }
  if (const auto k = args.value("key-delimiter")) {
    TRY_ASSIGN(out.key_delimiter, parse_delimiter(*k));
  }
  out.null_marker = args.value("null-marker").value_or("");
  return {};
}

Result<void> read_filters(const Args& args, ConsumeOptions& out) {
  out.key_glob = args.value("key");
  for (const std::string& h : args.list("header")) {
    const std::size_t equals = h.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Errc::kUsage, fmt::format("--header takes NAME=GLOB, not '{}'", h));
    out.headers.push_back({h.substr(0, equals), h.substr(equals + 1)});
  }
  out.grep = args.value("grep");
  out.read_committed = args.value("isolation-level") != "read_uncommitted";
  out.control = args.has("control");
  return {};
}

}  // namespace

Result<ConsumeOptions> read_consume_options(const Args& args, TimestampMs now) {
  ConsumeOptions out;
  out.topics = args.list("topic");
  out.topics.insert(out.topics.end(), args.words().begin(), args.words().end());
  if (out.topics.empty()) return fail(Errc::kUsage, "no topic");
  for (const std::string& topic : out.topics)
    TRY(check_topic_name(topic));
  TRY(exclusive(args, {"follow", "exit"}));
  out.follow = args.has("follow");
  out.retry = args.has("retry");
  for (const std::string_view name : {"retry", "pid"})
    if (args.has(name) && !out.follow)
      return fail(Errc::kUsage, fmt::format("--{} goes with -f", name));
  if (const auto p = args.value("pid")) {
    TRY_ASSIGN(const std::int64_t pid,
               read_number("pid", *p, 1, std::numeric_limits<std::int32_t>::max()));
    out.pid = static_cast<std::int32_t>(pid);
  }
  if (const auto c = args.value("count")) {
    TRY_ASSIGN(out.count, read_number("count", *c, 0, kInt64Max));
  }
  TRY(read_span(args, now, out));
  TRY(read_shape(args, out));
  TRY(read_filters(args, out));
  out.unbuffered = args.has("unbuffered");
  out.fail_empty = args.has("fail-empty");
  out.skip_damaged = args.has("skip-damaged");
  out.raw = args.has("raw");
  TRY(read_group_options(args, out.group));
  return out;
}

}  // namespace spool
