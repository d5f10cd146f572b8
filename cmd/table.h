#pragma once
/// Rows of the listing commands, in the formats of --format.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace spool {

enum class TableFormat : std::uint8_t { kText, kJson, kJsonLines, kTsv, kCsv };

/// A cell: text, a number (bare in JSON), or nothing: null in JSON, `-` in text, empty in TSV and
/// CSV.
using Cell = std::variant<std::string, std::int64_t, std::monostate>;

struct Table {
  std::vector<std::string> columns;  ///< without blanks
  std::vector<std::vector<Cell>> rows;
};

/// "text", "json", "jsonl", "tsv" or "csv"; anything else is the caller's bug.
[[nodiscard]] TableFormat table_format(std::string_view name);

/// Text: aligned columns under a line of names. JSON: an array of objects, or an object a line. TSV
/// and CSV: a line of names first; CSV quotes as RFC 4180 says, TSV escapes tab, line end and
/// backslash.
[[nodiscard]] std::string format_table(const Table& table, TableFormat format);

}  // namespace spool
