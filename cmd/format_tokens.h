#pragma once
/// The common grammar of the format strings of consume and produce:
///
///   format   = (literal | escape | "%%" | "%{" | "%}" | verb)*
///   escape   = as in escapes.h
///   verb     = "%" char ["{" modifier "}"]       a brace behind a verb always opens a modifier;
///                                                write `%{` for a brace there
///   modifier = name [opener+ argument closer+]   opener is any punctuation; n of them are closed
///   by
///                                                n of their counterparts: `{[(` by `}])`, others
///                                                by themselves
/// `%h{...}` holds a format of its own.
///
/// What a verb or a modifier means is for format_out and format_in to say; errors are Errc::kUsage
/// and name the position, counted from 1.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spool {

/// How a number is written or read.
enum class NumberFormat : std::uint8_t {
  kAscii,
  kHex,  ///< as many digits as it takes
  kHex4,
  kHex8,
  kHex16,
  kHex32,
  kHex64,
  kByte,
  kBig16,
  kBig32,
  kBig64,
  kLittle16,
  kLittle32,
  kLittle64,
  kBool,  ///< `true` or `false`
};
inline constexpr std::string_view kNumberFormats =
    "ascii, number, hex, hex4..hex64, byte, big8..big64, little8..little64, bool";

[[nodiscard]] std::optional<NumberFormat> number_format(std::string_view name);
/// Bytes that the number takes in its format; 0 where that depends on the number.
[[nodiscard]] std::size_t number_bytes(NumberFormat format);
/// Appends `n`, truncated to the width of the format (two's complement).
void append_number(std::int64_t n, NumberFormat format, std::string& out);

struct FormatToken {
  char verb = '\0';           ///< '\0': a literal
  std::string text;           ///< the literal; for a verb its modifier, inner format of %h
  std::string argument;       ///< what stood between the modifier's own brackets
  bool has_modifier = false;  ///< `%v{}` counts as none
  std::size_t position = 0;   ///< of the `%`
};

/// Splits `format`; neighbouring literals come as one token. `first_position`: of its first byte,
/// for a format within another.
[[nodiscard]] Result<std::vector<FormatToken>> tokenize_format(std::string_view format,
                                                               std::size_t first_position = 1);
/// Where the format within `%h{...}` begins.
inline constexpr std::size_t kNestedFormatOffset = 3;

/// The error for a token: "format: WHAT at position N".
[[nodiscard]] tl::unexpected<Error> format_error(const FormatToken& token, std::string_view what);

}  // namespace spool
