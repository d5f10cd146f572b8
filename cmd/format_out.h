#pragma once
/// The format string of consume: compiled once, then applied to each record.
///
///   %t %p %o %e          topic, partition, offset, leader epoch
///   %k %v %s             key, value, value again (kcat's name)
///   %K %V %S %H          lengths of key and value (-1 = null), count of headers
///   %R                   length of the value as four bytes, big endian (-1 = null)
///   %h  %h{...}          headers: `n=v,n=v`; or a format of %k %v %K %V, applied to each
///   %d %T                timestamp, milliseconds unless a modifier says otherwise
///   %x %y                producer id and epoch
///   %a{...}              attribute of the batch: compression (a name), timestamp-type,
///                        transactional-bit, control-bit; `;FORMAT` behind it prints a number so
///   %[ %| %]             start of the log, last stable offset, high watermark
///   %i                   number of the record, from 1
/// Numbers take {ascii number hex hex4..hex64 byte big8..big64 little8..little64 bool}, texts {hex
/// base64 base64raw unpack[...]}, timestamps numbers' and {iso}, {strftime[...]}: always UTC.
/// unpack: `<` little endian (the default), `>` big, b B h H i I q Q integers of 1 2 4 8 bytes
/// (capital: unsigned), c . one character, s the rest, $ nothing may be left, x nothing. Values
/// come without a separator; where bytes are missing or left, `%!(...)` says so in the output.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format_tokens.h"
#include "record_context.h"

namespace spool {

/// Immutable after compile: any number of threads may append at once.
class OutputFormat {
 public:
  /// `null_marker` stands for a null key, value or header value, whatever encoding the verb asks
  /// for. Errc::kUsage names the verb or the modifier and its position.
  [[nodiscard]] static Result<OutputFormat> compile(std::string_view format,
                                                    std::string_view null_marker);

  /// Appends one record. Allocates nothing but what `out` needs to grow. A record without a
  /// timestamp prints -1, as {iso} and {strftime[...]} too.
  void append(const RecordContext& context, std::string& out) const;

 private:
  enum class Kind : std::uint8_t {
    kLiteral,
    kTopic,
    kKey,
    kValue,
    kHeaderList,
    kHeaders,
    kKeyBytes,
    kValueBytes,
    kHeaderCount,
    kPartition,
    kOffset,
    kLeaderEpoch,
    kTimestamp,
    kTimestampIso,
    kTimestampText,
    kTimestampSeconds,
    kProducerId,
    kProducerEpoch,
    kCompressionName,
    kCompression,
    kTimestampType,
    kTransactionalBit,
    kControlBit,
    kLogStart,
    kLastStable,
    kHighWatermark,
    kNumber,
  };
  enum class TextFormat : std::uint8_t { kPlain, kHex, kBase64, kBase64Raw, kUnpack };
  struct Op {
    Kind kind = Kind::kLiteral;
    NumberFormat number = NumberFormat::kAscii;
    TextFormat encoding = TextFormat::kPlain;
    std::string text;  ///< literal, strftime or unpack format
    std::vector<Op> inner;
  };

  [[nodiscard]] static Result<std::vector<Op>> compile_ops(std::string_view format,
                                                           std::size_t first_position,
                                                           bool in_header);
  [[nodiscard]] static Result<> compile_verb(const FormatToken& token, std::vector<Op>& out);
  [[nodiscard]] static Result<> compile_header_verb(const FormatToken& token, std::vector<Op>& out);
  [[nodiscard]] static Result<> compile_text(const FormatToken& token, Kind kind,
                                             std::vector<Op>& out);
  [[nodiscard]] static Result<> compile_number(const FormatToken& token, Kind kind,
                                               std::vector<Op>& out);
  [[nodiscard]] static Result<> compile_timestamp(const FormatToken& token, std::vector<Op>& out);
  [[nodiscard]] static Result<> compile_strftime(const FormatToken& token, std::vector<Op>& out);
  [[nodiscard]] static Result<> compile_attribute(const FormatToken& token, std::vector<Op>& out);
  [[nodiscard]] static Result<> compile_headers(const FormatToken& token, std::vector<Op>& out);

  void append_op(const Op& op, const RecordContext& context, std::string& out) const;
  void append_text(const Op& op, std::optional<std::string_view> text, std::string& out) const;
  void append_header(const std::vector<Op>& ops, const HeaderView& header, std::string& out) const;
  void append_header_list(const RecordView& record, std::string& out) const;

  std::vector<Op> ops_;
  std::string null_marker_;
};

}  // namespace spool
