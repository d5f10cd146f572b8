#include "replay_verbatim.h"

#include <algorithm>

#include <fmt/format.h>

#include "context.h"
#include "log/checkpoint.h"
#include "store/gaps.h"

namespace spool {

Result<void> VerbatimCopy::open(PartitionId partition, std::size_t number) {
  TRY_ASSIGN(appender_, writer_.appender(number, partition));
  TRY(appender_->open());  // what others left is recovered before anything is compared
  end_ = appender_->next_offset();
  return {};
}

Result<Cursor::Step> VerbatimCopy::next(Cursor& cursor) {
  for (;;) {
    auto step = cursor.next();
    if (step || step.error().code != Errc::kCorrupt || !source_.options.skip_damaged) return step;
    say(step.error().message());
    ++source_.damages;
    cursor.skip_damage();
  }
}

/// A target that has something must be a beginning of this very source.
Result<void> VerbatimCopy::check_continues(const Lane& lane, const PartitionPlace& place) {
  const auto refuse = [&](const std::string& why) {
    return fail(Errc::kConflict,
                fmt::format("{} in '{}' ends at offset {}, {}: a verbatim copy needs an empty "
                            "partition or an earlier copy of the same one",
                            place.name(), store_.root(), end_.value(), why));
  };
  if (end_ > lane.view.log_end)
    return refuse(fmt::format("and the source at {}", lane.view.log_end.value()));
  if (end_ < lane.view.log_start)
    return refuse(fmt::format("and the source begins at {}", lane.view.log_start.value()));
  if (end_ == lane.view.log_start) return {};  // there is nothing left to compare with
  Cursor theirs(store_.env(), place, end_ - 1);
  Cursor ours(source_.env, lane.place, end_ - 1);
  TRY_ASSIGN(const Cursor::Step copied, theirs.next());
  TRY_ASSIGN(const Cursor::Step original, next(ours));
  if (copied == Cursor::Step::kEnd || original == Cursor::Step::kEnd)
    return refuse("where no batch of it ends");
  const Bytes a = theirs.batch().bytes;
  const Bytes b = ours.batch().bytes;
  if (!std::equal(a.begin(), a.end(), b.begin(), b.end()))
    return refuse("and the batch before that is another one than in the source");
  return {};
}

Result<bool> VerbatimCopy::copy(const Lane& lane, std::size_t number) {
  TRY(open(lane.place.partition, number));
  const PartitionPlace place = appender_->place();
  TRY_ASSIGN(const PartitionView view, view_partition(store_.env(), place));
  empty_ = view.log_start == view.log_end;
  Offset from = lane.start;
  if (!empty_) {
    TRY(check_continues(lane, place));
    writer_.note_appended(appender_, 0);  // an earlier run may have been killed before it synced
    from = end_;
  }
  if (from >= lane.limit()) return true;
  Cursor cursor(source_.env, lane.place, from, std::size_t{1} << 18, source_.reader);
  for (;;) {
    TRY_ASSIGN(const bool more, go_on_());
    if (!more) return false;
    TRY_ASSIGN(const Cursor::Step step, next(cursor));
    if (step == Cursor::Step::kEnd) return true;
    const BatchHeader& h = cursor.batch().header;
    if (h.base_offset >= lane.limit()) return true;
    if (h.next_offset() <= from) continue;
    if (h.base_offset < end_ || (!empty_ && h.next_offset() <= lane.start))
      return fail(
          Errc::kConflict,
          fmt::format("{} in '{}' ends at offset {}, and the copy would go on with the "
                      "batch of {} to {}{}",
                      place.name(), store_.root(), end_.value(), h.base_offset.value(),
                      h.last_offset().value(),
                      h.base_offset < end_ ? "" : fmt::format(", not at {}", lane.start.value())));
    TRY(append(lane, number, cursor.batch()));
  }
}

Result<void> VerbatimCopy::append(const Lane& lane, std::size_t number, const BatchView& batch) {
  if (!empty_ && batch.header.base_offset > end_ && appender_->place().dense) {
    // Before the first batch behind a gap: from then on it is not taken for damage.
    TRY_ASSIGN(TopicInfo topic, allow_gaps(store_, writer_.topic(number)));
    appender_.reset();
    TRY(writer_.replace_topic(number, std::move(topic)));
    const Offset end = end_;
    TRY(open(lane.place.partition, number));
    end_ = end;  // append_as_it_stands() sees whether it is still so
  }
  if (empty_ && batch.header.base_offset < lane.start) {
    // What is in front of it was trimmed away, or is not asked for: it is not to be seen.
    const LogEnv& env = store_.env();
    TRY_ASSIGN(const auto operation, env.locks.begin());
    TRY_ASSIGN(const auto byte, env.locks.lock_byte("topics"));
    TRY(set_log_start(env, appender_->place().topic, lane.place.partition, lane.start));
  }
  TRY_ASSIGN(const Appender::Appended at, appender_->append_as_it_stands(batch.bytes, end_));
  empty_ = false;
  end_ = at.last + 1;
  records_ += batch.header.control() ? 0 : batch.header.count;
  writer_.note_appended(appender_, batch.header.size());
  return {};
}

}  // namespace spool
