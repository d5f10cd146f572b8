#include "framing.h"

#include <cstring>

#include <fmt/format.h>

namespace spool {

Result<Framer> Framer::make(FramingOptions options) {
  Framer f(std::move(options));
  if (f.options_.mode == FramingOptions::Mode::kFormat) {
    TRY_ASSIGN(f.parser_, InputParser::compile(f.options_.format, f.options_.null_marker));
  }
  if (f.options_.mode == FramingOptions::Mode::kJson) f.json_.emplace();
  return f;
}

void Framer::begin_file(const std::string& name) {
  file_ = name;
  number_ = 0;
  searched_ = 0;
  whole_done_ = false;
}

std::string Framer::place() const {
  const bool lines = (options_.mode == FramingOptions::Mode::kDelimiter ||
                      options_.mode == FramingOptions::Mode::kJson) &&
                     options_.delimiter == "\n";
  const std::string at = fmt::format("{} {}", lines ? "line" : "record", number_);
  return file_.empty() ? at : fmt::format("'{}' {}", file_, at);
}

Result<void> Framer::bad(Errc code, const std::string& what) {
  if (options_.on_bad == FramingOptions::OnBad::kSkip) {
    ++skipped_;
    return {};
  }
  return fail(code, fmt::format("{}: {}", place(), what));
}

Result<Framer::Step> Framer::next(std::string_view buffer, bool eof, ParsedRecord& out) {
  out.clear();
  if (discarding_) return discard(buffer, eof);
  switch (options_.mode) {
    case FramingOptions::Mode::kWhole:
      return next_whole(buffer, eof, out);
    case FramingOptions::Mode::kFormat:
      return next_formatted(buffer, eof, out);
    default:
      return next_delimited(buffer, eof, out);
  }
}

Result<Framer::Step> Framer::next_delimited(std::string_view buffer, bool eof, ParsedRecord& out) {
  const std::string& d = options_.delimiter;
  const std::size_t at =
      d.size() == 1 ? buffer.find(d.front(), searched_) : buffer.find(d, searched_);
  if (at == std::string_view::npos) {
    if (buffer.size() > options_.record_bytes_max) {
      ++number_;
      return too_long(buffer.size(), buffer, eof);
    }
    if (!eof) {
      searched_ = buffer.size() - std::min(buffer.size(), d.size() - 1);
      return Step{Got::kNeedMore, 0};
    }
    searched_ = 0;
    if (buffer.empty()) return Step{Got::kEnd, 0};
    ++number_;
    return shape(buffer, buffer.size(), out);
  }
  searched_ = 0;
  ++number_;
  if (at > options_.record_bytes_max) return too_long(at, buffer, eof);
  return shape(buffer.substr(0, at), at + d.size(), out);
}

Result<Framer::Step> Framer::next_whole(std::string_view buffer, bool eof, ParsedRecord& out) {
  if (whole_done_) return Step{Got::kEnd, 0};
  if (buffer.size() > options_.record_bytes_max) {
    number_ = 1;
    return fail(Errc::kTooLarge, fmt::format("{}: longer than --max-record-bytes {}",
                                             file_.empty() ? "standard input" : "'" + file_ + "'",
                                             options_.record_bytes_max));
  }
  if (!eof) return Step{Got::kNeedMore, 0};
  whole_done_ = true;
  ++number_;
  return shape(buffer, buffer.size(), out);
}

Result<Framer::Step> Framer::next_formatted(std::string_view buffer, bool eof, ParsedRecord& out) {
  auto step = parser_->next(buffer, eof, out);
  if (!step) {
    ++number_;
    TRY(bad(step.error().code, step.error().context));
    // The parser does not know where the next record begins; the end of the format does.
    const std::string_view end = parser_->final_delimiter();
    const std::size_t at = end.empty() ? std::string_view::npos : buffer.find(end);
    if (at != std::string_view::npos) return Step{Got::kSkipped, at + end.size()};
    if (end.empty())
      return fail(Errc::kInvalid, fmt::format("{}: {}, and the format has no end to go on behind",
                                              place(), step.error().context));
    discarding_ = true;
    return discard(buffer, eof);
  }
  switch (step->kind) {
    case InputStep::Kind::kEnd:
      return Step{Got::kEnd, 0};
    case InputStep::Kind::kNeedMore:
      if (std::max(buffer.size(), step->needed) > options_.record_bytes_max) {
        ++number_;
        return too_long(std::max(buffer.size(), step->needed), buffer, eof);
      }
      return Step{Got::kNeedMore, 0};
    case InputStep::Kind::kRecord:
      break;
  }
  ++number_;
  if (step->consumed > options_.record_bytes_max) return too_long(step->consumed, buffer, eof);
  apply_nulls(out);
  return Step{Got::kRecord, step->consumed};
}

void Framer::apply_nulls(ParsedRecord& out) const {
  const bool plain = options_.mode == FramingOptions::Mode::kDelimiter ||
                     options_.mode == FramingOptions::Mode::kWhole;
  if (options_.null_marker && plain) {
    if (out.key == *options_.null_marker) out.key.reset();
    if (out.value == *options_.null_marker) out.value.reset();
  }
  if (options_.tombstones && out.value && out.value->empty()) out.value.reset();
}

/// Makes a record of a delimited piece.
Result<Framer::Step> Framer::shape(std::string_view text, std::size_t consumed, ParsedRecord& out) {
  if (json_) {
    // An empty line between JSON lines is no record of anybody's.
    if (text.find_first_not_of(" \t\r") == std::string_view::npos)
      return Step{Got::kSkipped, consumed};
    if (auto parsed = json_->parse(text, out, options_.padded); !parsed) {
      TRY(bad(parsed.error().code, parsed.error().context));
      return Step{Got::kSkipped, consumed};
    }
    apply_nulls(out);
    return Step{Got::kRecord, consumed};
  }
  out.value = text;
  out.value_given = true;
  if (options_.key_delimiter) {
    const std::size_t at = text.find(*options_.key_delimiter);
    if (at != std::string_view::npos) {
      out.key = text.substr(0, at);
      out.value = text.substr(at + options_.key_delimiter->size());
    } else if (options_.on_bad != FramingOptions::OnBad::kKeyless) {
      TRY(bad(Errc::kInvalid, fmt::format("no key delimiter '{}' in it", *options_.key_delimiter)));
      return Step{Got::kSkipped, consumed};
    }
  }
  apply_nulls(out);
  return Step{Got::kRecord, consumed};
}

Result<Framer::Step> Framer::too_long(std::size_t bytes, std::string_view buffer, bool eof) {
  searched_ = 0;
  TRY(bad(Errc::kTooLarge, fmt::format("{} bytes or more, and --max-record-bytes is {}", bytes,
                                       options_.record_bytes_max)));
  discarding_ = true;
  return discard(buffer, eof);
}

/// Passes over the rest of a record that is not wanted.
Result<Framer::Step> Framer::discard(std::string_view buffer, bool eof) {
  const std::string_view d = parser_ ? parser_->final_delimiter() : options_.delimiter;
  const std::size_t at = d.empty() ? std::string_view::npos : buffer.find(d);
  if (at != std::string_view::npos) {
    discarding_ = false;
    return Step{Got::kSkipped, at + d.size()};
  }
  if (eof) {
    discarding_ = false;
    return Step{buffer.empty() ? Got::kEnd : Got::kSkipped, buffer.size()};
  }
  const std::size_t keep = std::min(buffer.size(), d.empty() ? 0 : d.size() - 1);
  return Step{buffer.size() > keep ? Got::kSkipped : Got::kNeedMore, buffer.size() - keep};
}

}  // namespace spool
