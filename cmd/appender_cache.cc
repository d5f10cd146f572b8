#include "appender_cache.h"

#include <algorithm>
#include <sys/resource.h>

#include <fmt/format.h>

namespace spool {

namespace {

/// A partition has a log and two indexes open.
constexpr std::size_t kFilesEach = 3;
/// For everything else: inputs, locks, files that are open for a moment.
constexpr std::size_t kOtherFiles = 64;
constexpr std::size_t kOpenMax = 1024;

std::size_t by_file_limit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return 1;
  if (files.rlim_cur <= kOtherFiles + kFilesEach) return 1;
  return std::min<std::size_t>((files.rlim_cur - kOtherFiles) / kFilesEach, kOpenMax);
}

}  // namespace

AppenderCache::AppenderCache(Store& store, std::size_t open_max)
    : store_(store), open_max_(open_max != 0 ? open_max : by_file_limit()) {}

/// Needs mutex_. Only this cache hands pointers out: one that nobody has cannot get a user now.
std::shared_ptr<Appender> AppenderCache::take_idle() {
  const auto idle = std::find_if(entries_.begin(), entries_.end(),
                                 [](const Entry& e) { return e.appender.use_count() == 1; });
  if (idle == entries_.end()) return nullptr;
  auto appender = std::move(idle->appender);
  by_name_.erase(idle->name);
  entries_.erase(idle);
  return appender;
}

Result<std::shared_ptr<Appender>> AppenderCache::get(const TopicInfo& topic,
                                                     PartitionId partition) {
  std::string name = fmt::format("{}-{}", topic.name, partition.value());
  std::shared_ptr<Appender> idle;
  std::shared_ptr<Appender> made;
  {
    const std::lock_guard guard(mutex_);
    if (const auto found = by_name_.find(name); found != by_name_.end()) {
      entries_.splice(entries_.end(), entries_, found->second);
      return found->second->appender;
    }
    if (entries_.size() >= open_max_) idle = take_idle();
    if (!idle && entries_.size() >= open_max_) return std::shared_ptr<Appender>();
    made = std::make_shared<Appender>(store_.env(), store_.place(topic, partition));
    entries_.push_back({name, made});
    by_name_.emplace(std::move(name), std::prev(entries_.end()));
  }
  if (idle) TRY(idle->close());
  return made;
}

Result<void> AppenderCache::close_all() {
  std::list<Entry> entries;
  {
    const std::lock_guard guard(mutex_);
    entries.swap(entries_);
    by_name_.clear();
  }
  Result<void> result;
  for (const Entry& e : entries)
    if (auto closed = e.appender->close(); !closed && result) result = closed;
  return result;
}

}  // namespace spool
