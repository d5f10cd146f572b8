#pragma once
/// A line on stderr that says how far a long command is: only on a terminal (or when asked for),
/// only after a second, cleared at the end.

#include <cstdint>
#include <string>

#include "options.h"

namespace spool {

/// Not thread-safe.
class Progress {
 public:
  /// `fits`: there is something to show by itself (a file is read or written); --progress always
  /// shows it anyway.
  Progress(const Args& args, bool fits);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `total_bytes` 0: not known. Cheap when nothing is shown.
  void update(std::int64_t bytes, std::int64_t total_bytes, std::int64_t records);
  /// Takes the line away, before a message is said.
  void clear();

 private:
  bool enabled_ = false;
  bool shown_ = false;
  std::int64_t begin_ms_ = 0;
  std::int64_t next_ms_ = 0;
};

/// "12.3 MiB".
[[nodiscard]] std::string human_bytes(std::int64_t bytes);

}  // namespace spool
