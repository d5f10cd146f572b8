#include "ack_fd.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include "offsets_file.h"

namespace spool {

namespace {

constexpr std::size_t kLineMax = 1024;

}  // namespace

AckReader::AckReader(int fd) : fd_(fd) {
  ::fcntl(fd_, F_SETFD, FD_CLOEXEC);
}

Offset AckReader::acked(const TopicPartition& at) const {
  const auto found = acked_.find(at);
  return found == acked_.end() ? Offset(0) : found->second;
}

Result<std::vector<std::pair<TopicPartition, Offset>>> AckReader::read() {
  std::vector<std::pair<TopicPartition, Offset>> out;
  // The descriptor may be shared: it is asked before each read instead of being made non-blocking.
  pollfd readable{fd_, POLLIN, 0};
  while (!at_end_ && ::poll(&readable, 1, 0) > 0) {
    std::array<char, 4096> raw{};
    const ssize_t n = ::read(fd_, raw.data(), raw.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) break;
    if (n <= 0) {
      at_end_ = true;
      break;
    }
    text_.append(raw.data(), static_cast<std::size_t>(n));
  }
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = text_.substr(begin, end - begin);
    if (line.empty()) continue;
    const auto parsed = parse_offset_line(line);
    if (!parsed)
      return fail(Errc::kInvalid, fmt::format("--ack-fd: '{}' is not a line TOPIC PARTITION OFFSET",
                                              line.substr(0, kLineMax)));
    out.push_back(*parsed);
    Offset& acked = acked_[parsed->first];
    acked = std::max(acked, parsed->second + 1);
  }
  text_.erase(0, begin);
  if (text_.size() > kLineMax) return fail(Errc::kInvalid, "--ack-fd: a line without an end");
  return out;
}

}  // namespace spool
