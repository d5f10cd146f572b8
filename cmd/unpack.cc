#include "unpack.h"

#include <cstddef>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

#include "base/bytes.h"
#include "format_tokens.h"

namespace spool {
namespace {

constexpr std::string_view kLetters = "<>xbBhHiIqQc.s$";

std::size_t width_of(char letter) {
  switch (letter) {
    case 'h':
    case 'H':
      return 2;
    case 'i':
    case 'I':
      return 4;
    case 'q':
    case 'Q':
      return 8;
    default:
      return 1;
  }
}

template <class T>
T load(std::string_view bytes, bool little) {
  const T v = load_be<T>(as_bytes(bytes).data());
  return little ? byte_swap(v) : v;
}

void append_integer(char letter, std::string_view bytes, bool little, std::string& out) {
  switch (letter) {
    case 'b':
      return append_number(load<std::int8_t>(bytes, little), NumberFormat::kAscii, out);
    case 'B':
      return append_number(load<std::uint8_t>(bytes, little), NumberFormat::kAscii, out);
    case 'h':
      return append_number(load<std::int16_t>(bytes, little), NumberFormat::kAscii, out);
    case 'H':
      return append_number(load<std::uint16_t>(bytes, little), NumberFormat::kAscii, out);
    case 'i':
      return append_number(load<std::int32_t>(bytes, little), NumberFormat::kAscii, out);
    case 'I':
      return append_number(load<std::uint32_t>(bytes, little), NumberFormat::kAscii, out);
    case 'q':
      return append_number(load<std::int64_t>(bytes, little), NumberFormat::kAscii, out);
    default:
      fmt::format_to(std::back_inserter(out), "{}", load<std::uint64_t>(bytes, little));
      return;
  }
}

void append_misfit(std::size_t left, std::size_t needed, std::string& out) {
  fmt::format_to(std::back_inserter(out), "%!({} byte{} left, {} needed)", left,
                 left == 1 ? "" : "s", needed);
}

}  // namespace

std::optional<char> unknown_unpack_letter(std::string_view layout) {
  bool ended = false;
  for (const char c : layout) {
    if (ended || kLetters.find(c) == std::string_view::npos) return c;
    ended = c == 's' || c == '$';
  }
  return std::nullopt;
}

void append_unpacked(std::string_view layout, std::string_view bytes, std::string& out) {
  bool little = true;
  for (const char letter : layout) {
    if (letter == 'x') continue;
    if (letter == '<' || letter == '>') {
      little = letter == '<';
      continue;
    }
    if (letter == 's') {
      out += bytes;
      return;
    }
    if (letter == '$') {
      if (!bytes.empty()) append_misfit(bytes.size(), 0, out);
      return;
    }
    const std::size_t width = width_of(letter);
    if (bytes.size() < width) return append_misfit(bytes.size(), width, out);
    if (letter == 'c' || letter == '.')
      out += bytes.front();
    else
      append_integer(letter, bytes.substr(0, width), little, out);
    bytes.remove_prefix(width);
  }
}

}  // namespace spool
