#pragma once
/// Hex and base64 (RFC 4648, standard alphabet) between bytes and text. Encoders append; decoders
/// are strict and leave `out` as it was when they return false. All are safe from any thread.

#include <cstdint>
#include <string>
#include <string_view>

namespace spool {

enum class Padding : std::uint8_t {
  kPadded,  ///< to a multiple of four with `=`, and required when decoding
  kRaw,     ///< none, and refused when decoding
};

/// Two lower-case digits a byte.
void append_hex(std::string_view bytes, std::string& out);
/// Either case; an odd count of digits or another character gives false.
[[nodiscard]] bool decode_hex(std::string_view text, std::string& out);

void append_base64(std::string_view bytes, Padding padding, std::string& out);
/// No blanks or line ends. Bits that belong to no byte must be zero, so that each string of bytes
/// has exactly one text.
[[nodiscard]] bool decode_base64(std::string_view text, Padding padding, std::string& out);

}  // namespace spool
