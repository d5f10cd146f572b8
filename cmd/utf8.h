#pragma once
/// UTF-8 by the strict rules of RFC 3629: no surrogates, no overlong forms, nothing past U+10FFFF.

#include <string_view>

namespace spool {

/// True when all of `text` is valid UTF-8. Fast (simdjson), never allocates, any thread.
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace spool
