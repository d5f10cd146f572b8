#include "base/uuid.h"

#include <sys/random.h>

#include "base/check.h"

namespace spool {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t kTextLength = 22;

}  // namespace

Uuid Uuid::random() {
  Uuid id;
  do {
    CHECK(::getrandom(id.bytes_.data(), id.bytes_.size(), 0) ==
          static_cast<ssize_t>(id.bytes_.size()));
    id.bytes_[6] = static_cast<unsigned char>((id.bytes_[6] & 0x0fU) | 0x40U);
    id.bytes_[8] = static_cast<unsigned char>((id.bytes_[8] & 0x3fU) | 0x80U);
  } while (id.text().front() == '-');
  return id;
}

std::optional<Uuid> Uuid::parse(std::string_view text) {
  if (text.size() != kTextLength) return std::nullopt;
  Uuid id;
  unsigned bits = 0;
  unsigned held = 0;
  std::size_t at = 0;
  for (const char c : text) {
    const std::size_t digit = kAlphabet.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    held = (held << 6) | static_cast<unsigned>(digit);
    bits += 6;
    if (bits >= 8 && at < id.bytes_.size()) {
      bits -= 8;
      id.bytes_[at++] = static_cast<unsigned char>(held >> bits);
    }
  }
  return id;
}

std::string Uuid::text() const {
  std::string out;
  unsigned bits = 0;
  unsigned held = 0;
  for (const unsigned char byte : bytes_) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      out += kAlphabet[(held >> bits) & 0x3fU];
    }
  }
  out += kAlphabet[(held << (6 - bits)) & 0x3fU];
  return out;
}

}  // namespace spool
