#include "printer.h"

#include <algorithm>
#include <array>
#include <fnmatch.h>

#include <fmt/format.h>

#include "json_record.h"

namespace spool {

namespace {

bool matches(const std::string& glob, const std::optional<std::string_view>& text) {
  // fnmatch takes C strings: what is behind a NUL byte does not count.
  return text && ::fnmatch(glob.c_str(), std::string(*text).c_str(), 0) == 0;
}

}  // namespace

Result<Printer> Printer::make(const ConsumeOptions& options) {
  Printer p;
  p.delimiter_ = options.delimiter;
  p.key_delimiter_ = options.key_delimiter;
  p.null_marker_ = options.null_marker;
  p.json_ = options.json;
  if (options.format) {
    TRY_ASSIGN(p.format_, OutputFormat::compile(*options.format, options.null_marker));
  }
  p.key_glob_ = options.key_glob;
  p.headers_ = options.headers;
  if (options.grep) {
    auto regex = std::make_unique<regex_t>();
    const int problem = ::regcomp(regex.get(), options.grep->c_str(), REG_EXTENDED | REG_NOSUB);
    if (problem != 0) {
      std::array<char, 256> text{};
      ::regerror(problem, regex.get(), text.data(), text.size());
      return fail(Errc::kUsage, fmt::format("--grep '{}': {}", *options.grep, text.data()));
    }
    p.grep_.reset(regex.release());
  }
  p.filters_ = p.key_glob_ || !p.headers_.empty() || p.grep_;
  return p;
}

bool Printer::wants(const RecordView& record) const {
  if (!filters_) return true;
  if (key_glob_ && !matches(*key_glob_, record.key)) return false;
  for (const HeaderFilter& f : headers_) {
    const auto& all = *record.headers;
    const bool any = std::any_of(all.begin(), all.end(), [&](const HeaderView& h) {
      return h.name == f.name && matches(f.glob, h.value);
    });
    if (!any) return false;
  }
  if (!grep_) return true;
  if (!record.value) return false;
  std::array<regmatch_t, 1> span{};
  span[0].rm_so = 0;
  span[0].rm_eo = static_cast<regoff_t>(record.value->size());
  return ::regexec(grep_.get(), record.value->data(), 1, span.data(), REG_STARTEND) == 0;
}

void Printer::print(const RecordContext& context, std::string& out) const {
  if (json_) {
    append_json_record(context, out);
    out += '\n';
    return;
  }
  if (format_) {
    format_->append(context, out);
    return;
  }
  print_before_value(context, out);
  out += context.record->value.value_or(null_marker_);
  print_after_value(out);
}

void Printer::print_before_value(const RecordContext& context, std::string& out) const {
  if (!key_delimiter_) return;
  out += context.record->key.value_or(null_marker_);
  out += *key_delimiter_;
}

}  // namespace spool
