#pragma once
/// Names out of a directory on this machine, for completions.

#include "complete.h"

namespace spool {

/// Looks when asked, without a lock, and says nothing.
class DirectoryNames : public LiveNames {
 public:
  std::vector<std::string> topics(const NamePlace& place) override;
  std::vector<std::int32_t> partitions(const NamePlace& place, const std::string& topic) override;
  std::vector<std::string> groups(const NamePlace& place) override;
};

}  // namespace spool
