#pragma once
/// Replaces a small file as a whole: readers and a power cut see the old content or the new one.

#include <string>
#include <string_view>

#include "io/fs.h"

namespace spool {

enum class Durability {
  kNone,    ///< renamed, not synced: visible to processes, may be lost or torn by a power cut
  kSynced,  ///< the content is synced before the rename: old or new after a power cut, never torn
  kNamed,   ///< as kSynced, and the folder is synced: new after a power cut
};

/// Writes PATH.tmp, renames it over PATH. The caller excludes other writers of PATH. On failure the
/// old content stays and PATH.tmp is removed.
[[nodiscard]] Result<void> replace_file(Fs& fs, const std::string& path, std::string_view content,
                                        std::uint32_t mode, Durability durability);

/// `body` plus a last line `xxh3 HEX` over it; and the way back: the body, or Errc::kCorrupt when
/// the line is missing or wrong.
[[nodiscard]] std::string with_checksum(std::string body);
[[nodiscard]] Result<std::string_view> without_checksum(std::string_view text,
                                                        const std::string& path);

}  // namespace spool
