#pragma once
/// What an ordinary consumer read from the broker that wrote the golden data; see tests/golden.

#include <charconv>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "encoding.h"
#include "support/log_fixture.h"

namespace spool::test {

struct GoldenRun {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::vector<Seen> records;
};

/// Topic, partition, whether read_committed.
using GoldenKey = std::tuple<std::string, int, bool>;

/// Takes apart one line; every line has the same fields in the same order, so this is no parser of
/// JSON in general.
class GoldenLine {
 public:
  explicit GoldenLine(std::string_view text) : text_(text) {}
  [[nodiscard]] bool has(std::string_view name) const {
    return text_.find(label(name)) != std::string_view::npos;
  }
  [[nodiscard]] std::string_view rest(std::string_view name) const {
    const std::size_t at = text_.find(label(name));
    if (at == std::string_view::npos) throw std::runtime_error("no field " + std::string(name));
    return text_.substr(at + label(name).size());
  }
  [[nodiscard]] std::int64_t number(std::string_view name) const {
    const std::string_view from = rest(name);
    std::int64_t out = 0;
    (void)std::from_chars(from.data(), from.data() + from.size(), out);
    return out;
  }
  [[nodiscard]] std::string string(std::string_view name) const {
    std::string_view from = rest(name);
    return take_string(from).value();
  }
  [[nodiscard]] std::optional<std::string> bytes(std::string_view name) const {
    std::string_view from = rest(name);
    return decoded(take_string(from));
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::optional<std::string>>> headers() const {
    std::vector<std::pair<std::string, std::optional<std::string>>> out;
    std::string_view from = rest("headers").substr(1);
    while (from.starts_with("[") || from.starts_with(", [")) {
      from.remove_prefix(from.find('[') + 1);
      std::string name = unescaped(take_string(from).value());
      from.remove_prefix(2);
      out.emplace_back(std::move(name), decoded(take_string(from)));
      from.remove_prefix(1);
    }
    return out;
  }

 private:
  static std::string label(std::string_view name) { return fmt::format("\"{}\": ", name); }
  /// A string in quotes, or null.
  static std::optional<std::string> take_string(std::string_view& from) {
    if (from.starts_with("null")) {
      from.remove_prefix(4);
      return std::nullopt;
    }
    const std::size_t end = from.find('"', 1);
    std::string out(from.substr(1, end - 1));
    from.remove_prefix(end + 1);
    return out;
  }
  static std::optional<std::string> decoded(const std::optional<std::string>& base64) {
    if (!base64) return std::nullopt;
    std::string out;
    if (!decode_base64(*base64, Padding::kPadded, out)) throw std::runtime_error("bad base64");
    return out;
  }
  /// \uXXXX below U+0800, which is all there is.
  static std::string unescaped(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\\') {
        out += text[i];
        continue;
      }
      unsigned code = 0;
      (void)std::from_chars(text.data() + i + 2, text.data() + i + 6, code, 16);
      out += static_cast<char>(0xc0U | (code >> 6));
      out += static_cast<char>(0x80U | (code & 0x3f));
      i += 5;
    }
    return out;
  }

  std::string_view text_;
};

inline std::string golden_data() {
  return std::string(SPOOL_GOLDEN_DIR) + "/data";
}

inline const std::map<GoldenKey, GoldenRun>& golden_runs() {
  static const auto runs = [] {
    std::map<GoldenKey, GoldenRun> out;
    std::ifstream in(std::string(SPOOL_GOLDEN_DIR) + "/expected.jsonl");
    for (std::string text; std::getline(in, text);) {
      const GoldenLine line(text);
      const GoldenKey key{line.string("topic"), static_cast<int>(line.number("partition")),
                          line.string("isolation") == "read_committed"};
      GoldenRun& run = out[key];
      if (line.has("start")) {
        run.start = line.number("start");
        run.end = line.number("end");
        continue;
      }
      Seen s;
      s.offset = line.number("offset");
      s.timestamp = line.number("timestamp");
      s.key = line.bytes("key");
      s.value = line.bytes("value");
      s.headers = line.headers();
      run.records.push_back(std::move(s));
    }
    return out;
  }();
  return runs;
}

}  // namespace spool::test
