#pragma once
/// Standard output of consume: filled by one thread, written by another, so that formatting and
/// writing go on side by side.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace spool {

/// Calls are for one thread.
class Output {
 public:
  /// `escape`: control bytes and what is not UTF-8 are shown as \xNN, for terminals.
  explicit Output(bool escape);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// What was formatted and not handed over yet; append to it.
  [[nodiscard]] std::string& text() { return text_; }
  /// Hands text() over when there is enough of it. False when writing has failed.
  [[nodiscard]] bool flush_if_full() { return text_.size() < kFullBytes || flush(); }
  /// Writes `large` behind all that was handed over, without a copy of it; text() is handed over
  /// first. False when writing has failed. Not on an escaping output.
  [[nodiscard]] bool write_through(std::string_view large);
  [[nodiscard]] bool escapes() const { return escape_; }
  /// Hands text() over.
  [[nodiscard]] bool flush();
  /// Waits until all is written. False when writing failed: problem() is its errno.
  [[nodiscard]] bool finish();
  [[nodiscard]] bool failed();
  [[nodiscard]] int problem();

  /// Handed over so far.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  /// Of these, the bytes that write(2) has taken; all bytes are counted as they were before
  /// escaping. For any thread.
  [[nodiscard]] std::int64_t written() const { return written_.load(); }

  static constexpr std::size_t kFullBytes = std::size_t{256} << 10;

 private:
  void write_loop();
  [[nodiscard]] bool write_out(std::string_view text, std::size_t unescaped);

  const bool escape_;
  std::string text_;
  std::int64_t bytes_ = 0;
  std::atomic<std::int64_t> written_{0};
  std::mutex mutex_;  ///< guards all below
  std::condition_variable filled_;
  std::condition_variable taken_;
  std::string ready_;
  std::size_t ready_unescaped_ = 0;  ///< its size before escaping
  bool writing_ = false;
  bool stop_ = false;
  int problem_ = 0;
  std::thread thread_;  ///< started by the second flush: a short output needs none
  bool threaded_ = false;
};

/// Whether standard output is a regular file.
[[nodiscard]] bool stdout_is_file();

/// `text` with control bytes (but line end and tab) and bytes that are not UTF-8 as \xNN.
[[nodiscard]] std::string escape_for_terminal(std::string_view text);

}  // namespace spool
