#include "format_tokens.h"

#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "encoding.h"
#include "escapes.h"

namespace spool {
namespace {

constexpr std::string_view kOpeners = "#[({</|!@$^&*+=~:\"'`";

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == ';';
}

char counterpart(char opener) {
  switch (opener) {
    case '{':
      return '}';
    case '[':
      return ']';
    case '(':
      return ')';
    default:
      return opener;
  }
}

tl::unexpected<Error> unclosed(std::string_view format, std::size_t position, char verb) {
  return fail(Errc::kUsage, fmt::format("format {}: the brace behind %{} at position {} is not "
                                        "closed",
                                        in_quotes(format), verb, position));
}

/// The format within `%h{`: up to the brace that closes it. `%{` and `%}` are plain braces there.
Result<> take_nested(std::string_view format, std::size_t& at, FormatToken& token) {
  const std::size_t start = at;
  for (int depth = 1; at < format.size(); ++at) {
    const char c = format[at];
    if (c == '%' || c == '\\') {
      ++at;  // whatever follows is part of the escape, or a verb that is no brace
      continue;
    }
    if (c == '{') ++depth;
    if (c == '}' && --depth == 0) {
      token.text = format.substr(start, at - start);
      ++at;
      return {};
    }
  }
  return unclosed(format, token.position, token.verb);
}

/// A modifier: `name}` or `name[argument]}`.
Result<> take_modifier(std::string_view format, std::size_t& at, FormatToken& token) {
  const std::size_t start = at;
  while (at < format.size() && is_name_char(format[at]))
    ++at;
  token.text = format.substr(start, at - start);
  if (at < format.size() && format[at] != '}') {
    const char opener = format[at];
    if (kOpeners.find(opener) == std::string_view::npos)
      return fail(Errc::kUsage,
                  fmt::format("format {}: unexpected {} in the modifier at position "
                              "{}",
                              in_quotes(format), in_quotes(format.substr(at, 1)), at + 1));
    const std::size_t first = at;
    while (at < format.size() && format[at] == opener)
      ++at;
    const std::string closer(at - first, counterpart(opener));
    const std::size_t end = format.find(closer, at);
    if (end == std::string_view::npos) return unclosed(format, token.position, token.verb);
    token.argument = format.substr(at, end - at);
    at = end + closer.size();
  }
  if (at >= format.size() || format[at] != '}') return unclosed(format, token.position, token.verb);
  ++at;
  token.has_modifier = !token.text.empty();
  return {};
}

Result<FormatToken> take_verb(std::string_view format, std::size_t first_position,
                              std::size_t& at) {
  FormatToken token;
  token.position = first_position + at;
  token.verb = format[at + 1];
  at += 2;
  if (at >= format.size() || format[at] != '{') return token;
  ++at;
  token.has_modifier = true;
  if (token.verb == 'h')
    TRY(take_nested(format, at, token));
  else
    TRY(take_modifier(format, at, token));
  return token;
}

template <class T>
void append_big(std::int64_t n, std::string& out) {
  std::array<std::byte, sizeof(T)> bytes;
  store_be(bytes.data(), static_cast<T>(n));
  out += as_text(bytes);
}

template <class T>
void append_little(std::int64_t n, std::string& out) {
  append_big<T>(static_cast<std::int64_t>(byte_swap(static_cast<T>(n))), out);
}

template <class T>
void append_wide_hex(std::int64_t n, std::string& out) {
  std::array<std::byte, sizeof(T)> bytes;
  store_be(bytes.data(), static_cast<T>(n));
  append_hex(as_text(bytes), out);
}

template <class T>
void append_digits(T n, int base, std::string& out) {
  std::array<char, 24> digits;
  const std::to_chars_result end =
      std::to_chars(digits.data(), digits.data() + digits.size(), n, base);
  out.append(digits.data(), end.ptr);
}

}  // namespace

std::optional<NumberFormat> number_format(std::string_view name) {
  using enum NumberFormat;
  static constexpr std::array<std::pair<std::string_view, NumberFormat>, 18> kNames{
      {{"ascii", kAscii},
       {"number", kAscii},
       {"hex", kHex},
       {"hex4", kHex4},
       {"hex8", kHex8},
       {"hex16", kHex16},
       {"hex32", kHex32},
       {"hex64", kHex64},
       {"byte", kByte},
       {"big8", kByte},
       {"big16", kBig16},
       {"big32", kBig32},
       {"big64", kBig64},
       {"little8", kByte},
       {"bool", kBool},
       {"little16", kLittle16},
       {"little32", kLittle32},
       {"little64", kLittle64}}};
  for (const auto& [known, format] : kNames)
    if (known == name) return format;
  return std::nullopt;
}

std::size_t number_bytes(NumberFormat format) {
  switch (format) {
    case NumberFormat::kHex4:
    case NumberFormat::kByte:
      return 1;
    case NumberFormat::kHex8:
    case NumberFormat::kBig16:
    case NumberFormat::kLittle16:
      return 2;
    case NumberFormat::kHex16:
    case NumberFormat::kBig32:
    case NumberFormat::kLittle32:
      return 4;
    case NumberFormat::kHex32:
    case NumberFormat::kBig64:
    case NumberFormat::kLittle64:
      return 8;
    case NumberFormat::kHex64:
      return 16;
    case NumberFormat::kAscii:
    case NumberFormat::kHex:
    case NumberFormat::kBool:
      break;
  }
  return 0;
}

void append_number(std::int64_t n, NumberFormat format, std::string& out) {
  switch (format) {
    case NumberFormat::kAscii:
      return append_digits(n, 10, out);
    case NumberFormat::kHex:
      return append_digits(static_cast<std::uint64_t>(n), 16, out);
    case NumberFormat::kHex4:
      return append_digits(static_cast<std::uint64_t>(n) & 0xf, 16, out);
    case NumberFormat::kHex8:
      return append_wide_hex<std::uint8_t>(n, out);
    case NumberFormat::kHex16:
      return append_wide_hex<std::uint16_t>(n, out);
    case NumberFormat::kHex32:
      return append_wide_hex<std::uint32_t>(n, out);
    case NumberFormat::kHex64:
      return append_wide_hex<std::uint64_t>(n, out);
    case NumberFormat::kByte:
      return out.push_back(static_cast<char>(n));
    case NumberFormat::kBig16:
      return append_big<std::uint16_t>(n, out);
    case NumberFormat::kBig32:
      return append_big<std::uint32_t>(n, out);
    case NumberFormat::kBig64:
      return append_big<std::uint64_t>(n, out);
    case NumberFormat::kLittle16:
      return append_little<std::uint16_t>(n, out);
    case NumberFormat::kLittle32:
      return append_little<std::uint32_t>(n, out);
    case NumberFormat::kLittle64:
      return append_little<std::uint64_t>(n, out);
    case NumberFormat::kBool:
      out += n != 0 ? "true" : "false";
      return;
  }
}

Result<std::vector<FormatToken>> tokenize_format(std::string_view format,
                                                 std::size_t first_position) {
  std::vector<FormatToken> out;
  std::string literal;
  std::size_t literal_position = first_position;
  const auto flush = [&] {
    if (literal.empty()) return;
    FormatToken token;
    token.text = std::exchange(literal, {});
    token.position = literal_position;
    out.push_back(std::move(token));
  };
  for (std::size_t at = 0; at < format.size();) {
    if (literal.empty()) literal_position = first_position + at;
    const char c = format[at];
    if (c == '\\') {
      TRY(read_escape(format, at, literal));
    } else if (c != '%') {
      literal += c;
      ++at;
    } else if (at + 1 >= format.size()) {
      return fail(Errc::kUsage,
                  fmt::format("format {} ends in a lone %; write %% for one", in_quotes(format)));
    } else if (const char next = format[at + 1]; next == '%' || next == '{' || next == '}') {
      literal += next;
      at += 2;
    } else {
      flush();
      TRY_ASSIGN(FormatToken token, take_verb(format, first_position, at));
      out.push_back(std::move(token));
    }
  }
  flush();
  return out;
}

tl::unexpected<Error> format_error(const FormatToken& token, std::string_view what) {
  return fail(Errc::kUsage, fmt::format("format: {} at position {}", what, token.position));
}

}  // namespace spool
