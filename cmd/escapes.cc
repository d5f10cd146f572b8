#include "escapes.h"

#include <fmt/format.h>

#include "encoding.h"
#include "utf8.h"

namespace spool {
namespace {

constexpr std::size_t kQuotedBytesMax = 60;

/// Where to cut `text` so that no UTF-8 sequence is cut in two.
std::size_t cut_position(std::string_view text) {
  std::size_t n = kQuotedBytesMax;
  while (n > 0 && (static_cast<unsigned char>(text[n]) & 0xc0) == 0x80)
    --n;
  return n > 0 ? n : kQuotedBytesMax;
}

void append_quoted_byte(char c, bool utf8, std::string& out) {
  const auto byte = static_cast<unsigned char>(c);
  switch (c) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\0':
      out += "\\0";
      return;
    default:
      break;
  }
  if (byte < 0x20 || byte == 0x7f || c == '\'' || (byte >= 0x80 && !utf8))
    out += fmt::format("\\x{:02x}", byte);
  else
    out += c;
}

}  // namespace

Result<> read_escape(std::string_view text, std::size_t& at, std::string& out) {
  const std::size_t start = at;
  const char kind = at + 1 < text.size() ? text[at + 1] : '\0';
  if (at + 1 >= text.size())
    return fail(Errc::kUsage,
                fmt::format("{} ends in a lone backslash; write \\\\ for one", in_quotes(text)));
  at += 2;
  switch (kind) {
    case 'n':
      out += '\n';
      return {};
    case 'r':
      out += '\r';
      return {};
    case 't':
      out += '\t';
      return {};
    case '0':
      out += '\0';
      return {};
    case '\\':
      out += '\\';
      return {};
    case 'x':
      if (at + 2 <= text.size() && decode_hex(text.substr(at, 2), out)) {
        at += 2;
        return {};
      }
      break;
    default:
      break;
  }
  return fail(
      Errc::kUsage,
      fmt::format("{}: unknown escape {} at position {}; known are \\n \\r \\t \\0 \\\\ \\xNN",
                  in_quotes(text), in_quotes(text.substr(start, kind == 'x' ? 4 : 2)), start + 1));
}

Result<std::string> unescape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\\')
      TRY(read_escape(text, at, out));
    else
      out += text[at++];
  }
  return out;
}

std::string in_quotes(std::string_view text) {
  const bool utf8 = is_utf8(text);
  const bool cut = text.size() > kQuotedBytesMax;
  if (cut) text = text.substr(0, utf8 ? cut_position(text) : kQuotedBytesMax);
  std::string out = "'";
  for (const char c : text)
    append_quoted_byte(c, utf8, out);
  out += cut ? "...'" : "'";
  return out;
}

}  // namespace spool
