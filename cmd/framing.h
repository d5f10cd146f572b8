#pragma once
/// Cuts the input of produce into records: by delimiter, as a whole, by a format string, or as JSON
/// lines.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "format_in.h"
#include "json_record.h"
#include "parsed_record.h"

namespace spool {

struct FramingOptions {
  enum class Mode : std::uint8_t { kDelimiter, kWhole, kFormat, kJson };
  enum class OnBad : std::uint8_t { kStop, kSkip, kKeyless };
  Mode mode = Mode::kDelimiter;
  std::string delimiter = "\n";
  std::optional<std::string> key_delimiter;
  std::string format;
  std::optional<std::string> null_marker;
  bool tombstones = false;  ///< an empty value becomes null
  OnBad on_bad = OnBad::kStop;
  std::size_t record_bytes_max = std::size_t{64} << 20;
  bool padded = false;  ///< JsonRecordParser::kPadding bytes behind each buffer may be read
};

/// Not thread-safe.
class Framer {
 public:
  [[nodiscard]] static Result<Framer> make(FramingOptions options);

  enum class Got {
    kRecord,
    kSkipped,   ///< a record that does not fit was passed over
    kNeedMore,  ///< the buffer holds no whole record
    kEnd,       ///< `eof`, and nothing is left
  };
  struct Step {
    Got got = Got::kNeedMore;
    std::size_t consumed = 0;  ///< bytes at the front of the buffer that are done with
  };
  /// Looks at the front of `buffer`. `out` borrows from it until it changes or next() is called
  /// again. Errc::kInvalid and Errc::kTooLarge name the record; only where on_bad says stop, or
  /// there is no way on.
  [[nodiscard]] Result<Step> next(std::string_view buffer, bool eof, ParsedRecord& out);

  /// Tells that another file begins: numbers in messages start again.
  void begin_file(const std::string& name);
  [[nodiscard]] std::int64_t skipped() const { return skipped_; }
  /// The record of the last next(), from 1, as messages name it.
  [[nodiscard]] std::string place() const;
  /// An error of the caller's about that record: counted and passed over (success) where on_bad
  /// says skip.
  [[nodiscard]] Result<void> bad(Errc code, const std::string& what);
  /// Lines that the caller has cut out of the buffer itself.
  void count_lines(std::int64_t n) { number_ += n; }

 private:
  explicit Framer(FramingOptions options) : options_(std::move(options)) {}
  [[nodiscard]] Result<Step> next_delimited(std::string_view buffer, bool eof, ParsedRecord& out);
  [[nodiscard]] Result<Step> next_whole(std::string_view buffer, bool eof, ParsedRecord& out);
  [[nodiscard]] Result<Step> next_formatted(std::string_view buffer, bool eof, ParsedRecord& out);
  [[nodiscard]] Result<Step> shape(std::string_view text, std::size_t consumed, ParsedRecord& out);
  [[nodiscard]] Result<Step> too_long(std::size_t bytes, std::string_view buffer, bool eof);
  [[nodiscard]] Result<Step> discard(std::string_view buffer, bool eof);
  void apply_nulls(ParsedRecord& out) const;

  FramingOptions options_;
  std::optional<InputParser> parser_;
  std::optional<JsonRecordParser> json_;
  std::string file_;
  std::int64_t number_ = 0;  ///< records met in this file
  std::int64_t skipped_ = 0;
  std::size_t searched_ = 0;  ///< of an unfinished record: no delimiter begins below this
  bool discarding_ = false;   ///< in a record that is too long
  bool whole_done_ = false;
};

}  // namespace spool
