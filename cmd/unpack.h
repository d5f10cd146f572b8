#pragma once
/// `%v{unpack[...]}`: integers out of binary data, by letters as Python's struct has them. The
/// letters are listed in format_out.h.

#include <optional>
#include <string>
#include <string_view>

namespace spool {

/// The first letter of `layout` that is not known, or that stands behind `s` or `$`.
[[nodiscard]] std::optional<char> unknown_unpack_letter(std::string_view layout);

/// Appends what `layout` (checked before) makes of `bytes`. Where bytes are missing or left over a
/// text like `%!(1 byte left, 4 needed)` comes instead.
void append_unpacked(std::string_view layout, std::string_view bytes, std::string& out);

}  // namespace spool
