#pragma once
/// What the options of replay mean, checked against each other before anything is read.

#include <cstdint>
#include <optional>
#include <string>

#include "consume_options.h"

namespace spool {

struct ReplayOptions {
  ConsumeOptions read;  ///< what to read and, without a target, how to print it
  std::optional<std::string> to_topic;
  std::optional<std::string> to_dir;
  std::optional<double> speed = 1.0;  ///< unset: as fast as it goes
  bool timestamps_now = false;
  enum class Partitions : std::uint8_t {
    kAuto,  ///< keep where the counts match, else hash
    kKeep,
    kHash,
  };
  Partitions partitions = Partitions::kAuto;
  bool origin_headers = false;
  std::optional<std::string> resume;  ///< path of the file
  bool verbatim = false;

  [[nodiscard]] bool to_target() const { return to_topic || to_dir; }
};

/// Errc::kUsage.
[[nodiscard]] Result<ReplayOptions> read_replay_options(const Args& args, TimestampMs now);

}  // namespace spool
