#pragma once
/// Records as JSON, a line each: what consume -J writes and produce -J reads.
///
///   {"topic":"t","partition":0,"offset":7,"timestamp":1700000000000,"timestamp_type":"create",
///    "key":null,"value":"text","headers":[["name","value"],["binary",{"base64":"/w=="}]]}
///
/// (on one line, without blanks). Bytes that are valid UTF-8 are a string, others
/// {"base64":"..."}; null is null; every field is always there, in this order. timestamp_type is
/// "create" or "append".

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "parsed_record.h"
#include "record_context.h"

namespace spool {

/// Appends one record, without a line end. Any thread.
void append_json_record(const RecordContext& context, std::string& out);

/// Appends `bytes` as they stand in a JSON record: a string, or {"base64":"..."}.
void append_json_bytes(std::string_view bytes, std::string& out);

/// Reads lines of the form above and of kcat -J: `payload` for the value, `ts` for the timestamp,
/// headers as [name, value, name, value..]. A missing field is null; `offset` and fields not named
/// here are ignored. Not thread-safe; movable; keeps its buffers for the next line.
class JsonRecordParser {
 public:
  JsonRecordParser();
  ~JsonRecordParser();
  JsonRecordParser(JsonRecordParser&&) noexcept;
  JsonRecordParser& operator=(JsonRecordParser&&) noexcept;

  /// Reads one line, with or without its line end; `out` borrows from this parser until the next
  /// call. Errc::kInvalid: not JSON (with the byte, from 1, where it stops being so), a field of a
  /// wrong type or out of range, a field given twice or under both of its names.
  /// `padded`: kPadding bytes behind the line may be read, whatever they are; else a copy is
  /// parsed. What a long line needed is given back with the next one that is much shorter.
  [[nodiscard]] Result<> parse(std::string_view line, ParsedRecord& out, bool padded = false);
  static constexpr std::size_t kPadding = 64;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace spool
