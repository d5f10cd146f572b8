#pragma once
/// Where a text stops being JSON: for messages only, after a fast parser has refused it.

#include <cstddef>
#include <optional>
#include <string_view>

namespace spool {

/// The first byte, from 0, at which `text` cannot be the beginning of one JSON value (RFC 8259) any
/// more; its size when it ends too early; nullopt when it is JSON. Surrogates must come in pairs.
/// Deeper nesting than kJsonDepthMax counts as an error there.
[[nodiscard]] std::optional<std::size_t> json_error_position(std::string_view text);
inline constexpr int kJsonDepthMax = 1024;

/// Of the first backslash-u escape that is half of a surrogate pair without its other half; looks
/// at escapes only.
[[nodiscard]] std::optional<std::size_t> lone_surrogate_position(std::string_view text);

}  // namespace spool
