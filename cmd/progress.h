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

  /// What is done of how much there is to do, in any unit.
  struct Part {
    std::int64_t done = 0;
    std::int64_t total = 0;  ///< 0: not known
  };
  /// Cheap when nothing is shown.
  void update(std::int64_t bytes, std::int64_t records, const Part& part);
  [[nodiscard]] bool enabled() const { return enabled_; }
  /// Takes the line away.
  void clear();

 private:
  bool enabled_ = false;
  std::int64_t begin_ms_ = 0;
  std::int64_t next_ms_ = 0;
};

/// "12.3 MiB".
[[nodiscard]] std::string human_bytes(std::int64_t bytes);
/// "7s", "12m05s", "3h07m".
[[nodiscard]] std::string human_seconds(std::int64_t seconds);
/// The line after `elapsed_ms`.
[[nodiscard]] std::string progress_line(std::int64_t bytes, std::int64_t records,
                                        const Progress::Part& part, std::int64_t elapsed_ms);

}  // namespace spool
