#include "log/state_file.h"

#include <array>
#include <cstdio>

#include <fmt/format.h>

namespace spool {

namespace {

constexpr const char* kStateFile = "spool.state";
constexpr int kVersion = 1;

std::optional<PartitionState> parse(const std::string& body) {
  PartitionState s;
  std::array<char, 65> boot{};
  int version = 0;
  int plain = 0;
  int suspect = 0;
  unsigned long long device = 0;
  unsigned long long inode = 0;
  long long point = 0;
  long long suspect_from = 0;
  // The checksum has vouched for the text; this only takes it apart.
  const int got =
      std::sscanf(body.c_str(),  // NOLINT(cert-err34-c)
                  "spool state %d\nboot %64s\nfolder %llu %llu\nrecovery-point %lld\nplain "
                  "%d\nsuspect %d %lld\n",
                  &version, boot.data(), &device, &inode, &point, &plain, &suspect, &suspect_from);
  // Without a base the mark is on all segments.
  if (got < 7 || point < 0 || suspect_from < 0) return std::nullopt;
  s.boot_id = boot.data();
  s.device = device;
  s.inode = inode;
  s.recovery_point = Offset(point);
  s.plain = plain == 1;
  s.suspect = suspect == 1;
  s.suspect_from = Offset(suspect_from);
  return s;
}

}  // namespace

std::string state_path(const std::string& dir) {
  return join_path(dir, kStateFile);
}

Result<std::optional<PartitionState>> read_state(Fs& fs, const std::string& dir) {
  const std::string path = state_path(dir);
  const auto text = read_file(fs, path, 4096);
  if (!text && text.error().code == Errc::kNotFound) return std::optional<PartitionState>();
  if (!text) return fail(text.error());
  const auto body = without_checksum(*text, path);
  if (!body) return std::optional<PartitionState>();
  int version = 0;
  if (std::sscanf(text->c_str(), "spool state %d\n", &version) == 1 &&
      version > kVersion)  // NOLINT(cert-err34-c)
    return fail(Errc::kUnsupported, fmt::format("'{}' has version {}; this spool knows up to {}",
                                                path, version, kVersion));
  return parse(std::string(*body));
}

Result<void> write_state(Fs& fs, const std::string& dir, const PartitionState& state,
                         std::uint32_t mode, Durability durability) {
  const std::string text = with_checksum(fmt::format(
      "spool state {}\nboot {}\nfolder {} {}\nrecovery-point {}\nplain {}\nsuspect {}\n", kVersion,
      state.boot_id, state.device, state.inode, state.recovery_point.value(), state.plain ? 1 : 0,
      state.suspect ? fmt::format("1 {}", state.suspect_from.value()) : std::string("0")));
  return replace_file(fs, state_path(dir), text, mode, durability);
}

}  // namespace spool
