#pragma once
/// What `topics dump` prints: one item after the other, as text in the manner of kafka-dump-log, or
/// as JSON with the same names.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "record/known_records.h"
#include "table.h"

namespace spool {

/// JSON as it stands, with its own form in text.
struct RawValue {
  std::string json;
  std::string text;
};
/// Bytes of a record, which may be many: not copied, borrowed until the item is printed.
struct RecordBytes {
  std::string_view bytes;
};
using DumpValue = std::variant<std::int64_t, bool, std::string, RawValue, RecordBytes>;

/// One batch, record, entry or line. `line` begins its text form; names and values follow.
struct DumpItem {
  std::string kind;  ///< "batch", "record", ...; JSON only
  std::string text_head;
  std::vector<std::pair<std::string, DumpValue>> fields;

  void add(std::string name, DumpValue value) {
    fields.emplace_back(std::move(name), std::move(value));
  }
};

/// Writes to stdout in pieces of 64 KiB. Not thread-safe.
class DumpOut {
 public:
  explicit DumpOut(TableFormat format);
  ~DumpOut();
  DumpOut(const DumpOut&) = delete;
  DumpOut& operator=(const DumpOut&) = delete;

  /// A line of text alone; JSON has the file's name in every item instead.
  void headline(const std::string& text);
  void file(const std::string& path) { file_ = path; }
  void item(const DumpItem& item);
  /// What is written so far is out before a message is said. False when stdout does not take it.
  [[nodiscard]] bool flush();
  [[nodiscard]] bool finish();
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  void text(const DumpItem& item);
  void append_text(std::string_view text);
  void json(const DumpItem& item);

  TableFormat format_;
  bool terminal_ = false;
  bool first_ = true;
  bool failed_ = false;
  std::string file_;
  std::string out_;
};

/// "OptionalLong.empty" or "OptionalLong[7]" in text, as Kafka's tool has it; null or 7 in JSON.
[[nodiscard]] RawValue optional_long(std::int64_t value, bool there);
/// A JSON object in both forms.
[[nodiscard]] RawValue known_value(const KnownFields& fields);

}  // namespace spool
