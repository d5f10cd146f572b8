#pragma once
/// --ack-fd: lines `TOPIC PARTITION OFFSET` from the reader of our output, each naming a record
/// that is done with; so are those before it in its partition.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "group/offset_store.h"

namespace spool {

/// Not thread-safe.
class AckReader {
 public:
  explicit AckReader(int fd);

  /// The lines that are there; never waits. Errc::kInvalid for one that does not fit.
  [[nodiscard]] Result<std::vector<std::pair<TopicPartition, Offset>>> read();
  /// Behind the greatest offset that was named of a partition; 0 when none was.
  [[nodiscard]] Offset acked(const TopicPartition& at) const;
  [[nodiscard]] bool at_end() const { return at_end_; }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  const int fd_;
  bool at_end_ = false;
  std::string text_;
  std::map<TopicPartition, Offset> acked_;
};

}  // namespace spool
