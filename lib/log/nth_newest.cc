#include "log/nth_newest.h"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

namespace spool {

namespace {

constexpr std::size_t kBuckets = std::size_t{1} << 16;
/// Each but the first needs a trim while the one before ran.
constexpr int kAttempts = 8;

/// What records are told apart by: nullopt leaves one out.
using Key = std::function<std::optional<std::int64_t>(const RecordTime&)>;

/// The records with keys of [low, high].
struct Range {
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t count = 0;
};

class Extent : public RecordTimes {
 public:
  void offer(const RecordTime& r) override {
    const std::int64_t t = r.timestamp.value();
    range = range.count == 0 ? Range{t, t, 0}
                             : Range{std::min(range.low, t), std::max(range.high, t), range.count};
    ++range.count;
  }
  [[nodiscard]] bool wants(TimestampMs) const override { return true; }
  Range range;
};

/// Counts the keys of a range in buckets of equal width.
class Histogram : public RecordTimes {
 public:
  Histogram(const Range& range, const Key& key, TimestampMs from)
      : range_(range), key_(key), from_(from), counts_(kBuckets) {
    width_ = span(range.high) / kBuckets + 1;
  }
  void offer(const RecordTime& r) override {
    const auto k = key_(r);
    if (k && *k >= range_.low && *k <= range_.high) ++counts_[span(*k) / width_];
  }
  [[nodiscard]] bool wants(TimestampMs t) const override { return t >= from_; }

  /// The bucket that holds the `rank`-th greatest; `rank` then counts within it.
  [[nodiscard]] std::optional<Range> bucket_of(std::int64_t& rank) const {
    for (std::size_t i = kBuckets; i-- > 0;) {
      if (rank > counts_[i]) {
        rank -= counts_[i];
        continue;
      }
      const auto low =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(range_.low) + i * width_);
      const std::uint64_t left = span(range_.high) - i * width_;
      const auto high =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + std::min(width_ - 1, left));
      return Range{low, high, counts_[i]};
    }
    return std::nullopt;
  }

 private:
  /// How far above the range's low end; any two int64 are less than 2^64 apart.
  [[nodiscard]] std::uint64_t span(std::int64_t key) const {
    return static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(range_.low);
  }
  const Range range_;
  const Key& key_;
  const TimestampMs from_;
  std::uint64_t width_ = 1;
  std::vector<std::int64_t> counts_;
};

class Collector : public RecordTimes {
 public:
  Collector(const Range& range, const Key& key, TimestampMs from)
      : range_(range), key_(key), from_(from) {}
  void offer(const RecordTime& r) override {
    const auto k = key_(r);
    if (k && *k >= range_.low && *k <= range_.high) kept.push_back(r);
  }
  [[nodiscard]] bool wants(TimestampMs t) const override { return t >= from_; }
  std::vector<RecordTime> kept;

 private:
  const Range range_;
  const Key& key_;
  const TimestampMs from_;
};

/// Of the records with one timestamp, how many each partition has and where.
class Ties : public RecordTimes {
 public:
  explicit Ties(TimestampMs time) : time_(time) {}
  void offer(const RecordTime& r) override {
    if (r.timestamp != time_) return;
    const std::int64_t at = r.offset.value();
    Range& range = partitions.emplace(r.partition, Range{at, at, 0}).first->second;
    range.low = std::min(range.low, at);
    range.high = std::max(range.high, at);
    ++range.count;
  }
  [[nodiscard]] bool wants(TimestampMs t) const override { return t >= time_; }
  std::map<PartitionId, Range> partitions;

 private:
  const TimestampMs time_;
};

/// Narrows the range until few enough records are in it, or all have one key.
Result<std::optional<Range>> narrow(const RecordScan& scan, const Key& key, bool by_time,
                                    TimestampMs time, Range range, std::int64_t& rank) {
  while (range.count > kNthKept && range.low < range.high) {
    Histogram histogram(range, key, by_time ? TimestampMs(range.low) : time);
    TRY(scan(histogram));
    const auto bucket = histogram.bucket_of(rank);
    if (!bucket) return std::optional<Range>();
    range = *bucket;
  }
  return std::optional(range);
}

/// The `rank`-th greatest of the few in the range.
Result<std::optional<RecordTime>> pick(const RecordScan& scan, const Key& key, TimestampMs from,
                                       const Range& range, std::int64_t rank) {
  Collector collector(range, key, from);
  TRY(scan(collector));
  auto& kept = collector.kept;
  if (rank > static_cast<std::int64_t>(kept.size())) return std::optional<RecordTime>();
  const auto at = kept.begin() + (rank - 1);
  std::nth_element(kept.begin(), at, kept.end(), std::greater<>());
  return std::optional(*at);
}

/// The `rank`-th greatest of all; nullopt when records have gone since they were counted.
Result<std::optional<RecordTime>> search(const RecordScan& scan, const Range& all,
                                         std::int64_t rank) {
  const Key by_time = [](const RecordTime& r) { return std::optional(r.timestamp.value()); };
  TRY_ASSIGN(const auto times, narrow(scan, by_time, true, {}, all, rank));
  if (!times) return std::optional<RecordTime>();
  const TimestampMs time(times->low);
  if (times->count <= kNthKept) return pick(scan, by_time, time, *times, rank);

  // Very many records of one and the same time: the higher partitions count as newer.
  Ties ties(time);
  TRY(scan(ties));
  for (auto at = ties.partitions.rbegin(); at != ties.partitions.rend(); ++at) {
    if (rank > at->second.count) {
      rank -= at->second.count;
      continue;
    }
    const Key by_offset = [time, partition = at->first](const RecordTime& r) {
      return r.timestamp == time && r.partition == partition ? std::optional(r.offset.value())
                                                             : std::optional<std::int64_t>();
    };
    TRY_ASSIGN(const auto offsets, narrow(scan, by_offset, false, time, at->second, rank));
    if (!offsets) break;
    return pick(scan, by_offset, time, *offsets, rank);
  }
  return std::optional<RecordTime>();
}

}  // namespace

Result<std::optional<RecordTime>> nth_newest(const RecordScan& scan, std::int64_t count) {
  if (count <= kNthKept) {
    NewestRecords newest(static_cast<std::size_t>(count));
    TRY(scan(newest));
    const auto kept = newest.take();
    if (static_cast<std::int64_t>(kept.size()) < count) return std::optional<RecordTime>();
    return std::optional(kept.front());
  }
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Extent extent;
    TRY(scan(extent));
    if (extent.range.count < count) return std::optional<RecordTime>();
    TRY_ASSIGN(const auto found, search(scan, extent.range, count));
    if (found) return found;
  }
  return fail(Errc::kConflict,
              fmt::format("records go away faster than the newest {} can be found", count));
}

}  // namespace spool
