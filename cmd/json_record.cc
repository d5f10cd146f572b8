#include "json_record.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>

#include <fmt/format.h>
#include <simdjson.h>

#include "encoding.h"
#include "json_check.h"
#include "utf8.h"

namespace spool {
namespace {

namespace dom = simdjson::dom;
using simdjson::dom::element_type;

/// For each byte: '\0' as it is, 'u' as \u00XX, else the letter behind the backslash.
constexpr std::array<char, 256> kEscapes = [] {
  std::array<char, 256> table{};
  for (std::size_t c = 0; c < 0x20; ++c)
    table[c] = 'u';
  table['\b'] = 'b';
  table['\f'] = 'f';
  table['\n'] = 'n';
  table['\r'] = 'r';
  table['\t'] = 't';
  table['"'] = '"';
  table['\\'] = '\\';
  return table;
}();

char escape_of(char c) {
  return kEscapes[static_cast<unsigned char>(c)];
}

constexpr std::uint64_t repeated(std::uint64_t byte) {
  return byte * 0x0101010101010101U;
}

/// True when none of the eight bytes needs an escape. Exact for bytes below 0x80; for others the
/// high bit is masked off first, so they never raise an alarm.
bool eight_are_plain(const char* p) {
  std::uint64_t word = 0;
  std::memcpy(&word, p, sizeof word);
  constexpr std::uint64_t kHigh = repeated(0x80);
  const auto zero_bytes = [](std::uint64_t v) { return (v - repeated(0x01)) & ~v & kHigh; };
  const std::uint64_t control = (word - repeated(0x20)) & ~word & kHigh;
  return (control | zero_bytes(word ^ repeated('"')) | zero_bytes(word ^ repeated('\\'))) == 0;
}

void append_json_text(std::string_view text, std::string& out) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  out += '"';
  std::size_t run = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (i + 8 <= text.size() && eight_are_plain(text.data() + i)) {
      i += 8;
      continue;
    }
    const char escape = escape_of(text[i]);
    if (escape != '\0') {
      out.append(text.data() + run, i - run);
      out += '\\';
      out += escape;
      if (escape == 'u') {
        const auto byte = static_cast<unsigned char>(text[i]);
        out += "00";
        out += kHexDigits[byte >> 4];
        out += kHexDigits[byte & 0xf];
      }
      run = i + 1;
    }
    ++i;
  }
  out.append(text.data() + run, text.size() - run);
  out += '"';
}

void append_optional(const std::optional<std::string_view>& bytes, std::string& out) {
  if (bytes)
    append_json_bytes(*bytes, out);
  else
    out += "null";
}

void append_integer(std::int64_t n, std::string& out) {
  std::array<char, 24> digits;
  const std::to_chars_result end = std::to_chars(digits.data(), digits.data() + digits.size(), n);
  out.append(digits.data(), end.ptr);
}

}  // namespace

void append_json_bytes(std::string_view bytes, std::string& out) {
  if (is_utf8(bytes)) return append_json_text(bytes, out);
  out += "{\"base64\":\"";
  append_base64(bytes, Padding::kPadded, out);
  out += "\"}";
}

void append_json_record(const RecordContext& context, std::string& out) {
  const RecordView& record = *context.record;
  out += "{\"topic\":";
  append_json_bytes(context.topic, out);
  out += ",\"partition\":";
  append_integer(context.partition, out);
  out += ",\"offset\":";
  append_integer(record.offset.value(), out);
  out += ",\"timestamp\":";
  append_integer(record.timestamp.value(), out);
  out += context.append_time() ? ",\"timestamp_type\":\"append\",\"key\":"
                               : ",\"timestamp_type\":\"create\",\"key\":";
  append_optional(record.key, out);
  out += ",\"value\":";
  append_optional(record.value, out);
  out += ",\"headers\":[";
  const char* separator = "[";
  for (const HeaderView& header : *record.headers) {
    out += separator;
    separator = ",[";
    append_json_bytes(header.name, out);
    out += ',';
    append_optional(header.value, out);
    out += ']';
  }
  out += "]}";
}

namespace {

constexpr std::size_t kKeepBytes = std::size_t{1} << 20;

}  // namespace

struct JsonRecordParser::Impl {
  dom::parser parser;
  std::deque<std::string> decoded;  ///< a deque: growing moves no string that is lent out
  std::size_t decoded_used = 0;

  /// Makes ready for a line of so many bytes.
  void fit(std::size_t bytes);
  [[nodiscard]] Result<std::optional<std::string_view>> bytes(dom::element in,
                                                              std::string_view field);
  [[nodiscard]] Result<> field(std::string_view name, dom::element in, ParsedRecord& out);
  [[nodiscard]] Result<> headers(dom::element in, std::string_view field, ParsedRecord& out);
  [[nodiscard]] Result<> header(dom::element name, dom::element value, std::string_view field,
                                ParsedRecord& out);
};

namespace {

tl::unexpected<Error> bad_field(std::string_view field, std::string_view expected) {
  return fail(Errc::kInvalid, fmt::format("JSON field '{}' must be {}", field, expected));
}

/// An integer from `least` to `most`, or nullopt for null.
Result<std::optional<std::int64_t>> integer(dom::element in, std::string_view field,
                                            std::int64_t least, std::int64_t most) {
  if (in.is_null()) return std::nullopt;
  std::int64_t n = 0;
  if (in.get(n) != simdjson::SUCCESS || n < least || n > most)
    return bad_field(field, fmt::format("null or an integer from {} to {}", least, most));
  return n;
}

tl::unexpected<Error> lone_surrogate(std::size_t at) {
  return fail(Errc::kInvalid,
              fmt::format("not a JSON record: half of a surrogate pair at byte {}", at + 1));
}

/// simdjson says what, json_error_position where.
tl::unexpected<Error> not_json(std::string_view line, simdjson::error_code code) {
  if (line.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return fail(Errc::kInvalid, "an empty line is not a JSON record");
  const std::optional<std::size_t> at = json_error_position(line);
  if (!at && code == simdjson::NUMBER_ERROR)
    return fail(Errc::kInvalid, "not a JSON record: a number is out of range");
  if (!at)
    return fail(Errc::kInvalid,
                fmt::format("not a JSON record: {}", simdjson::error_message(code)));
  if (*at >= line.size()) return fail(Errc::kInvalid, "not a JSON record: the line ends too early");
  if (at == lone_surrogate_position(line)) return lone_surrogate(*at);
  return fail(Errc::kInvalid, fmt::format("not a JSON record: error at byte {}", *at + 1));
}

/// One name for what may stand under two.
std::string_view canonical(std::string_view name) {
  if (name == "payload") return "value";
  if (name == "ts") return "timestamp";
  return name;
}

/// The bit of a field that may come once only; 0 for fields that are ignored.
unsigned bit_of(std::string_view canonical_name) {
  static constexpr std::array<std::string_view, 6> kFields{"topic", "partition", "timestamp",
                                                           "key",   "value",     "headers"};
  for (std::size_t i = 0; i < kFields.size(); ++i)
    if (kFields[i] == canonical_name) return 1U << i;
  return 0;
}

}  // namespace

JsonRecordParser::JsonRecordParser() : impl_(std::make_unique<Impl>()) {}
JsonRecordParser::~JsonRecordParser() = default;
JsonRecordParser::JsonRecordParser(JsonRecordParser&&) noexcept = default;
JsonRecordParser& JsonRecordParser::operator=(JsonRecordParser&&) noexcept = default;

static_assert(JsonRecordParser::kPadding >= simdjson::SIMDJSON_PADDING);

void JsonRecordParser::Impl::fit(std::size_t bytes) {
  decoded_used = 0;
  if (parser.capacity() > kKeepBytes && bytes < parser.capacity() / 4) {
    parser = dom::parser();
    decoded.clear();
  }
  // Beyond need, since each growth is a new allocation of all its parts.
  if (bytes <= parser.capacity()) return;
  [[maybe_unused]] const auto tried = parser.allocate(bytes + bytes / 4 + 1024);  // parse will say
}

Result<> JsonRecordParser::parse(std::string_view line, ParsedRecord& out, bool padded) {
  out.clear();
  impl_->fit(line.size());
  dom::element root;
  if (const simdjson::error_code code =
          impl_->parser.parse(line.data(), line.size(), !padded).get(root);
      code != simdjson::SUCCESS)
    return not_json(line, code);
  // simdjson takes some halves of surrogate pairs, which no UTF-8 can hold.
  if (const std::optional<std::size_t> at = lone_surrogate_position(line))
    return lone_surrogate(*at);
  dom::object object;
  if (root.get(object) != simdjson::SUCCESS)
    return fail(Errc::kInvalid, "not a JSON record: the line is JSON, but no object");
  unsigned seen = 0;
  for (const dom::key_value_pair member : object) {
    const std::string_view name = canonical(member.key);
    const unsigned bit = bit_of(name);
    if (bit == 0) continue;
    if ((seen & bit) != 0)
      return fail(Errc::kInvalid,
                  fmt::format("JSON field '{}' is given twice{}", member.key,
                              name == "value"       ? " ('payload' is another name of 'value')"
                              : name == "timestamp" ? " ('ts' is another name of 'timestamp')"
                                                    : ""));
    seen |= bit;
    TRY(impl_->field(member.key, member.value, out));
  }
  return {};
}

Result<> JsonRecordParser::Impl::field(std::string_view name, dom::element in, ParsedRecord& out) {
  const std::string_view meaning = canonical(name);
  if (meaning == "topic") {
    std::string_view topic;
    if (!in.is_null() && in.get(topic) != simdjson::SUCCESS)
      return bad_field(name, "null or a string");
    if (!in.is_null()) out.topic = topic;
  } else if (meaning == "partition") {
    TRY_ASSIGN(const std::optional<std::int64_t> n,
               integer(in, name, 0, std::numeric_limits<std::int32_t>::max()));
    if (n) out.partition = PartitionId(static_cast<std::int32_t>(*n));
  } else if (meaning == "timestamp") {
    TRY_ASSIGN(const std::optional<std::int64_t> n,
               integer(in, name, -1, std::numeric_limits<std::int64_t>::max()));
    if (n) out.timestamp = TimestampMs(*n);
  } else if (meaning == "key") {
    TRY_ASSIGN(out.key, bytes(in, name));
  } else if (meaning == "value") {
    TRY_ASSIGN(out.value, bytes(in, name));
    out.value_given = true;
  } else {
    return headers(in, name, out);
  }
  return {};
}

Result<std::optional<std::string_view>> JsonRecordParser::Impl::bytes(dom::element in,
                                                                      std::string_view field) {
  if (in.is_null()) return std::nullopt;
  std::string_view text;
  if (in.get(text) == simdjson::SUCCESS) return text;
  dom::object object;
  const bool wrapped = in.get(object) == simdjson::SUCCESS && object.size() == 1 &&
                       object.at_key("base64").get(text) == simdjson::SUCCESS;
  if (!wrapped) return bad_field(field, "null, a string or {\"base64\": \"..\"}");
  if (decoded_used == decoded.size()) decoded.emplace_back();
  std::string& out = decoded[decoded_used++];
  out.clear();
  if (!decode_base64(text, Padding::kPadded, out))
    return fail(Errc::kInvalid, fmt::format("JSON field '{}' holds what is not base64", field));
  return out;
}

Result<> JsonRecordParser::Impl::headers(dom::element in, std::string_view field,
                                         ParsedRecord& out) {
  static constexpr std::string_view kExpected =
      "null, an array of [name, value] pairs or a flat array of names and values";
  if (in.is_null()) return {};
  dom::array items;
  if (in.get(items) != simdjson::SUCCESS) return bad_field(field, kExpected);
  const bool pairs = items.begin() != items.end() && (*items.begin()).is_array();
  std::optional<dom::element> flat_name;
  for (const dom::element item : items) {
    dom::array pair;
    if (item.get(pair) == simdjson::SUCCESS) {
      if (!pairs || pair.size() != 2) return bad_field(field, kExpected);
      TRY(header(pair.at(0).value_unsafe(), pair.at(1).value_unsafe(), field, out));
    } else if (pairs) {
      return bad_field(field, kExpected);
    } else if (!flat_name) {
      flat_name = item;
    } else {
      TRY(header(*flat_name, item, field, out));
      flat_name.reset();
    }
  }
  if (flat_name) return bad_field(field, "pairs: a name without a value is at its end");
  return {};
}

Result<> JsonRecordParser::Impl::header(dom::element name, dom::element value,
                                        std::string_view field, ParsedRecord& out) {
  TRY_ASSIGN(const std::optional<std::string_view> name_bytes, bytes(name, field));
  if (!name_bytes) return bad_field(field, "free of names that are null");
  TRY_ASSIGN(const std::optional<std::string_view> value_bytes, bytes(value, field));
  out.headers.push_back(HeaderView{*name_bytes, value_bytes});
  return {};
}

}  // namespace spool
