#include "encoding.h"

#include <array>
#include <cstddef>

namespace spool {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNone = 0xff;

constexpr std::array<std::uint8_t, 256> kSextets = [] {
  std::array<std::uint8_t, 256> table{};
  table.fill(kNone);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i)
    table[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  return table;
}();

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::uint32_t byte_at(std::string_view s, std::size_t i) {
  return static_cast<unsigned char>(s[i]);
}

std::uint32_t sextet_at(std::string_view s, std::size_t i) {
  return kSextets[static_cast<unsigned char>(s[i])];
}

}  // namespace

void append_hex(std::string_view bytes, std::string& out) {
  const std::size_t old = out.size();
  out.resize(old + 2 * bytes.size());
  char* p = out.data() + old;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    *p++ = kHexDigits[byte >> 4];
    *p++ = kHexDigits[byte & 0xf];
  }
}

bool decode_hex(std::string_view text, std::string& out) {
  if (text.size() % 2 != 0) return false;
  const std::size_t old = out.size();
  out.resize(old + text.size() / 2);
  char* p = out.data() + old;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_value(text[i]);
    const int low = hex_value(text[i + 1]);
    if (high < 0 || low < 0) {
      out.resize(old);
      return false;
    }
    *p++ = static_cast<char>(high * 16 + low);
  }
  return true;
}

void append_base64(std::string_view bytes, Padding padding, std::string& out) {
  const std::size_t rest = bytes.size() % 3;
  const std::size_t tail = rest == 0 ? 0 : padding == Padding::kPadded ? 4 : rest + 1;
  const std::size_t old = out.size();
  out.resize(old + bytes.size() / 3 * 4 + tail, '=');
  char* p = out.data() + old;
  std::size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3) {
    const std::uint32_t group =
        byte_at(bytes, i) << 16 | byte_at(bytes, i + 1) << 8 | byte_at(bytes, i + 2);
    *p++ = kAlphabet[group >> 18];
    *p++ = kAlphabet[group >> 12 & 0x3f];
    *p++ = kAlphabet[group >> 6 & 0x3f];
    *p++ = kAlphabet[group & 0x3f];
  }
  if (rest == 0) return;
  const std::uint32_t group =
      byte_at(bytes, i) << 16 | (rest == 2 ? byte_at(bytes, i + 1) << 8 : 0U);
  *p++ = kAlphabet[group >> 18];
  *p++ = kAlphabet[group >> 12 & 0x3f];
  if (rest == 2) *p = kAlphabet[group >> 6 & 0x3f];
}

bool decode_base64(std::string_view text, Padding padding, std::string& out) {
  if (padding == Padding::kPadded) {
    if (text.size() % 4 != 0) return false;
    for (int i = 0; i < 2 && text.ends_with('='); ++i)
      text.remove_suffix(1);
  }
  const std::size_t rest = text.size() % 4;
  if (rest == 1) return false;
  const std::size_t old = out.size();
  out.resize(old + text.size() / 4 * 3 + (rest == 0 ? 0 : rest - 1));
  char* p = out.data() + old;
  std::uint32_t bad = 0;  // gathers the high bit of kNone and the bits that belong to no byte
  std::size_t i = 0;
  for (; i + 4 <= text.size(); i += 4) {
    const std::uint32_t a = sextet_at(text, i);
    const std::uint32_t b = sextet_at(text, i + 1);
    const std::uint32_t c = sextet_at(text, i + 2);
    const std::uint32_t d = sextet_at(text, i + 3);
    bad |= (a | b | c | d) & 0x80;
    const std::uint32_t group = a << 18 | b << 12 | c << 6 | d;
    *p++ = static_cast<char>(group >> 16 & 0xff);
    *p++ = static_cast<char>(group >> 8 & 0xff);
    *p++ = static_cast<char>(group & 0xff);
  }
  if (rest != 0) {
    const std::uint32_t a = sextet_at(text, i);
    const std::uint32_t b = sextet_at(text, i + 1);
    const std::uint32_t c = rest == 3 ? sextet_at(text, i + 2) : 0;
    bad |= (a | b | c) & 0x80;
    bad |= rest == 3 ? c & 0x3 : b & 0xf;
    const std::uint32_t group = a << 18 | b << 12 | c << 6;
    *p++ = static_cast<char>(group >> 16 & 0xff);
    if (rest == 3) *p = static_cast<char>(group >> 8 & 0xff);
  }
  if (bad != 0) out.resize(old);
  return bad == 0;
}

}  // namespace spool
