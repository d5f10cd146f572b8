#include "dump_out.h"

#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "context.h"
#include "json_record.h"

namespace spool {

namespace {

constexpr std::size_t kFlushBytes = std::size_t{64} << 10;
constexpr std::size_t kKeepBytes = std::size_t{1} << 20;

/// Control bytes could drive the terminal.
void append_safe(std::string_view text, std::string& out) {
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (u < ' ' || u == 0x7f) {
      out += fmt::format("\\x{:02x}", u);
    } else {
      out += c;
    }
  }
}

std::string value_text(const DumpValue& value) {
  if (const auto* n = std::get_if<std::int64_t>(&value)) return std::to_string(*n);
  if (const auto* b = std::get_if<bool>(&value)) return std::string(*b ? "true" : "false");
  if (const auto* raw = std::get_if<RawValue>(&value)) return raw->text;
  if (const auto* r = std::get_if<RecordBytes>(&value)) return std::string(r->bytes);
  return std::get<std::string>(value);
}

void value_json(const DumpValue& value, std::string& out) {
  if (const auto* s = std::get_if<std::string>(&value)) {
    append_json_bytes(*s, out);
  } else if (const auto* raw = std::get_if<RawValue>(&value)) {
    out += raw->json;
  } else if (const auto* r = std::get_if<RecordBytes>(&value)) {
    // At once, and as base64 at most: growing in steps takes three times the memory.
    out.reserve(out.size() + r->bytes.size() / 3 * 4 + kFlushBytes);
    append_json_bytes(r->bytes, out);
  } else {
    out += value_text(value);
  }
}

template <class T, class Append>
void list_json(const std::vector<T>& list, const Append& append, std::string& out) {
  out += '[';
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += ',';
    append(list[i]);
  }
  out += ']';
}

void known_json(const KnownValue& value, std::string& out) {
  if (const auto* n = std::get_if<std::int64_t>(&value)) {
    out += std::to_string(*n);
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    append_json_bytes(*s, out);
  } else if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&value)) {
    list_json(*numbers, [&](std::int64_t each) { out += std::to_string(each); }, out);
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    list_json(*texts, [&](const std::string& each) { append_json_bytes(each, out); }, out);
  } else {
    out += "null";
  }
}

}  // namespace

RawValue optional_long(std::int64_t value, bool there) {
  if (!there) return {"null", "OptionalLong.empty"};
  return {std::to_string(value), fmt::format("OptionalLong[{}]", value)};
}

RawValue known_value(const KnownFields& fields) {
  std::string out = "{";
  for (const auto& [name, value] : fields) {
    if (out.size() > 1) out += ',';
    append_json_bytes(name, out);
    out += ':';
    known_json(value, out);
  }
  out += '}';
  return {out, out};
}

DumpOut::DumpOut(TableFormat format) : format_(format), terminal_(::isatty(STDOUT_FILENO) == 1) {
  if (format_ == TableFormat::kJson) out_ += '[';
}

DumpOut::~DumpOut() = default;

void DumpOut::headline(const std::string& text) {
  if (format_ == TableFormat::kText) out_ += text + '\n';
}

void DumpOut::append_text(std::string_view text) {
  for (; text.size() > kFlushBytes; text.remove_prefix(kFlushBytes)) {
    append_text(text.substr(0, kFlushBytes));
    (void)flush();
  }
  if (terminal_) {
    append_safe(text, out_);
  } else {
    out_ += text;
  }
}

void DumpOut::text(const DumpItem& item) {
  out_ += item.text_head;
  bool first = item.text_head.empty();
  for (const auto& [name, value] : item.fields) {
    if (!std::exchange(first, false)) out_ += ' ';
    out_ += name;
    if (!name.empty()) out_ += ": ";
    if (const auto* r = std::get_if<RecordBytes>(&value)) {
      append_text(r->bytes);
    } else {
      append_text(value_text(value));
    }
  }
  out_ += '\n';
}

void DumpOut::json(const DumpItem& item) {
  if (format_ == TableFormat::kJson) out_ += first_ ? "\n " : ",\n ";
  first_ = false;
  out_ += "{\"file\":";
  append_json_bytes(file_, out_);
  out_ += ",\"kind\":";
  append_json_bytes(item.kind, out_);
  for (const auto& [name, value] : item.fields) {
    out_ += ',';
    append_json_bytes(name.empty() ? "text" : name, out_);
    out_ += ':';
    value_json(value, out_);
  }
  out_ += format_ == TableFormat::kJson ? "}" : "}\n";
}

void DumpOut::item(const DumpItem& item) {
  if (format_ == TableFormat::kText) {
    text(item);
  } else {
    json(item);
  }
  if (out_.size() >= kFlushBytes) (void)flush();
}

bool DumpOut::flush() {
  if (!failed_ && !write_all(STDOUT_FILENO, out_)) failed_ = true;
  out_.clear();
  if (out_.capacity() > kKeepBytes) out_.shrink_to_fit();
  return !failed_;
}

bool DumpOut::finish() {
  if (format_ == TableFormat::kJson) out_ += first_ ? "]\n" : "\n]\n";
  return flush();
}

}  // namespace spool
