#pragma once
/// The input of produce: standard input or files, read in large pieces, waited for together with
/// signals and the pipeline.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"

namespace spool {

/// Not thread-safe.
class Input {
 public:
  /// `paths`: "-" is standard input; none at all means standard input. Opened one after the other.
  explicit Input(std::vector<std::string> paths);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  enum class Event {
    kReadable,  ///< read() will not wait
    kWake,      ///< one of the descriptors waited for besides
    kSignal,
    kTimeout,
  };
  /// Whether read() would return at once.
  [[nodiscard]] bool readable_now();
  /// Waits; a negative time-out waits for ever. `input` false: not for the input.
  [[nodiscard]] Event wait(std::int64_t timeout_ms, const std::vector<int>& wake_fds, bool input);

  enum class Got { kData, kFileEnd, kEnd };
  static constexpr std::size_t kReadBytes = std::size_t{256} << 10;
  /// Appends what one read gives to `buffer`, which may be nothing. kFileEnd: this file is done,
  /// call again for the next. Room of kReadBytes and more is read into as a whole; less is a limit.
  [[nodiscard]] Result<Got> read(Buffer& buffer, std::size_t bytes);
  /// Opens what is to be read next, so that a missing file is said before anything is stored.
  [[nodiscard]] Result<void> open_next();

  /// What is being read, for messages; empty for standard input.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Size of the open file where it is known, else 0.
  [[nodiscard]] std::int64_t size_hint() const { return size_hint_; }
  /// Bytes of all inputs together, 0 unless all are files.
  [[nodiscard]] std::int64_t total_bytes() const;
  /// Whether the (first) input is a file.
  [[nodiscard]] bool reads_file() const;
  [[nodiscard]] std::int64_t bytes_read() const { return bytes_read_; }

 private:
  void close_current();

  std::vector<std::string> paths_;
  std::size_t next_ = 0;
  int fd_ = -1;
  bool regular_ = false;
  std::string name_;
  std::int64_t size_hint_ = 0;
  std::int64_t bytes_read_ = 0;
};

}  // namespace spool
