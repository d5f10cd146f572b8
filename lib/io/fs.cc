#include "io/fs.h"

namespace spool {

Result<std::string> read_file(Fs& fs, const std::string& path, std::size_t bytes_max) {
  TRY_ASSIGN(const auto file, fs.open(path, OpenMode::kRead, 0));
  std::string out;
  for (;;) {
    const std::size_t before = out.size();
    if (before > bytes_max) return fail(Errc::kTooLarge, "'" + path + "' is too large");
    out.resize(before + std::max<std::size_t>(before, 4096));
    const MutableBytes room{reinterpret_cast<std::byte*>(out.data()) + before, out.size() - before};
    TRY_ASSIGN(const std::size_t got, file->read_at(room, static_cast<std::int64_t>(before)));
    out.resize(before + got);
    if (got < room.size()) return out;
  }
}

std::string parent_path(const std::string& path) {
  std::size_t end = path.size();
  while (end > 1 && path[end - 1] == '/')
    --end;
  const std::size_t slash = path.rfind('/', end - 1);
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace spool
