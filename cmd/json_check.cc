#include "json_check.h"

#include <cstdint>
#include <string>

#include "utf8.h"

namespace spool {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex(char c) {
  const char lower = static_cast<char>(c | 0x20);
  return is_digit(c) || (lower >= 'a' && lower <= 'f');
}

/// The four hex digits of a backslash-u escape at `text[at]`, or -1.
std::int32_t code_unit(std::string_view text, std::size_t at) {
  if (at + 4 > text.size()) return -1;
  std::int32_t n = 0;
  for (const char c : text.substr(at, 4)) {
    if (!is_hex(c)) return -1;
    n = n * 16 + (is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return n;
}

/// Walks one value without recursion: `open_` holds the brackets that are not closed.
class Checker {
 public:
  explicit Checker(std::string_view text) : text_(text) {}

  /// False: at() is the place of the error.
  bool run() {
    do {
      if (!value()) return false;
    } while (!complete_);
    skip_blanks();
    return at_ == text_.size();
  }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string::npos)
      ++at_;
  }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  /// A scalar, or the beginning of a bracket up to its first value; then what may follow.
  bool value() {
    skip_blanks();
    const char c = peek();
    if (c == '{' || c == '[') {
      if (open_.size() >= static_cast<std::size_t>(kJsonDepthMax)) return false;
      open_ += c;
      ++at_;
      skip_blanks();
      if (peek() == (c == '{' ? '}' : ']')) return after_value();
      return c == '[' || name();
    }
    const bool ok = c == '"'                    ? string()
                    : (c == '-' || is_digit(c)) ? number()
                    : c == 't'                  ? word("true")
                    : c == 'f'                  ? word("false")
                                                : word("null");
    return ok && after_value();
  }
  bool name() {
    skip_blanks();
    if (peek() != '"' || !string()) return false;
    skip_blanks();
    return take(':');
  }
  /// Closes brackets, and stops behind a comma or when nothing is open.
  bool after_value() {
    for (;;) {
      if (open_.empty()) {
        complete_ = true;
        return true;
      }
      skip_blanks();
      const bool object = open_.back() == '{';
      if (take(',')) return !object || name();
      if (!take(object ? '}' : ']')) return false;
      open_.pop_back();
    }
  }
  bool word(std::string_view expected) {
    for (const char c : expected)
      if (!take(c)) return false;
    return true;
  }
  bool digits() {
    const std::size_t start = at_;
    while (is_digit(peek()))
      ++at_;
    return at_ > start;
  }
  bool number() {
    (void)take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (!take('+')) (void)take('-');
      return digits();
    }
    return true;
  }
  bool string() {
    ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c == '"') {
        ++at_;
        return true;
      }
      if (c != '\\') {
        ++at_;
        continue;
      }
      ++at_;
      const char kind = peek();
      if (kind == '\0' || std::string_view("\"\\/bfnrtu").find(kind) == std::string_view::npos)
        return false;
      ++at_;
      for (int digits_left = kind == 'u' ? 4 : 0; digits_left > 0; --digits_left, ++at_)
        if (!is_hex(peek())) return false;
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string open_;
  bool complete_ = false;
};

/// The length of the first valid piece of `text` that has `least` to `least + 3` bytes, or 0.
std::size_t valid_piece(std::string_view text, std::size_t least) {
  for (std::size_t n = least; n < least + 4 && n <= text.size(); ++n)
    if (is_utf8(text.substr(0, n))) return n;
  return 0;
}

/// The first byte that belongs to no valid sequence; `text` is known not to be UTF-8.
std::size_t utf8_error_position(std::string_view text) {
  constexpr std::size_t kBlock = 4096;
  std::size_t at = 0;
  while (const std::size_t n = valid_piece(text.substr(at), kBlock))
    at += n;
  while (const std::size_t n = valid_piece(text.substr(at), 1))
    at += n;
  return at;
}

}  // namespace

std::optional<std::size_t> json_error_position(std::string_view text) {
  Checker checker(text);
  std::optional<std::size_t> at;
  if (!checker.run()) at = checker.at();
  if (const std::optional<std::size_t> lone = lone_surrogate_position(text);
      lone && (!at || *lone < *at))
    at = lone;
  if (!is_utf8(text)) {
    const std::size_t bad = utf8_error_position(text);
    if (!at || bad < *at) at = bad;
  }
  return at;
}

std::optional<std::size_t> lone_surrogate_position(std::string_view text) {
  std::size_t at = text.find('\\');
  while (at != std::string_view::npos) {
    if (at + 1 >= text.size() || text[at + 1] != 'u') {
      at = text.find('\\', at + 2);
      continue;
    }
    const std::int32_t first = code_unit(text, at + 2);
    std::size_t end = at + 6;
    if (first >= 0xdc00 && first <= 0xdfff) return at;
    if (first >= 0xd800 && first <= 0xdbff) {
      const std::string_view other = text.substr(end, 6);
      if (std::string_view("\\u").substr(0, other.size()) != other.substr(0, 2)) return at;
      if (other.size() < 6) return std::nullopt;  // cut off, not wrong
      const std::int32_t second = code_unit(other, 2);
      if (second < 0xdc00 || second > 0xdfff) return at;
      end += 6;
    }
    at = end < text.size() ? text.find('\\', end) : std::string_view::npos;
  }
  return std::nullopt;
}

}  // namespace spool
