#include "store/catalogue.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "io/atomic_file.h"

namespace spool {

namespace {

constexpr const char* kCatalogueFile = "spool.topics";
constexpr std::string_view kFirstLine = "spool topics ";
constexpr int kVersion = 1;

std::string encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (u <= ' ' || c == '%' || u == 0x7f) {
      out += fmt::format("%{:02x}", u);
    } else {
      out += c;
    }
  }
  return out;
}

bool decode(std::string_view text, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned value = 0;
    if (i + 2 >= text.size()) return false;
    const char* at = text.data() + i + 1;
    if (std::from_chars(at, at + 2, value, 16).ptr != at + 2) return false;
    out += static_cast<char>(value);
    i += 2;
  }
  return true;
}

std::string_view next_field(std::string_view& line) {
  const std::size_t end = line.find(' ');
  const std::string_view field = line.substr(0, end);
  line = end == std::string_view::npos ? std::string_view() : line.substr(end + 1);
  return field;
}

template <class T>
bool number(std::string_view text, T& out) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  return problem == std::errc() && end == text.data() + text.size();
}

/// What stands behind `topic`.
bool parse_topic(std::string_view line, CatalogueEntry& out) {
  out.name = next_field(line);
  const auto id = Uuid::parse(next_field(line));
  std::int64_t created = 0;
  if (out.name.empty() || !id || !number(next_field(line), out.partitions) || out.partitions < 1 ||
      !number(next_field(line), created))
    return false;
  out.id = *id;
  out.created = TimestampMs(created);
  const std::string_view offsets = next_field(line);
  if (offsets != "dense" && offsets != "sparse") return false;
  out.dense = offsets == "dense";
  std::string value;
  while (!line.empty()) {
    const std::string_view config = next_field(line);
    const std::size_t equals = config.find('=');
    if (equals == std::string_view::npos || !decode(config.substr(equals + 1), value)) return false;
    out.config.keep(config.substr(0, equals), value);
  }
  return true;
}

/// What stands behind `deleted`.
bool parse_leaving(std::string_view line, LeavingTopic& out) {
  out.name = next_field(line);
  const auto id = Uuid::parse(next_field(line));
  if (out.name.empty() || !id || !number(next_field(line), out.partitions) || out.partitions < 1)
    return false;
  out.id = *id;
  return line.empty();
}

bool parse_line(std::string_view line, Catalogue& out) {
  const std::string_view what = next_field(line);
  if (what == "topic") return parse_topic(line, out.topics.emplace_back());
  if (what == "deleted") return parse_leaving(line, out.leaving.emplace_back());
  return false;
}

}  // namespace

Result<Catalogue> parse_catalogue(std::string_view text, const std::string& path) {
  int version = 0;
  const std::size_t first_end = text.find('\n');
  if (!text.starts_with(kFirstLine) || first_end == std::string_view::npos ||
      !number(text.substr(kFirstLine.size(), first_end - kFirstLine.size()), version))
    return fail(Errc::kCorrupt, "'" + path + "' is not a catalogue of topics");
  // Before the checksum: a newer version may have another one.
  if (version > kVersion)
    return fail(Errc::kUnsupported,
                fmt::format("'{}' has version {}, and this spool knows up to {}: use a newer spool",
                            path, version, kVersion));
  TRY_ASSIGN(std::string_view body, without_checksum(text, path));
  body = body.substr(first_end + 1);
  Catalogue out;
  for (std::size_t line = 2; !body.empty(); ++line) {
    const std::size_t end = body.find('\n');
    if (!parse_line(body.substr(0, end), out))
      return fail(Errc::kCorrupt, fmt::format("'{}' is malformed in line {}", path, line));
    body = end == std::string_view::npos ? std::string_view() : body.substr(end + 1);
  }
  return out;
}

std::string format_catalogue(const Catalogue& catalogue) {
  std::string body = fmt::format("{}{}\n", kFirstLine, kVersion);
  for (const CatalogueEntry& t : catalogue.topics) {
    body += fmt::format("topic {} {} {} {} {}", t.name, t.id.text(), t.partitions,
                        t.created.value(), t.dense ? "dense" : "sparse");
    for (const auto& [name, value] : t.config.values())
      body += fmt::format(" {}={}", name, encode(value));
    body += '\n';
  }
  for (const LeavingTopic& t : catalogue.leaving)
    body += fmt::format("deleted {} {} {}\n", t.name, t.id.text(), t.partitions);
  return with_checksum(std::move(body));
}

CataloguePlace find_entry(const Catalogue& catalogue, const std::string& name) {
  const auto& topics = catalogue.topics;
  const auto at =
      std::lower_bound(topics.begin(), topics.end(), name,
                       [](const CatalogueEntry& e, const std::string& n) { return e.name < n; });
  return {static_cast<std::size_t>(at - topics.begin()), at != topics.end() && at->name == name};
}

Result<Catalogue> read_catalogue(Fs& fs, const std::string& root) {
  const std::string path = join_path(root, kCatalogueFile);
  const auto text = read_file(fs, path);
  if (!text && text.error().code == Errc::kNotFound) return Catalogue();
  if (!text) return fail(text.error());
  return parse_catalogue(*text, path);
}

Result<void> write_catalogue(Fs& fs, const std::string& root, const Catalogue& catalogue,
                             std::uint32_t mode) {
  return replace_file(fs, join_path(root, kCatalogueFile), format_catalogue(catalogue), mode,
                      Durability::kNamed);
}

}  // namespace spool
