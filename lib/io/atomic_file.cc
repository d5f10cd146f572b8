#include "io/atomic_file.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace spool {

namespace {

std::string checksum_line(std::string_view body) {
  return fmt::format("xxh3 {:016x}\n", XXH3_64bits(body.data(), body.size()));
}

Result<void> write_synced(Fs& fs, const std::string& path, std::string_view content,
                          std::uint32_t mode, bool sync) {
  TRY_ASSIGN(const auto file, fs.open(path, OpenMode::kReplace, mode));
  TRY(file->write_at(as_bytes(content), 0));
  if (sync) TRY(file->sync());
  return {};
}

}  // namespace

Result<void> replace_file(Fs& fs, const std::string& path, std::string_view content,
                          std::uint32_t mode, Durability durability) {
  const std::string temp = path + ".tmp";
  auto done = write_synced(fs, temp, content, mode, durability != Durability::kNone);
  if (done) done = fs.rename(temp, path);
  if (!done) {
    (void)fs.unlink(temp);  // the first failure is the one to report
    return done;
  }
  if (durability == Durability::kNamed) TRY(fs.sync_dir(parent_path(path)));
  return {};
}

std::string with_checksum(std::string body) {
  body += checksum_line(body);
  return body;
}

Result<std::string_view> without_checksum(std::string_view text, const std::string& path) {
  const std::size_t at = text.rfind("xxh3 ");
  if (at == std::string_view::npos || (at > 0 && text[at - 1] != '\n') ||
      text.substr(at) != checksum_line(text.substr(0, at)))
    return fail(Errc::kCorrupt, "'" + path + "' has no valid checksum");
  return text.substr(0, at);
}

}  // namespace spool
