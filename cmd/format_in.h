#pragma once
/// The format string of produce: cuts records out of a growing buffer.
///
///   %t %k %v %s          topic, key, value, value again
///   %K %V %S             length of the key or value that follows, which is then exactly so many
///                        bytes as they stand in the input; -1 = null
///   %R                   as %V{big32}
///   %H %h{...}           count of headers, then a format of %k %v %K %V for each of them
///   %p %d %T             partition; timestamp in milliseconds, -1 = none
///   %o %e %x %y          a number that is read and dropped
/// Numbers take {ascii number hex hex4..hex64 byte big8..big64 little8..little64 bool}, and lengths
/// and counts {N}: the constant N, nothing is read. Texts take {hex base64 base64raw}, and {N}:
/// exactly N bytes. What has no length ends at the literal behind it, or at the end of the input
/// when nothing follows. Other literals must match byte for byte.
///
/// -1 is known in ascii, 32 and 64 bits; narrower fields are unsigned, so that 255 in a byte is a
/// length and not null. At the end of the input the literal that ends the format may be missing.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format_tokens.h"
#include "parsed_record.h"

namespace spool {

/// Most headers of one record that an input may announce.
inline constexpr std::int64_t kInputHeadersMax = 1'000'000;

struct InputStep {
  enum class Kind : std::uint8_t { kRecord, kNeedMore, kEnd };
  Kind kind = Kind::kEnd;
  std::size_t consumed = 0;  ///< kRecord: bytes to drop from the front of the buffer
  std::size_t needed = 0;    ///< kNeedMore: the buffer must hold at least so many bytes to go on
};

/// One input's parser. Not thread-safe; movable.
class InputParser {
 public:
  /// A key, value or header value that is found by a delimiter and equals `null_marker` (before
  /// hex or base64 is undone) is null. Errc::kUsage names the verb and its position.
  [[nodiscard]] static Result<InputParser> compile(
      std::string_view format, std::optional<std::string_view> null_marker = std::nullopt);

  /// Reads the record at the front of `buffer`. `out` borrows from the buffer and, where hex or
  /// base64 was undone, from this parser, until the next call.
  /// kNeedMore: call again with the same bytes and more behind them (the address may change), or
  /// with `eof`; nothing is scanned twice. kEnd: `eof`, and the buffer is empty. Errc::kInvalid
  /// says what did not fit and at which byte of the record; the caller adds which record. It does
  /// not know how to go on behind it.
  [[nodiscard]] Result<InputStep> next(std::string_view buffer, bool eof, ParsedRecord& out);

  /// The literal that ends the format, empty when there is none: where a caller that skips a bad
  /// record may go on. Borrowed from this parser.
  [[nodiscard]] std::string_view final_delimiter() const;

 private:
  enum class Kind : std::uint8_t { kLiteral, kText, kNumber, kHeaders };
  enum class Target : std::uint8_t {
    kNone,
    kTopic,
    kKey,
    kValue,
    kKeyBytes,
    kValueBytes,
    kHeaderCount,
    kPartition,
    kTimestamp
  };
  enum class Encoding : std::uint8_t { kPlain, kHex, kBase64, kBase64Raw };
  enum class Extent : std::uint8_t { kDelimited, kSized, kFixed, kToEnd };
  struct Op {
    Kind kind = Kind::kLiteral;
    Target target = Target::kNone;
    NumberFormat number = NumberFormat::kAscii;
    Encoding encoding = Encoding::kPlain;
    Extent extent = Extent::kDelimited;
    char verb = '\0';
    std::int64_t fixed = -1;  ///< kFixed: bytes; kNumber: the constant, when not negative
    std::string text;         ///< literal
    std::vector<Op> inner;    ///< kHeaders
    FormatToken token;        ///< where it stands, for errors of compile
  };
  struct Input;

  [[nodiscard]] static Result<std::vector<Op>> compile_ops(std::string_view format,
                                                           std::size_t first_position,
                                                           bool in_header);
  [[nodiscard]] static Result<Op> compile_verb(FormatToken token, bool in_header);
  [[nodiscard]] static Result<Op> compile_number(FormatToken token, Target target);
  [[nodiscard]] static Result<Op> compile_text(FormatToken token, Target target);
  [[nodiscard]] static Result<Op> compile_headers(FormatToken token);
  [[nodiscard]] static bool reads_anything(const std::vector<Op>& ops);
  [[nodiscard]] static Result<> set_extents(std::vector<Op>& ops, bool in_header);

  /// These return false when more bytes are needed; `in.needed` then says how many.
  [[nodiscard]] Result<bool> read_ops(const std::vector<Op>& ops, bool in_header, Input& in);
  [[nodiscard]] Result<bool> read_literal(const Op& op, bool last, Input& in);
  [[nodiscard]] Result<bool> read_number(const Op& op, Input& in);
  [[nodiscard]] Result<bool> read_headers(const Op& op, Input& in);
  [[nodiscard]] Result<bool> read_text(const Op& op, const Op* delimiter, bool last, Input& in);
  [[nodiscard]] Result<bool> find_delimiter(const Op& op, const std::string& delimiter, bool last,
                                            Input& in, std::string_view& text);
  [[nodiscard]] Result<> decode(const Op& op, std::size_t at,
                                std::optional<std::string_view>& text);
  [[nodiscard]] static Result<> store_number(const Op& op, std::int64_t n, std::size_t at,
                                             Input& in);

  std::vector<Op> ops_;
  std::optional<std::string> null_marker_;
  std::deque<std::string> decoded_;  ///< a deque: growing moves no string that is lent out
  std::size_t decoded_used_ = 0;
  std::size_t searched_from_ = SIZE_MAX;  ///< where the unfinished search for a delimiter began
  std::size_t searched_to_ = 0;           ///< and how far it came
};

}  // namespace spool
