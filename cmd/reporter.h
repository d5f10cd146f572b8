#pragma once
/// The lines of --report on stdout.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "batcher.h"
#include "format_out.h"

namespace spool {

/// on_stored() is for one thread; the rest for any.
class Reporter {
 public:
  /// Errc::kUsage for a format that does not compile.
  [[nodiscard]] static Result<std::unique_ptr<Reporter>> make(std::string format);
  /// As Batcher::Options::on_stored.
  void on_stored(const StoredRecord* stored);

  [[nodiscard]] bool needs_contents() const { return !simple_; }
  [[nodiscard]] bool failed() const { return problem_.load() != 0; }
  /// The errno of a failed write.
  [[nodiscard]] int problem() const { return problem_.load(); }
  /// Reports that were not, or not all of them, written.
  [[nodiscard]] std::int64_t lost() const { return lost_.load(); }

 private:
  void flush();

  std::optional<OutputFormat> format_;
  std::string out_;
  bool simple_ = true;
  std::int64_t number_ = 0;
  std::int64_t in_out_ = 0;  ///< reports in out_
  std::atomic<int> problem_{0};
  std::atomic<std::int64_t> lost_{0};
};

}  // namespace spool
