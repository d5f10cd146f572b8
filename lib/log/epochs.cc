#include "log/epochs.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "log/segment.h"
#include "record/batch.h"

namespace spool {

namespace {

constexpr const char* kEpochFile = "leader-epoch-checkpoint";

/// Cuts `text` into fields at white space, one line at a time.
class Lines {
 public:
  explicit Lines(std::string_view text) : left_(text) {}
  [[nodiscard]] bool done() const { return left_.empty(); }
  /// The fields of the next line.
  std::vector<std::string_view> next() {
    const std::size_t end = left_.find('\n');
    std::string_view line = left_.substr(0, end);
    left_ = end == std::string_view::npos ? std::string_view() : left_.substr(end + 1);
    std::vector<std::string_view> fields;
    while (!line.empty()) {
      const std::size_t from = line.find_first_not_of(" \t\r");
      if (from == std::string_view::npos) break;
      std::size_t to = line.find_first_of(" \t\r", from);
      if (to == std::string_view::npos) to = line.size();
      fields.push_back(line.substr(from, to - from));
      line = line.substr(to);
    }
    return fields;
  }

 private:
  std::string_view left_;
};

template <class T>
bool number(std::string_view text, T& out) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  return problem == std::errc() && end == text.data() + text.size();
}

/// Version and count lines; the entries follow.
bool preamble(Lines& lines, std::size_t& count) {
  std::int32_t version = -1;
  const auto first = lines.next();
  if (first.size() != 1 || !number(first[0], version) || version != 0) return false;
  const auto second = lines.next();
  return second.size() == 1 && number(second[0], count);
}

}  // namespace

Result<std::vector<EpochStart>> parse_epochs(std::string_view text, const std::string& path) {
  std::vector<EpochStart> out;
  if (text.empty()) return out;
  Lines lines(text);
  std::size_t count = 0;
  const auto bad = [&] { return fail(Errc::kCorrupt, "'" + path + "' is malformed"); };
  if (!preamble(lines, count)) return bad();
  while (!lines.done()) {
    const auto f = lines.next();
    std::int32_t epoch = 0;
    std::int64_t start = 0;
    if (f.size() != 2 || !number(f[0], epoch) || !number(f[1], start)) return bad();
    if (!out.empty() && (Epoch(epoch) <= out.back().epoch || Offset(start) < out.back().start))
      return bad();
    out.push_back({Epoch(epoch), Offset(start)});
  }
  if (out.size() != count) return bad();
  return out;
}

std::string format_epochs(const std::vector<EpochStart>& epochs) {
  std::string out = fmt::format("0\n{}\n", epochs.size());
  for (const EpochStart& e : epochs)
    out += fmt::format("{} {}\n", e.epoch.value(), e.start.value());
  return out;
}

Result<std::vector<EpochStart>> read_epochs(Fs& fs, const std::string& dir) {
  const std::string path = join_path(dir, kEpochFile);
  auto text = read_file(fs, path);
  if (!text && text.error().code == Errc::kNotFound) return std::vector<EpochStart>();
  if (!text) return fail(text.error());
  return parse_epochs(*text, path);
}

Result<void> write_epochs(Fs& fs, const std::string& dir, const std::vector<EpochStart>& epochs,
                          std::uint32_t mode, Durability durability) {
  return replace_file(fs, join_path(dir, kEpochFile), format_epochs(epochs), mode, durability);
}

Result<void> fit_first_epoch(Fs& fs, const std::string& dir, Offset first,
                             std::optional<Offset> log_start, std::uint32_t mode) {
  TRY_ASSIGN(auto epochs, read_epochs(fs, dir));
  const Offset start = std::max(first, log_start.value_or(first));
  if (epochs.empty() || epochs.front().start == start) return {};
  if (epochs.front().start < start) {
    const auto left = epochs_from(epochs, start);
    return left == epochs ? Result<void>() : write_epochs(fs, dir, left, mode);
  }
  auto log = fs.open(segment_path(dir, first, kLogSuffix), OpenMode::kRead, 0);
  if (!log && log.error().code == Errc::kNotFound) return {};
  if (!log) return fail(log.error());
  std::array<std::byte, kBatchHeaderBytes> raw{};
  TRY_ASSIGN(const std::size_t got, (*log)->read_at(raw, 0));
  const BatchHeader header = BatchHeader::decode(raw.data());
  if (got < raw.size() || header.leader_epoch != epochs.front().epoch ||
      header.base_offset >= epochs.front().start)
    return {};
  epochs.front().start = start;
  return write_epochs(fs, dir, epochs, mode);
}

std::vector<EpochStart> epochs_from(const std::vector<EpochStart>& epochs, Offset start) {
  std::vector<EpochStart> out;
  for (const EpochStart& e : epochs) {
    if (!out.empty() && e.start <= start) out.pop_back();
    out.push_back({e.epoch, std::max(e.start, start)});
  }
  return out;
}

}  // namespace spool
