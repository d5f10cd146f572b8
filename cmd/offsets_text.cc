#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <simdjson.h>

#include "offsets_file.h"
#include "reset_plan.h"

namespace spool {

namespace {

namespace dom = simdjson::dom;

struct Line {
  std::string group;
  std::string topic;
  std::int64_t partition = -1;
  std::int64_t offset = -1;
};

bool put(const Line& line, FileOffsets& out) {
  if (!check_topic_name(line.topic) || line.partition < 0 ||
      line.partition > std::numeric_limits<std::int32_t>::max() || line.offset < 0)
    return false;
  out[line.group][{line.topic, PartitionId(static_cast<std::int32_t>(line.partition))}] =
      Offset(line.offset);
  return true;
}

/// Fields of a line of CSV; false when a quote does not end.
bool split_csv(std::string_view line, std::vector<std::string>& out) {
  out.clear();
  for (std::size_t i = 0;;) {
    std::string field;
    if (i < line.size() && line[i] == '"') {
      for (++i;; ++i) {
        if (i >= line.size()) return false;
        if (line[i] == '"' && (i + 1 >= line.size() || line[i + 1] != '"')) break;
        if (line[i] == '"') ++i;
        field += line[i];
      }
      ++i;
    } else {
      const std::size_t end = std::min(line.find(',', i), line.size());
      field = line.substr(i, end - i);
      i = end;
    }
    out.push_back(std::move(field));
    if (i >= line.size()) return true;
    if (line[i] != ',') return false;
    ++i;
  }
}

bool number(const std::string& text, std::int64_t& out) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  return problem == std::errc() && end == text.data() + text.size();
}

/// Where the columns are: by a line of names, else TOPIC,PARTITION,OFFSET behind a GROUP or not.
struct Columns {
  std::optional<std::size_t> group, topic, partition, offset;
  std::size_t count = 0;
};

std::string plain_name(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == '-' ? '_' : c;
  });
  return name;
}

/// The names that the listings of groups and reset-offsets have for the offset that counts.
bool is_offset_name(const std::string& name) {
  return name == "offset" || name == "new" || name == "new_offset" || name == "current_offset";
}

std::optional<Columns> named_columns(const std::vector<std::string>& fields) {
  Columns out;
  out.count = fields.size();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string name = plain_name(fields[i]);
    if (name == "group") out.group = i;
    if (name == "topic") out.topic = i;
    if (name == "partition") out.partition = i;
    if (is_offset_name(name)) out.offset = i;
  }
  if (!out.topic || !out.partition || !out.offset) return std::nullopt;
  return out;
}

tl::unexpected<Error> bad_line(const std::string& name, int line) {
  return fail(Errc::kInvalid, fmt::format("{}, line {}: neither TOPIC,PARTITION,OFFSET (a group "
                                          "may stand before) nor TOPIC PARTITION OFFSET",
                                          name, line));
}

Result<FileOffsets> parse_lines(std::string_view text, const std::string& name) {
  FileOffsets out;
  std::optional<Columns> columns;
  std::vector<std::string> fields;
  bool first = true;
  for (int number_of_line = 1; !text.empty(); ++number_of_line) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    if (line.find(',') == std::string_view::npos) {
      const auto parsed = parse_offset_line(line);
      if (!parsed) return bad_line(name, number_of_line);
      out[""][parsed->first] = parsed->second;
      continue;
    }
    if (!split_csv(line, fields)) return bad_line(name, number_of_line);
    if (std::exchange(first, false)) {
      columns = named_columns(fields);
      if (columns) continue;
    }
    if (!columns && (fields.size() == 3 || fields.size() == 4)) {
      const std::size_t at = fields.size() - 3;
      columns = Columns{at == 1 ? std::optional<std::size_t>(0) : std::nullopt, at, at + 1, at + 2,
                        fields.size()};
    }
    if (!columns || fields.size() != columns->count) return bad_line(name, number_of_line);
    Line one;
    if (columns->group) one.group = fields[*columns->group];
    one.topic = fields[*columns->topic];
    if (fields[*columns->offset].empty()) continue;  // no offset: nothing to set
    if (!number(fields[*columns->partition], one.partition) ||
        !number(fields[*columns->offset], one.offset) || !put(one, out))
      return bad_line(name, number_of_line);
  }
  return out;
}

/// An object with topic, partition and offset; false when it has not these.
bool take_object(const dom::element& element, FileOffsets& out) {
  dom::object object;
  if (element.get(object) != simdjson::SUCCESS) return false;
  Line one;
  bool offset = false;
  for (const auto [key, value] : object) {
    const std::string name = plain_name(std::string(key));
    std::string_view text;
    std::int64_t n = 0;
    if (name == "group" && value.get(text) == simdjson::SUCCESS) one.group = text;
    if (name == "topic" && value.get(text) == simdjson::SUCCESS) one.topic = text;
    if (name == "partition" && value.get(n) == simdjson::SUCCESS) one.partition = n;
    if (!is_offset_name(name)) continue;
    if (value.is_null()) return true;  // no offset: nothing to set
    offset = value.get(n) == simdjson::SUCCESS;
    one.offset = n;
  }
  return offset && put(one, out);
}

Result<FileOffsets> parse_json(std::string_view text, const std::string& name) {
  FileOffsets out;
  dom::parser parser;
  dom::document_stream documents;
  const simdjson::padded_string padded(text);
  const auto bad = [&](std::size_t at) {
    return fail(
        Errc::kInvalid,
        fmt::format("{}, byte {}: no JSON object with topic, partition and offset", name, at));
  };
  if (parser.parse_many(padded, std::max<std::size_t>(text.size(), 64) + 64).get(documents) !=
      simdjson::SUCCESS)
    return bad(0);
  for (auto it = documents.begin(); it != documents.end(); ++it) {
    dom::element root;
    if ((*it).get(root) != simdjson::SUCCESS) return bad(it.current_index());
    dom::element inner;
    dom::array list;
    if (root["partitions"].get(inner) == simdjson::SUCCESS) root = inner;
    if (root.get(list) != simdjson::SUCCESS) {
      if (!take_object(root, out)) return bad(it.current_index());
      continue;
    }
    for (const dom::element element : list)
      if (!take_object(element, out)) return bad(it.current_index());
  }
  return out;
}

}  // namespace

Result<FileOffsets> parse_offsets_text(std::string_view text, const std::string& name) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && (text[first] == '[' || text[first] == '{'))
    return parse_json(text, name);
  return parse_lines(text, name);
}

}  // namespace spool
