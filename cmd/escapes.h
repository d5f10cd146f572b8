#pragma once
/// Backslash escapes as delimiters and format strings have them, and their reverse for messages.
///
/// Known: `\n \r \t \0 \\ \xNN` (two hex digits). Any other letter behind a backslash, and a
/// backslash at the end, is an error: a typo must not become a delimiter.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spool {

/// Reads the escape at `text[at]`, which is a backslash, appends the byte meant to `out` and moves
/// `at` behind the escape. Errc::kUsage names the position within `text`.
[[nodiscard]] Result<> read_escape(std::string_view text, std::size_t& at, std::string& out);

/// `text` with every escape replaced. Errc::kUsage quotes the text.
[[nodiscard]] Result<std::string> unescape(std::string_view text);

/// `text` in single quotes for a message on one line: control bytes, quotes and what is not UTF-8
/// as escapes, cut with `...` after 60 bytes.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace spool
