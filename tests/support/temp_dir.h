#pragma once
/// A directory that is gone after the test, and plain file access that goes past the code under
/// test.

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

namespace spool::test {

/// A fresh folder below $TMPDIR, removed with all that is in it.
class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "spool-unit.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    path_ = name;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(std::string_view name) const {
    return fmt::format("{}/{}", path_, name);
  }

 private:
  std::string path_;
};

inline std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Written in place: the inode stays. Cut afterwards and not before: ext4 writes a file back at
/// once when it was emptied first.
inline void spew(const std::string& path, std::string_view content) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  bool good = fd >= 0;
  for (std::size_t done = 0; good && done < content.size();) {
    const ssize_t n = ::write(fd, content.data() + done, content.size() - done);
    good = n > 0;
    done += good ? static_cast<std::size_t>(n) : 0;
  }
  good = good && ::ftruncate(fd, static_cast<off_t>(content.size())) == 0;
  if (fd >= 0) ::close(fd);
  if (!good) throw std::runtime_error("cannot write " + path);
}

inline void append_to(const std::string& path, std::string_view more) {
  spew(path, slurp(path) + std::string(more));
}

inline void flip_bit(const std::string& path, std::size_t byte, unsigned bit = 0) {
  std::string content = slurp(path);
  content.at(byte) = static_cast<char>(static_cast<unsigned char>(content[byte]) ^ (1U << bit));
  spew(path, content);
}

inline void cut_file(const std::string& path, std::size_t size) {
  std::filesystem::resize_file(path, size);
}

inline bool exists(const std::string& path) {
  return std::filesystem::exists(path);
}

/// Names in a folder, ascending.
inline std::vector<std::string> names_in(const std::string& dir) {
  std::vector<std::string> out;
  for (const auto& e : std::filesystem::directory_iterator(dir))
    out.push_back(e.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

inline void copy_folder(const std::string& from, const std::string& to) {
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
}

}  // namespace spool::test
