#pragma once
/// What consume prints of a record, and whether it prints it at all.

#include <memory>
#include <optional>
#include <regex.h>
#include <string>

#include "consume_options.h"
#include "format_out.h"
#include "record_context.h"

namespace spool {

/// Not thread-safe.
class Printer {
 public:
  /// Errc::kUsage for a format string or a regular expression that does not compile.
  [[nodiscard]] static Result<Printer> make(const ConsumeOptions& options);

  /// Whether the filters let it through.
  [[nodiscard]] bool wants(const RecordView& record) const;
  void print(const RecordContext& context, std::string& out) const;
  /// Whether a record is printed as something, its value as it stands, and something; and these
  /// two.
  [[nodiscard]] bool value_as_it_stands() const { return !json_ && !format_; }
  void print_before_value(const RecordContext& context, std::string& out) const;
  void print_after_value(std::string& out) const { out += delimiter_; }
  /// Whether records are printed as value and a one-byte delimiter, and nothing is filtered.
  [[nodiscard]] bool plain() const {
    return !json_ && !format_ && !filters_ && !key_delimiter_ && delimiter_.size() == 1;
  }
  /// print() for such. The value must have a byte behind it, as those of a block have: it is copied
  /// along, and replaced.
  void print_plain(const std::optional<std::string_view>& value, std::string& out) const {
    if (value) [[likely]] {
      out.append(value->data(), value->size() + 1);
      out.back() = delimiter_.front();
    } else {
      out.append(null_marker_).push_back(delimiter_.front());
    }
  }

 private:
  struct FreeRegex {
    void operator()(regex_t* r) const {
      ::regfree(r);
      delete r;
    }
  };
  std::string delimiter_;
  std::optional<std::string> key_delimiter_;
  std::string null_marker_;
  bool json_ = false;
  bool filters_ = false;
  std::optional<OutputFormat> format_;
  std::optional<std::string> key_glob_;
  std::vector<HeaderFilter> headers_;
  std::unique_ptr<regex_t, FreeRegex> grep_;
};

}  // namespace spool
