#include "table.h"

#include <algorithm>

#include "base/check.h"
#include "json_record.h"

namespace spool {

namespace {

std::string text_of(const Cell& cell) {
  if (const auto* n = std::get_if<std::int64_t>(&cell)) return std::to_string(*n);
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return {};
}
std::string shown(const Cell& cell) {
  return std::holds_alternative<std::monostate>(cell) ? "-" : text_of(cell);
}

std::string csv(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string tsv(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\t':
        out += "\\t";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string aligned(const Table& table) {
  std::vector<std::size_t> widths;
  for (const std::string& name : table.columns)
    widths.push_back(name.size());
  for (const auto& row : table.rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], shown(row[i]).size());
  std::string out;
  const auto line = [&](const auto& cells, const auto& text) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string cell = text(cells[i]);
      out += cell;
      if (i + 1 < cells.size()) out.append(widths[i] - cell.size() + 2, ' ');
    }
    out += '\n';
  };
  line(table.columns, [](const std::string& name) { return name; });
  for (const auto& row : table.rows)
    line(row, shown);
  return out;
}

std::string json_object(const Table& table, const std::vector<Cell>& row) {
  std::string out = "{";
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i > 0) out += ',';
    append_json_bytes(table.columns[i], out);
    out += ':';
    if (const auto* n = std::get_if<std::int64_t>(&row[i])) {
      out += std::to_string(*n);
    } else if (std::holds_alternative<std::monostate>(row[i])) {
      out += "null";
    } else {
      append_json_bytes(std::get<std::string>(row[i]), out);
    }
  }
  return out + '}';
}

std::string separated(const Table& table, char separator,
                      std::string (*quote)(const std::string&)) {
  std::string out;
  const auto line = [&](const auto& cells, const auto& text) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) out += separator;
      out += quote(text(cells[i]));
    }
    out += '\n';
  };
  line(table.columns, [](const std::string& name) { return name; });
  for (const auto& row : table.rows)
    line(row, text_of);
  return out;
}

}  // namespace

TableFormat table_format(std::string_view name) {
  if (name == "text") return TableFormat::kText;
  if (name == "json") return TableFormat::kJson;
  if (name == "jsonl") return TableFormat::kJsonLines;
  if (name == "tsv") return TableFormat::kTsv;
  CHECK(name == "csv");
  return TableFormat::kCsv;
}

std::string format_table(const Table& table, TableFormat format) {
  switch (format) {
    case TableFormat::kText:
      return aligned(table);
    case TableFormat::kTsv:
      return separated(table, '\t', tsv);
    case TableFormat::kCsv:
      return separated(table, ',', csv);
    case TableFormat::kJsonLines: {
      std::string out;
      for (const auto& row : table.rows)
        out += json_object(table, row) + '\n';
      return out;
    }
    case TableFormat::kJson:
      break;
  }
  std::string out = "[";
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    out += (i == 0 ? "\n " : ",\n ") + json_object(table, table.rows[i]);
  return out + (table.rows.empty() ? "]\n" : "\n]\n");
}

}  // namespace spool
