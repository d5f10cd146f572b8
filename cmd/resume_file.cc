#include "resume_file.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "io/atomic_file.h"

namespace spool {

namespace {

constexpr std::string_view kFirstLine = "spool replay 1";
constexpr std::uint32_t kFileMode = 0644;
constexpr std::int64_t kSequences = std::int64_t{1} << 31;

std::string id_text(const std::optional<Uuid>& id) {
  return id ? id->text() : "-";
}

/// The blank-separated fields of a line.
class Fields {
 public:
  explicit Fields(std::string_view line) : rest_(line) {}

  std::string_view text() {
    const std::size_t end = rest_.find(' ');
    const std::string_view field = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
    good_ = good_ && !field.empty();
    return field;
  }
  std::int64_t number(std::int64_t max) {
    const std::string_view field = text();
    std::int64_t n = 0;
    const auto [end, problem] = std::from_chars(field.data(), field.data() + field.size(), n);
    good_ =
        good_ && problem == std::errc() && end == field.data() + field.size() && n >= 0 && n <= max;
    return n;
  }
  std::int64_t number() { return number(std::numeric_limits<std::int64_t>::max()); }
  PartitionId partition() {
    return PartitionId(static_cast<std::int32_t>(number(std::numeric_limits<std::int32_t>::max())));
  }
  std::optional<Uuid> id() {
    const std::string_view field = text();
    if (field == "-") return std::nullopt;
    const auto parsed = Uuid::parse(field);
    good_ = good_ && parsed.has_value();
    if (!parsed) return std::nullopt;
    return *parsed;
  }
  bool keep() {
    const std::string_view field = text();
    good_ = good_ && (field == "keep" || field == "hash");
    return field == "keep";
  }
  [[nodiscard]] bool good() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

bool parse_line(std::string_view line, ReplayProgress& out) {
  Fields f(line);
  const std::string_view what = f.text();
  if (what == "source") {
    auto& s = out.sources.emplace_back();
    s.topic = f.text();
    s.id = f.id();
    s.partition = f.partition();
    s.producer_id = f.number();
    s.next = Offset(f.number());
  } else if (what == "target") {
    auto& t = out.targets.emplace_back();
    t.topic = f.text();
    t.id = f.id();
    t.keep = f.keep();
    t.partitions = f.partition().value();
  } else if (what == "end") {
    auto& e = out.ends.emplace_back();
    e.topic = f.text();
    e.partition = f.partition();
    e.offset = Offset(f.number());
  } else if (what == "count") {
    out.count = f.number();
  } else {
    return false;
  }
  return f.good();
}

}  // namespace

ReplayProgress::Source* ReplayProgress::source(std::string_view topic, PartitionId partition) {
  const auto at = std::find_if(sources.begin(), sources.end(), [&](const Source& s) {
    return s.partition == partition && s.topic == topic;
  });
  return at == sources.end() ? nullptr : &*at;
}

ReplayProgress::Target* ReplayProgress::target(std::string_view topic) {
  const auto at = std::find_if(targets.begin(), targets.end(),
                               [&](const Target& t) { return t.topic == topic; });
  return at == targets.end() ? nullptr : &*at;
}

ReplayProgress::End* ReplayProgress::end(std::string_view topic, PartitionId partition) {
  const auto at = std::find_if(ends.begin(), ends.end(), [&](const End& e) {
    return e.partition == partition && e.topic == topic;
  });
  return at == ends.end() ? nullptr : &*at;
}

std::string format_progress(const ReplayProgress& progress) {
  std::string out = fmt::format("{}\n", kFirstLine);
  for (const auto& s : progress.sources)
    out += fmt::format("source {} {} {} {} {}\n", s.topic, id_text(s.id), s.partition.value(),
                       s.producer_id, s.next.value());
  for (const auto& t : progress.targets)
    out += fmt::format("target {} {} {} {}\n", t.topic, id_text(t.id), t.keep ? "keep" : "hash",
                       t.partitions);
  for (const auto& e : progress.ends)
    out += fmt::format("end {} {} {}\n", e.topic, e.partition.value(), e.offset.value());
  return out + fmt::format("count {}\n", progress.count);
}

Result<ReplayProgress> parse_progress(std::string_view text, const std::string& path) {
  const auto bad = [&] {
    return fail(Errc::kConflict,
                fmt::format("'{}' is no file of replay --resume, or is damaged: remove it to begin "
                            "anew",
                            path));
  };
  const auto body = without_checksum(text, path);
  if (!body) return bad();
  std::string_view rest = *body;
  ReplayProgress out;
  for (bool first = true; !rest.empty(); first = false) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return bad();
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (first ? line != kFirstLine : !parse_line(line, out)) return bad();
  }
  return out;
}

Result<std::optional<ReplayProgress>> load_progress(Fs& fs, const std::string& path) {
  const auto text = read_file(fs, path);
  if (!text && text.error().code == Errc::kNotFound) return std::optional<ReplayProgress>();
  if (!text) return fail(text.error());
  if (text->empty()) return std::optional<ReplayProgress>();  // as mktemp(1) leaves it
  TRY_ASSIGN(ReplayProgress progress, parse_progress(*text, path));
  return std::optional(std::move(progress));
}

Result<void> save_progress(Fs& fs, const std::string& path, const ReplayProgress& progress) {
  return replace_file(fs, path, with_checksum(format_progress(progress)), kFileMode,
                      Durability::kNamed);
}

std::int32_t sequence_of(Offset offset) {
  return static_cast<std::int32_t>(offset.value() & (kSequences - 1));
}

Offset offset_of(std::int32_t sequence, Offset near) {
  const std::int64_t ahead = (sequence - sequence_of(near)) & (kSequences - 1);
  return near + (ahead < kSequenceReach ? ahead : ahead - kSequences);
}

}  // namespace spool
