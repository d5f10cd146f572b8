#include "log/transactions.h"

#include <algorithm>

#include "base/crc32c.h"
#include "log/segment.h"
#include "log/state_file.h"

namespace spool {

namespace {

constexpr std::size_t kSnapshotEntryBytes = 46;
constexpr std::size_t kSnapshotHeadBytes = 10;
constexpr std::size_t kFirstOffsetField = 38;

}  // namespace

std::optional<bool> TransactionFilter::known(std::int64_t producer_id, Offset at) {
  const auto found = ends_.find(producer_id);
  if (found == ends_.end()) return std::nullopt;
  auto& ends = found->second;
  // Batches come in order: an end before this one will not be asked for again.
  while (!ends.empty() && ends.front().marker <= at)
    ends.pop_front();
  if (ends.empty()) return std::nullopt;
  return ends.front().committed;
}

Result<TransactionFilter::Verdict> TransactionFilter::judge(const BatchHeader& header) {
  if (header.control()) return Verdict::kDrop;
  if (!header.transactional()) return Verdict::kDeliver;
  for (;;) {
    if (const auto committed = known(header.producer_id, header.base_offset))
      return *committed ? Verdict::kDeliver : Verdict::kDrop;
    if (!ahead_ || ahead_->next_offset() <= header.base_offset)
      ahead_.emplace(env_, place_, header.base_offset);
    TRY(env_.go_on());
    TRY_ASSIGN(const Cursor::Step step, next_whole(*ahead_));
    if (step == Cursor::Step::kEnd) return Verdict::kUndecided;
    const BatchView& batch = ahead_->batch();
    // The cleaner keeps a producer's last marker as a batch without records: it ends nothing.
    if (!batch.header.control() || !batch.header.transactional() || batch.header.count == 0)
      continue;
    const auto type = control_type(batch);
    if (!type) continue;  // a marker that cannot be read ends nothing
    if (*type != kControlAbort && *type != kControlCommit) continue;
    ends_[batch.header.producer_id].push_back({batch.header.base_offset, *type == kControlCommit});
  }
}

Result<std::vector<SnapshotEntry>> parse_snapshot(std::string_view text, const std::string& path) {
  const auto bad = [&] { return fail(Errc::kCorrupt, "'" + path + "' is not a valid snapshot"); };
  const Bytes raw = as_bytes(text);
  if (raw.size() < kSnapshotHeadBytes || load_be<std::int16_t>(raw.data()) != 1) return bad();
  if (crc32c(raw.subspan(6)) != load_be<std::uint32_t>(raw.data() + 2)) return bad();
  const auto count = load_be<std::int32_t>(raw.data() + 6);
  if (count < 0 ||
      raw.size() != kSnapshotHeadBytes + static_cast<std::size_t>(count) * kSnapshotEntryBytes)
    return bad();
  std::vector<SnapshotEntry> out;
  for (const std::byte* at = raw.data() + kSnapshotHeadBytes; at < raw.data() + raw.size();
       at += kSnapshotEntryBytes)
    out.push_back(
        {load_be<std::int64_t>(at), Offset(load_be<std::int64_t>(at + kFirstOffsetField))});
  return out;
}

namespace {

struct OpenTransactions {
  Offset as_of;
  std::map<std::int64_t, Offset> first;  ///< producer id -> first offset
};

/// The newest valid snapshot at or below `log_end`; else nothing open at the log start.
Result<OpenTransactions> newest_snapshot(const LogEnv& env, const PartitionPlace& place,
                                         Offset log_start, Offset log_end) {
  OpenTransactions open{log_start, {}};
  auto files = list_partition(env.fs, place.dir);
  if (!files) return open;  // the folder is gone: the reader will say so
  for (auto at = files->snapshots.rbegin(); at != files->snapshots.rend(); ++at) {
    if (*at > log_end || *at < log_start) continue;
    const std::string path = segment_path(place.dir, *at, kSnapshotSuffix);
    const auto text = read_file(env.fs, path);
    if (!text) continue;  // gone or unreadable: a hint less
    const auto entries = parse_snapshot(*text, path);
    if (!entries) continue;
    open.as_of = *at;
    for (const SnapshotEntry& e : *entries)
      if (e.first_offset >= Offset(0)) open.first[e.producer_id] = e.first_offset;
    break;
  }
  return open;
}

}  // namespace

Result<Offset> last_stable_offset(const LogEnv& env, const PartitionPlace& place, Offset log_start,
                                  Offset log_end) {
  TRY_ASSIGN(const auto state, read_state(env.fs, place.dir));
  if (state && state->plain) return log_end;
  TRY_ASSIGN(OpenTransactions open, newest_snapshot(env, place, log_start, log_end));
  Cursor cursor(env, place, open.as_of);
  while (cursor.next_offset() < log_end) {
    TRY(env.go_on());
    TRY_ASSIGN(const Cursor::Step step, next_whole(cursor));
    if (step == Cursor::Step::kEnd) break;
    const BatchHeader& h = cursor.batch().header;
    if (!h.transactional()) continue;
    if (h.control()) {
      open.first.erase(h.producer_id);
    } else {
      open.first.emplace(h.producer_id, h.base_offset);
    }
  }
  Offset stable = log_end;
  for (const auto& [producer, first] : open.first)
    stable = std::min(stable, first);
  return stable;
}

}  // namespace spool
