#include "format_in.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "encoding.h"
#include "escapes.h"

namespace spool {
namespace {

constexpr std::string_view kTextModifiers = "hex, base64, base64raw, N";
constexpr std::size_t kAsciiDigitsMax = 20;  // with the sign
constexpr std::size_t kHexDigitsMax = 16;

tl::unexpected<Error> misfit(std::size_t at, std::string what) {
  return fail(Errc::kInvalid, fmt::format("{} at byte {}", what, at + 1));
}

std::optional<std::int64_t> constant(std::string_view text) {
  std::int64_t n = 0;
  const std::from_chars_result end = std::from_chars(text.data(), text.data() + text.size(), n);
  if (end.ec != std::errc{} || end.ptr != text.data() + text.size() || n < 0) return std::nullopt;
  return n;
}

bool is_number_char(char c, bool hex, bool first) {
  if (c >= '0' && c <= '9') return true;
  if (hex) return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  return first && c == '-';
}

template <class T>
std::int64_t load_field(std::string_view bytes, bool little) {
  const T v = load_be<T>(as_bytes(bytes).data());
  return static_cast<std::int64_t>(little ? byte_swap(v) : v);
}

/// Hex digits to a number; 32 and 64 bits are signed, narrower ones are not. nullopt: no digits.
std::optional<std::int64_t> from_hex(std::string_view digits) {
  std::uint64_t n = 0;
  const char* const end = digits.data() + digits.size();
  const std::from_chars_result r = std::from_chars(digits.data(), end, n, 16);
  if (r.ec != std::errc{} || r.ptr != end) return std::nullopt;
  return static_cast<std::int64_t>(n);
}

/// A number in a format of a known width.
std::optional<std::int64_t> fixed_number(std::string_view bytes, NumberFormat format) {
  switch (format) {
    case NumberFormat::kByte:
      return load_field<std::uint8_t>(bytes, false);
    case NumberFormat::kBig16:
    case NumberFormat::kLittle16:
      return load_field<std::uint16_t>(bytes, format == NumberFormat::kLittle16);
    case NumberFormat::kBig32:
    case NumberFormat::kLittle32:
      return load_field<std::int32_t>(bytes, format == NumberFormat::kLittle32);
    case NumberFormat::kBig64:
    case NumberFormat::kLittle64:
      return load_field<std::int64_t>(bytes, format == NumberFormat::kLittle64);
    case NumberFormat::kHex32: {
      const std::optional<std::int64_t> n = from_hex(bytes);
      return n ? std::optional<std::int64_t>(static_cast<std::int32_t>(*n)) : std::nullopt;
    }
    default:
      return from_hex(bytes);
  }
}

std::string_view name_of(char verb) {
  switch (verb) {
    case 't':
      return "topic";
    case 'k':
      return "key";
    case 'K':
      return "length of the key";
    case 'V':
    case 'S':
    case 'R':
      return "length of the value";
    case 'H':
      return "count of headers";
    case 'p':
      return "partition";
    case 'd':
    case 'T':
      return "timestamp";
    case 'v':
    case 's':
      return "value";
    default:
      return "number";
  }
}

}  // namespace

/// One attempt at one record.
struct InputParser::Input {
  std::string_view buffer;
  bool eof = false;
  ParsedRecord* out = nullptr;
  std::size_t at = 0;
  std::size_t needed = 0;
  std::int64_t key_bytes = 0;
  std::int64_t value_bytes = 0;
  std::int64_t header_count = 0;

  [[nodiscard]] std::size_t left() const { return buffer.size() - at; }
  /// More bytes are needed, and `n` is the least; an error when there will be none.
  [[nodiscard]] Result<bool> more(std::size_t n, std::string_view subject) {
    if (eof)
      return misfit(buffer.size(),
                    fmt::format("the input ends within the {} that begins at byte {}, ends",
                                subject, at + 1));
    needed = n;
    return false;
  }
};

Result<InputParser> InputParser::compile(std::string_view format,
                                         std::optional<std::string_view> null_marker) {
  InputParser out;
  out.null_marker_ = null_marker;
  TRY_ASSIGN(out.ops_, compile_ops(format, 1, false));
  return out;
}

Result<std::vector<InputParser::Op>> InputParser::compile_ops(std::string_view format,
                                                              std::size_t first_position,
                                                              bool in_header) {
  TRY_ASSIGN(std::vector<FormatToken> tokens, tokenize_format(format, first_position));
  std::vector<Op> ops;
  for (FormatToken& token : tokens) {
    if (token.verb != '\0') {
      TRY_ASSIGN(Op op, compile_verb(std::move(token), in_header));
      ops.push_back(std::move(op));
    } else {
      Op& op = ops.emplace_back();
      op.text = token.text;
      op.token = std::move(token);
    }
  }
  TRY(set_extents(ops, in_header));
  if (!reads_anything(ops))
    return fail(Errc::kUsage, in_header ? "format: what is within %h{...} reads nothing"
                                        : "format reads nothing from the input");
  return ops;
}

Result<InputParser::Op> InputParser::compile_verb(FormatToken token, bool in_header) {
  switch (token.verb) {
    case 'k':
      return compile_text(std::move(token), Target::kKey);
    case 'v':
      return compile_text(std::move(token), Target::kValue);
    case 'K':
      return compile_number(std::move(token), Target::kKeyBytes);
    case 'V':
      return compile_number(std::move(token), Target::kValueBytes);
    default:
      break;
  }
  if (in_header)
    return format_error(token, fmt::format("unknown verb {} in %h{{...}} (known are %k %v %K %V)",
                                           in_quotes(std::string{'%', token.verb})));
  switch (token.verb) {
    case 't':
      return compile_text(std::move(token), Target::kTopic);
    case 's':
      return compile_text(std::move(token), Target::kValue);
    case 'R':
      if (token.has_modifier) return format_error(token, "%R takes no modifier");
      token.text = "big32";
      token.has_modifier = true;
      return compile_number(std::move(token), Target::kValueBytes);
    case 'S':
      return compile_number(std::move(token), Target::kValueBytes);
    case 'H':
      return compile_number(std::move(token), Target::kHeaderCount);
    case 'h':
      return compile_headers(std::move(token));
    case 'p':
      return compile_number(std::move(token), Target::kPartition);
    case 'd':
    case 'T':
      return compile_number(std::move(token), Target::kTimestamp);
    case 'o':
    case 'e':
    case 'x':
    case 'y':
      return compile_number(std::move(token), Target::kNone);
    default:
      return format_error(token, fmt::format("unknown verb {} in the format of an input",
                                             in_quotes(std::string{'%', token.verb})));
  }
}

Result<InputParser::Op> InputParser::compile_number(FormatToken token, Target target) {
  Op op;
  op.kind = Kind::kNumber;
  op.target = target;
  op.verb = token.verb;
  const bool is_length = target == Target::kKeyBytes || target == Target::kValueBytes ||
                         target == Target::kHeaderCount;
  if (token.has_modifier) {
    const std::optional<NumberFormat> number = number_format(token.text);
    const std::optional<std::int64_t> n = is_length ? constant(token.text) : std::nullopt;
    if ((!number && !n) || !token.argument.empty()) {
      const std::string_view hint =
          target == Target::kTimestamp ? "; timestamps are read as milliseconds only" : "";
      return format_error(
          token, fmt::format("unknown modifier {} of %{} (known are {}{}{})", in_quotes(token.text),
                             token.verb, kNumberFormats, is_length ? ", N" : "", hint));
    }
    if (number) op.number = *number;
    if (n) op.fixed = *n;
  }
  op.token = std::move(token);
  return op;
}

Result<InputParser::Op> InputParser::compile_text(FormatToken token, Target target) {
  Op op;
  op.kind = Kind::kText;
  op.target = target;
  op.verb = token.verb;
  if (token.has_modifier) {
    const std::optional<std::int64_t> n = constant(token.text);
    if (token.text == "json" || token.text == "re")
      return format_error(token, fmt::format("{{{}}} of rpk is not done here (known are {}); "
                                             "produce -J reads records as JSON; it stands",
                                             token.text, kTextModifiers));
    if (token.text == "hex")
      op.encoding = Encoding::kHex;
    else if (token.text == "base64")
      op.encoding = Encoding::kBase64;
    else if (token.text == "base64raw")
      op.encoding = Encoding::kBase64Raw;
    else if (n)
      op.fixed = *n;
    if ((op.encoding == Encoding::kPlain && !n) || !token.argument.empty())
      return format_error(token, fmt::format("unknown modifier {} of %{} (known are {})",
                                             in_quotes(token.text), token.verb, kTextModifiers));
  }
  op.token = std::move(token);
  return op;
}

Result<InputParser::Op> InputParser::compile_headers(FormatToken token) {
  if (!token.has_modifier)
    return format_error(token, "%h needs a format in braces, as in %H %h{%k=%v },");
  Op op;
  op.kind = Kind::kHeaders;
  op.verb = token.verb;
  TRY_ASSIGN(op.inner, compile_ops(token.text, token.position + kNestedFormatOffset, true));
  op.token = std::move(token);
  return op;
}

/// True when every record takes at least a byte of the input beside its literals. A constant length
/// of nothing would make records out of nothing for ever.
bool InputParser::reads_anything(const std::vector<Op>& ops) {
  return std::any_of(ops.begin(), ops.end(), [&](const Op& op) {
    if (op.kind == Kind::kNumber && op.fixed < 0) return true;
    if (op.kind != Kind::kText) return false;
    if (op.extent != Extent::kSized) return op.fixed != 0;
    const Target length = op.target == Target::kKey ? Target::kKeyBytes : Target::kValueBytes;
    return std::any_of(ops.begin(), ops.end(),
                       [&](const Op& o) { return o.target == length && o.fixed != 0; });
  });
}

/// Decides how each text ends, and refuses formats that could not be read.
Result<> InputParser::set_extents(std::vector<Op>& ops, bool in_header) {
  const auto find_before = [&](std::size_t end, Target target) {
    return std::any_of(ops.begin(), ops.begin() + static_cast<std::ptrdiff_t>(end),
                       [&](const Op& op) { return op.target == target; });
  };
  for (std::size_t i = 0; i < ops.size(); ++i) {
    Op& op = ops[i];
    if (op.target != Target::kNone && find_before(i, op.target))
      return format_error(op.token, fmt::format("a second {}", name_of(op.verb)));
    const Target data = op.target == Target::kKeyBytes     ? Target::kKey
                        : op.target == Target::kValueBytes ? Target::kValue
                                                           : Target::kNone;
    if (data != Target::kNone && find_before(i, data))
      return format_error(
          op.token, fmt::format("the {} must come before what it measures,", name_of(op.verb)));
    if (op.kind == Kind::kHeaders && !find_before(i, Target::kHeaderCount))
      return format_error(op.token, "%h{...} needs the count %H before it,");
    if (op.kind == Kind::kHeaders &&
        std::any_of(ops.begin(), ops.begin() + static_cast<std::ptrdiff_t>(i),
                    [](const Op& o) { return o.kind == Kind::kHeaders; }))
      return format_error(op.token, "a second %h");
    if (op.kind != Kind::kText) continue;
    const bool sized = (op.target == Target::kKey && find_before(i, Target::kKeyBytes)) ||
                       (op.target == Target::kValue && find_before(i, Target::kValueBytes));
    if (sized && op.fixed >= 0)
      return format_error(op.token, fmt::format("the {} has two lengths", name_of(op.verb)));
    const bool last = i + 1 == ops.size();
    op.extent = sized           ? Extent::kSized
                : op.fixed >= 0 ? Extent::kFixed
                : last          ? Extent::kToEnd
                                : Extent::kDelimited;
    const bool delimited = !last && ops[i + 1].kind == Kind::kLiteral;
    if ((op.extent == Extent::kDelimited && !delimited) ||
        (op.extent == Extent::kToEnd && in_header))
      return format_error(op.token, fmt::format("%{} needs a length before it or a literal behind "
                                                "it; it stands",
                                                op.verb));
  }
  return {};
}

std::string_view InputParser::final_delimiter() const {
  return !ops_.empty() && ops_.back().kind == Kind::kLiteral ? std::string_view(ops_.back().text)
                                                             : std::string_view();
}

Result<InputStep> InputParser::next(std::string_view buffer, bool eof, ParsedRecord& out) {
  out.clear();
  decoded_used_ = 0;
  if (buffer.empty())
    return eof ? InputStep{InputStep::Kind::kEnd, 0, 0}
               : InputStep{InputStep::Kind::kNeedMore, 0, 1};
  Input in;
  in.buffer = buffer;
  in.eof = eof;
  in.out = &out;
  const Result<bool> whole = read_ops(ops_, false, in);
  if (!whole || *whole) searched_from_ = SIZE_MAX;
  if (!whole) return fail(whole.error());
  if (!*whole)
    return InputStep{InputStep::Kind::kNeedMore, 0, std::max(in.needed, buffer.size() + 1)};
  return InputStep{InputStep::Kind::kRecord, in.at, 0};
}

Result<bool> InputParser::read_ops(const std::vector<Op>& ops, bool in_header, Input& in) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Op& op = ops[i];
    bool done = false;
    switch (op.kind) {
      case Kind::kLiteral: {
        TRY_ASSIGN(done, read_literal(op, !in_header && i + 1 == ops.size(), in));
        break;
      }
      case Kind::kNumber: {
        TRY_ASSIGN(done, read_number(op, in));
        break;
      }
      case Kind::kHeaders: {
        TRY_ASSIGN(done, read_headers(op, in));
        break;
      }
      case Kind::kText: {
        const Op* delimiter = op.extent == Extent::kDelimited ? &ops[i + 1] : nullptr;
        TRY_ASSIGN(done, read_text(op, delimiter, !in_header && i + 2 == ops.size(), in));
        if (delimiter != nullptr) ++i;  // read_text has taken the literal too
        break;
      }
    }
    if (!done) return false;
  }
  return true;
}

/// `last`: the literal ends the format, and may be missing where the input ends.
Result<bool> InputParser::read_literal(const Op& op, bool last, Input& in) {
  if (last && in.eof && in.left() == 0) return true;
  const std::string_view there = in.buffer.substr(in.at, op.text.size());
  const auto differs = std::mismatch(there.begin(), there.end(), op.text.begin()).first;
  if (differs != there.end()) {
    // Up to the first byte that differs: what follows may not have come yet.
    const auto shown = static_cast<std::size_t>(differs - there.begin()) + 1;
    return misfit(in.at, fmt::format("expected {}, found {}", in_quotes(op.text),
                                     in_quotes(there.substr(0, shown))));
  }
  if (there.size() < op.text.size()) return in.more(in.at + op.text.size(), "delimiter");
  in.at += op.text.size();
  return true;
}

Result<bool> InputParser::read_number(const Op& op, Input& in) {
  if (op.fixed >= 0) {
    TRY(store_number(op, op.fixed, in.at, in));
    return true;
  }
  const std::size_t start = in.at;
  std::size_t width = number_bytes(op.number);
  std::optional<std::int64_t> n;
  if (op.number == NumberFormat::kBool) {
    const std::string_view there = in.buffer.substr(start, 5);
    for (const std::string_view word : {std::string_view("true"), std::string_view("false")}) {
      if (there.starts_with(word)) {
        n = word == "true" ? 1 : 0;
        width = word.size();
      } else if (word.starts_with(there)) {
        return in.more(start + word.size(), name_of(op.verb));
      }
    }
  } else if (width != 0) {
    if (in.left() < width) return in.more(start + width, name_of(op.verb));
    n = fixed_number(in.buffer.substr(start, width), op.number);
  } else {
    const bool hex = op.number == NumberFormat::kHex;
    const std::size_t digits_max = hex ? kHexDigitsMax : kAsciiDigitsMax;
    while (width < in.left() && width < digits_max &&
           is_number_char(in.buffer[start + width], hex, width == 0))
      ++width;
    // Only what follows shows where the number ends.
    if (width == in.left() && width < digits_max && !in.eof)
      return in.more(start + width + 1, name_of(op.verb));
    const std::string_view digits = in.buffer.substr(start, width);
    std::int64_t ascii = 0;
    const char* const end = digits.data() + digits.size();
    if (hex) {
      n = from_hex(digits);
    } else if (const auto r = std::from_chars(digits.data(), end, ascii);
               r.ec == std::errc{} && r.ptr == end) {
      n = ascii;
    }
  }
  if (!n)
    return misfit(start,
                  fmt::format("{} is not the {}",
                              in_quotes(in.buffer.substr(start, std::max<std::size_t>(width, 1))),
                              name_of(op.verb)));
  in.at = start + width;
  TRY(store_number(op, *n, start, in));
  return true;
}

Result<> InputParser::store_number(const Op& op, std::int64_t n, std::size_t at, Input& in) {
  std::int64_t least = -1;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  switch (op.target) {
    case Target::kKeyBytes:
      in.key_bytes = n;
      break;
    case Target::kValueBytes:
      in.value_bytes = n;
      break;
    case Target::kHeaderCount:
      least = 0;
      most = kInputHeadersMax;
      in.header_count = n;
      break;
    case Target::kPartition:
      least = 0;
      most = std::numeric_limits<std::int32_t>::max();
      in.out->partition = PartitionId(static_cast<std::int32_t>(n));
      break;
    case Target::kTimestamp:
      in.out->timestamp = TimestampMs(n);
      break;
    default:
      least = std::numeric_limits<std::int64_t>::min();
      break;
  }
  if (n >= least && n <= most) return {};
  return misfit(at, fmt::format("{} {} is out of range", name_of(op.verb), n));
}

Result<bool> InputParser::read_headers(const Op& op, Input& in) {
  ParsedRecord& out = *in.out;
  const std::optional<std::string_view> key = std::exchange(out.key, std::nullopt);
  const std::optional<std::string_view> value = std::exchange(out.value, std::nullopt);
  const std::pair lengths{in.key_bytes, in.value_bytes};
  const bool value_given = out.value_given;
  for (std::int64_t i = 0; i < in.header_count; ++i) {
    const std::size_t start = in.at;
    out.key = out.value = std::nullopt;
    TRY_ASSIGN(const bool whole, read_ops(op.inner, true, in));
    if (!whole) return false;
    if (!out.key) return misfit(start, fmt::format("the name of header {} is null", i + 1));
    out.headers.push_back(HeaderView{*out.key, out.value});
  }
  out.key = key;
  out.value = value;
  out.value_given = value_given;
  std::tie(in.key_bytes, in.value_bytes) = lengths;
  return true;
}

/// `delimiter`: the literal that ends the text, taken with it. `last`: it ends the format as well.
Result<bool> InputParser::read_text(const Op& op, const Op* delimiter, bool last, Input& in) {
  const std::size_t start = in.at;
  std::optional<std::string_view> text;
  if (op.extent == Extent::kSized || op.extent == Extent::kFixed) {
    const std::int64_t bytes = op.extent == Extent::kFixed ? op.fixed
                               : op.target == Target::kKey ? in.key_bytes
                                                           : in.value_bytes;
    if (bytes >= 0) {
      const auto size = static_cast<std::size_t>(bytes);
      if (in.left() < size) return in.more(start + size, name_of(op.verb));
      text = in.buffer.substr(start, size);
      in.at = start + size;
    }
  } else if (op.extent == Extent::kToEnd) {
    if (!in.eof) return in.more(in.buffer.size() + 1, name_of(op.verb));
    text = in.buffer.substr(start);
    in.at = in.buffer.size();
  } else {
    std::string_view found;
    TRY_ASSIGN(const bool whole, find_delimiter(op, delimiter->text, last, in, found));
    if (!whole) return false;
    text = found;
  }
  const bool by_bytes = op.extent == Extent::kSized || op.extent == Extent::kFixed;
  if (!by_bytes && op.target != Target::kTopic && null_marker_ && text == *null_marker_)
    text = std::nullopt;
  TRY(decode(op, start, text));
  if (op.target == Target::kTopic) {
    in.out->topic = text;
  } else if (op.target == Target::kKey) {
    in.out->key = text;
  } else {
    in.out->value = text;
    in.out->value_given = true;
  }
  return true;
}

Result<bool> InputParser::find_delimiter(const Op& op, const std::string& delimiter, bool last,
                                         Input& in, std::string_view& text) {
  const std::size_t start = in.at;
  // What an earlier call has searched is skipped, but for a delimiter that was cut in two.
  std::size_t from = start;
  if (searched_from_ == start && searched_to_ >= start + delimiter.size())
    from = std::min(searched_to_, in.buffer.size()) - delimiter.size() + 1;
  const std::size_t end = in.buffer.find(delimiter, from);
  if (end != std::string_view::npos) {
    text = in.buffer.substr(start, end - start);
    in.at = end + delimiter.size();
    return true;
  }
  if (!in.eof) {
    searched_from_ = start;
    searched_to_ = in.buffer.size();
    return in.more(in.buffer.size() + 1, name_of(op.verb));
  }
  if (!last)
    return misfit(start, fmt::format("no {} behind the {} that begins", in_quotes(delimiter),
                                     name_of(op.verb)));
  text = in.buffer.substr(start);
  in.at = in.buffer.size();
  return true;
}

Result<> InputParser::decode(const Op& op, std::size_t at, std::optional<std::string_view>& text) {
  if (!text || op.encoding == Encoding::kPlain) return {};
  if (decoded_used_ == decoded_.size()) decoded_.emplace_back();
  std::string& out = decoded_[decoded_used_++];
  out.clear();
  const bool hex = op.encoding == Encoding::kHex;
  const Padding padding = op.encoding == Encoding::kBase64 ? Padding::kPadded : Padding::kRaw;
  if (!(hex ? decode_hex(*text, out) : decode_base64(*text, padding, out)))
    return misfit(at, fmt::format("the {} {} is not {}", name_of(op.verb), in_quotes(*text),
                                  hex                                ? "hex"
                                  : op.encoding == Encoding::kBase64 ? "base64"
                                                                     : "base64 without padding"));
  text = out;
  return {};
}

}  // namespace spool
