#include "format_out.h"

#include <array>
#include <ctime>
#include <utility>

#include <date/date.h>
#include <fmt/format.h>

#include "encoding.h"
#include "escapes.h"
#include "unpack.h"

namespace spool {
namespace {

constexpr std::string_view kTextModifiers = "hex, base64, base64raw, unpack[...]";
/// Conversions of strftime(3) that glibc has; %s is done by us, since theirs is local time.
constexpr std::string_view kConversions = "aAbBcCdDeFgGhHIjklmMnpPrRStTuUVwWxXyYzZ%";
constexpr std::string_view kConversionFlags = "_-0^#EO";
constexpr std::size_t kTimeTextBytesMax = 512;

constexpr std::array<std::string_view, 8> kCodecs{"none", "gzip",    "snappy",  "lz4",
                                                  "zstd", "codec 5", "codec 6", "codec 7"};

std::int64_t length_of(const std::optional<std::string_view>& text) {
  return text ? static_cast<std::int64_t>(text->size()) : -1;
}

void put_digits(char* p, unsigned n, int count) {
  for (int i = count - 1; i >= 0; --i, n /= 10)
    p[i] = static_cast<char>('0' + n % 10);
}

/// Years beyond four digits have no RFC 3339 form: those print as milliseconds.
void append_iso(std::int64_t ms, std::string& out) {
  using std::chrono::milliseconds;
  constexpr std::int64_t kYear10000Ms = 253'402'300'800'000;
  constexpr std::int64_t kYear0Ms = -62'167'219'200'000;
  if (ms == kNoTimestamp.value() || ms >= kYear10000Ms || ms < kYear0Ms)
    return append_number(ms, NumberFormat::kAscii, out);
  const date::sys_time<milliseconds> at{milliseconds{ms}};
  const date::sys_days day = date::floor<date::days>(at);
  const date::year_month_day ymd{day};
  const auto of_day = static_cast<unsigned>((at - day).count());
  std::array<char, 24> text{'0', '0', '0', '0', '-', '0', '0', '-', '0', '0', 'T', '0',
                            '0', ':', '0', '0', ':', '0', '0', '.', '0', '0', '0', 'Z'};
  char* p = text.data();
  put_digits(p, static_cast<unsigned>(static_cast<int>(ymd.year())), 4);
  put_digits(p + 5, static_cast<unsigned>(ymd.month()), 2);
  put_digits(p + 8, static_cast<unsigned>(ymd.day()), 2);
  put_digits(p + 11, of_day / 3'600'000, 2);
  put_digits(p + 14, of_day / 60'000 % 60, 2);
  put_digits(p + 17, of_day / 1000 % 60, 2);
  put_digits(p + 20, of_day % 1000, 3);
  out.append(text.data(), text.size());
}

std::int64_t floor_seconds(std::int64_t ms) {
  return ms / 1000 - (ms % 1000 < 0 ? 1 : 0);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"  // compile_strftime has checked the format
void append_strftime(std::int64_t ms, const std::string& format, std::string& out) {
  const std::time_t seconds = floor_seconds(ms);
  std::tm tm{};
  if (ms == kNoTimestamp.value() || gmtime_r(&seconds, &tm) == nullptr)
    return append_number(ms, NumberFormat::kAscii, out);
  std::array<char, kTimeTextBytesMax> text;
  out.append(text.data(), std::strftime(text.data(), text.size(), format.c_str(), &tm));
}
#pragma GCC diagnostic pop

/// Checks the conversion at `format[at]`, a percent sign. Returns its letter and moves `at` behind
/// it, or '\0'.
char take_conversion(std::string_view format, std::size_t& at) {
  ++at;
  while (at < format.size() && kConversionFlags.find(format[at]) != std::string_view::npos)
    ++at;
  if (at >= format.size()) return '\0';
  const char letter = format[at++];
  return letter == 's' || kConversions.find(letter) != std::string_view::npos ? letter : '\0';
}

std::string unknown_modifier(const FormatToken& token, std::string_view known) {
  return fmt::format("unknown modifier {} of %{} (known are {})", in_quotes(token.text), token.verb,
                     known);
}

}  // namespace

Result<OutputFormat> OutputFormat::compile(std::string_view format, std::string_view null_marker) {
  OutputFormat out;
  out.null_marker_ = null_marker;
  TRY_ASSIGN(out.ops_, compile_ops(format, 1, false));
  return out;
}

Result<std::vector<OutputFormat::Op>> OutputFormat::compile_ops(std::string_view format,
                                                                std::size_t first_position,
                                                                bool in_header) {
  TRY_ASSIGN(std::vector<FormatToken> tokens, tokenize_format(format, first_position));
  std::vector<Op> out;
  for (FormatToken& token : tokens) {
    if (token.verb == '\0') {
      Op op;
      op.text = std::move(token.text);
      out.push_back(std::move(op));
    } else if (in_header) {
      TRY(compile_header_verb(token, out));
    } else {
      TRY(compile_verb(token, out));
    }
  }
  return out;
}

Result<> OutputFormat::compile_verb(const FormatToken& token, std::vector<Op>& out) {
  switch (token.verb) {
    case 't':
      return compile_text(token, Kind::kTopic, out);
    case 'k':
      return compile_text(token, Kind::kKey, out);
    case 'v':
    case 's':
      return compile_text(token, Kind::kValue, out);
    case 'K':
      return compile_number(token, Kind::kKeyBytes, out);
    case 'V':
    case 'S':
      return compile_number(token, Kind::kValueBytes, out);
    case 'R':
      if (token.has_modifier) return format_error(token, "%R takes no modifier");
      TRY(compile_number(token, Kind::kValueBytes, out));
      out.back().number = NumberFormat::kBig32;
      return {};
    case 'h':
      return compile_headers(token, out);
    case 'H':
      return compile_number(token, Kind::kHeaderCount, out);
    case 'p':
      return compile_number(token, Kind::kPartition, out);
    case 'o':
      return compile_number(token, Kind::kOffset, out);
    case 'e':
      return compile_number(token, Kind::kLeaderEpoch, out);
    case 'd':
    case 'T':
      return compile_timestamp(token, out);
    case 'x':
      return compile_number(token, Kind::kProducerId, out);
    case 'y':
      return compile_number(token, Kind::kProducerEpoch, out);
    case 'a':
      return compile_attribute(token, out);
    case '[':
      return compile_number(token, Kind::kLogStart, out);
    case '|':
      return compile_number(token, Kind::kLastStable, out);
    case ']':
      return compile_number(token, Kind::kHighWatermark, out);
    case 'i':
      return compile_number(token, Kind::kNumber, out);
    default:
      return format_error(token,
                          fmt::format("unknown verb {}", in_quotes(std::string{'%', token.verb})));
  }
}

Result<> OutputFormat::compile_header_verb(const FormatToken& token, std::vector<Op>& out) {
  switch (token.verb) {
    case 'k':
      return compile_text(token, Kind::kKey, out);
    case 'v':
      return compile_text(token, Kind::kValue, out);
    case 'K':
      return compile_number(token, Kind::kKeyBytes, out);
    case 'V':
      return compile_number(token, Kind::kValueBytes, out);
    default:
      return format_error(token, fmt::format("unknown verb {} in %h{{...}} (known are %k %v %K %V)",
                                             in_quotes(std::string{'%', token.verb})));
  }
}

Result<> OutputFormat::compile_text(const FormatToken& token, Kind kind, std::vector<Op>& out) {
  Op op;
  op.kind = kind;
  const bool unpack = token.text == "unpack";
  if (token.has_modifier) {
    if (token.text == "hex")
      op.encoding = TextFormat::kHex;
    else if (token.text == "base64")
      op.encoding = TextFormat::kBase64;
    else if (token.text == "base64raw")
      op.encoding = TextFormat::kBase64Raw;
    else if (unpack)
      op.encoding = TextFormat::kUnpack;
    else
      return format_error(token, unknown_modifier(token, kTextModifiers));
  }
  if (unpack) {
    if (const std::optional<char> bad = unknown_unpack_letter(token.argument))
      return format_error(token, fmt::format("{} in unpack: known are < > b B h H i I q Q c . s $ "
                                             "x, and nothing behind s or $",
                                             in_quotes(std::string(1, *bad))));
    op.text = token.argument;
  } else if (!token.argument.empty()) {
    return format_error(token, unknown_modifier(token, kTextModifiers));
  }
  out.push_back(std::move(op));
  return {};
}

Result<> OutputFormat::compile_number(const FormatToken& token, Kind kind, std::vector<Op>& out) {
  Op op;
  op.kind = kind;
  if (token.has_modifier) {
    const std::optional<NumberFormat> number = number_format(token.text);
    if (!number || !token.argument.empty())
      return format_error(token, unknown_modifier(token, kNumberFormats));
    op.number = *number;
  }
  out.push_back(std::move(op));
  return {};
}

Result<> OutputFormat::compile_timestamp(const FormatToken& token, std::vector<Op>& out) {
  if (token.text == "strftime") return compile_strftime(token, out);
  if (token.text == "go")
    return format_error(token, "{go[...]} is not done here, use {iso} or {strftime[...]} instead,");
  if (token.text == "iso" && token.argument.empty()) {
    out.emplace_back().kind = Kind::kTimestampIso;
    return {};
  }
  if (token.has_modifier && (!number_format(token.text) || !token.argument.empty()))
    return format_error(
        token, unknown_modifier(token, fmt::format("iso, strftime[...], {}", kNumberFormats)));
  return compile_number(token, Kind::kTimestamp, out);
}

/// The format is cut at `%s`, which glibc computes by the local zone.
Result<> OutputFormat::compile_strftime(const FormatToken& token, std::vector<Op>& out) {
  const std::string_view format = token.argument;
  if (format.empty())
    return format_error(token, "{strftime} needs a format, as in {strftime[%F]},");
  std::string piece;
  const auto flush = [&] {
    if (piece.empty()) return;
    Op& op = out.emplace_back();
    op.kind = Kind::kTimestampText;
    op.text = std::exchange(piece, {});
  };
  for (std::size_t at = 0; at < format.size();) {
    const std::size_t start = at;
    if (format[at] == '\\') {
      TRY(read_escape(format, at, piece));
      continue;
    }
    if (format[at] != '%') {
      piece += format[at++];
      continue;
    }
    const char letter = take_conversion(format, at);
    if (letter == '\0')
      return format_error(token, fmt::format("strftime has no conversion {}",
                                             in_quotes(format.substr(start, at - start))));
    if (letter != 's') {
      piece += format.substr(start, at - start);
      continue;
    }
    flush();
    out.emplace_back().kind = Kind::kTimestampSeconds;
  }
  flush();
  for (const Op& op : out)
    if (op.text.find('\0') != std::string::npos && op.kind == Kind::kTimestampText)
      return format_error(token, "strftime cannot print \\0");
  return {};
}

Result<> OutputFormat::compile_attribute(const FormatToken& token, std::vector<Op>& out) {
  static constexpr std::string_view kKnown =
      "compression, timestamp-type, transactional-bit, control-bit, each with ;FORMAT behind it "
      "for a number";
  const std::string_view text = token.text;
  const std::size_t semicolon = text.find(';');
  const std::string_view name = text.substr(0, semicolon);
  Op op;
  if (name == "compression")
    op.kind = semicolon == std::string_view::npos ? Kind::kCompressionName : Kind::kCompression;
  else if (name == "timestamp-type")
    op.kind = Kind::kTimestampType;
  else if (name == "transactional-bit")
    op.kind = Kind::kTransactionalBit;
  else if (name == "control-bit")
    op.kind = Kind::kControlBit;
  else if (!token.has_modifier)
    return format_error(token, fmt::format("%a needs a modifier (known are {})", kKnown));
  else
    return format_error(token, unknown_modifier(token, kKnown));
  if (semicolon != std::string_view::npos) {
    const std::optional<NumberFormat> number = number_format(text.substr(semicolon + 1));
    if (!number) return format_error(token, unknown_modifier(token, kKnown));
    op.number = *number;
  }
  if (!token.argument.empty()) return format_error(token, unknown_modifier(token, kKnown));
  out.push_back(std::move(op));
  return {};
}

Result<> OutputFormat::compile_headers(const FormatToken& token, std::vector<Op>& out) {
  Op op;
  op.kind = token.has_modifier ? Kind::kHeaders : Kind::kHeaderList;
  if (token.has_modifier) {
    TRY_ASSIGN(op.inner, compile_ops(token.text, token.position + kNestedFormatOffset, true));
  }
  out.push_back(std::move(op));
  return {};
}

void OutputFormat::append(const RecordContext& context, std::string& out) const {
  for (const Op& op : ops_)
    append_op(op, context, out);
}

void OutputFormat::append_text(const Op& op, std::optional<std::string_view> text,
                               std::string& out) const {
  if (!text) {
    out += null_marker_;
    return;
  }
  switch (op.encoding) {
    case TextFormat::kPlain:
      out += *text;
      return;
    case TextFormat::kHex:
      return append_hex(*text, out);
    case TextFormat::kBase64:
      return append_base64(*text, Padding::kPadded, out);
    case TextFormat::kBase64Raw:
      return append_base64(*text, Padding::kRaw, out);
    case TextFormat::kUnpack:
      return append_unpacked(op.text, *text, out);
  }
}

void OutputFormat::append_op(const Op& op, const RecordContext& context, std::string& out) const {
  const RecordView& record = *context.record;
  const auto number = [&](std::int64_t n) { append_number(n, op.number, out); };
  switch (op.kind) {
    case Kind::kLiteral:
      out += op.text;
      return;
    case Kind::kTopic:
      return append_text(op, context.topic, out);
    case Kind::kKey:
      return append_text(op, record.key, out);
    case Kind::kValue:
      return append_text(op, record.value, out);
    case Kind::kHeaderList:
      return append_header_list(record, out);
    case Kind::kHeaders:
      for (const HeaderView& header : *record.headers)
        append_header(op.inner, header, out);
      return;
    case Kind::kKeyBytes:
      return number(length_of(record.key));
    case Kind::kValueBytes:
      return number(length_of(record.value));
    case Kind::kHeaderCount:
      return number(static_cast<std::int64_t>(record.headers->size()));
    case Kind::kPartition:
      return number(context.partition);
    case Kind::kOffset:
      return number(record.offset.value());
    case Kind::kLeaderEpoch:
      return number(context.leader_epoch);
    case Kind::kTimestamp:
      return number(record.timestamp.value());
    case Kind::kTimestampIso:
      return append_iso(record.timestamp.value(), out);
    case Kind::kTimestampText:
      return append_strftime(record.timestamp.value(), op.text, out);
    case Kind::kTimestampSeconds:
      return number(record.timestamp == kNoTimestamp ? -1
                                                     : floor_seconds(record.timestamp.value()));
    case Kind::kProducerId:
      return number(context.producer_id);
    case Kind::kProducerEpoch:
      return number(context.producer_epoch);
    case Kind::kCompressionName:
      out += kCodecs[static_cast<std::size_t>(context.attributes & 0x07)];
      return;
    case Kind::kCompression:
      return number(context.attributes & 0x07);
    case Kind::kTimestampType:
      return number(context.append_time() ? 1 : 0);
    case Kind::kTransactionalBit:
      return number(context.attributes >> 4 & 1);
    case Kind::kControlBit:
      return number(context.attributes >> 5 & 1);
    case Kind::kLogStart:
      return number(context.log_start);
    case Kind::kLastStable:
      return number(context.last_stable);
    case Kind::kHighWatermark:
      return number(context.high_watermark);
    case Kind::kNumber:
      return number(context.number);
  }
}

void OutputFormat::append_header(const std::vector<Op>& ops, const HeaderView& header,
                                 std::string& out) const {
  for (const Op& op : ops) {
    if (op.kind == Kind::kLiteral)
      out += op.text;
    else if (op.kind == Kind::kKey)
      append_text(op, header.name, out);
    else if (op.kind == Kind::kValue)
      append_text(op, header.value, out);
    else if (op.kind == Kind::kKeyBytes)
      append_number(static_cast<std::int64_t>(header.name.size()), op.number, out);
    else
      append_number(length_of(header.value), op.number, out);
  }
}

void OutputFormat::append_header_list(const RecordView& record, std::string& out) const {
  bool first = true;
  for (const HeaderView& header : *record.headers) {
    if (!std::exchange(first, false)) out += ',';
    out += header.name;
    out += '=';
    out += header.value ? *header.value : std::string_view(null_marker_);
  }
}

}  // namespace spool
