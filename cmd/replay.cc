#include <algorithm>
#include <array>
#include <csignal>
#include <poll.h>
#include <set>
#include <unistd.h>

#include <fmt/format.h>

#include "commands.h"
#include "lane_merge.h"
#include "read_end.h"
#include "record_output.h"
#include "replay_verbatim.h"
#include "replayer.h"

namespace spool {

namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;
/// What was appended is synced, and the resume file renewed, so often; or after so much.
constexpr std::int64_t kSyncEveryNs = 500 * kNsPerMs;
constexpr std::int64_t kSyncBytes = std::int64_t{32} << 20;
/// A record that is due waits so long for others to share its batch, where the replay is late.
constexpr std::int64_t kLingerNs = 2 * kNsPerMs;
/// The last part of a wait is slept, and not polled: that is more exact.
constexpr std::int64_t kSleepNs = 20 * kNsPerMs;
/// At full speed the clock is looked at once in so many records.
constexpr std::int64_t kRecordsPerLook = 256;
/// No farther from the resume file than its sequence numbers tell, twice over: the file may be one
/// snapshot behind.
constexpr std::int64_t kOffsetsPerSave = kSequenceReach / 2;

}  // namespace

Result<void> Replayer::work() {
  std::set<std::string> names;
  for (const std::string& name : options_.read.topics) {
    if (!names.insert(name).second)
      return fail(Errc::kUsage, fmt::format("topic '{}' is given twice", name));
    TRY_ASSIGN(topics_.emplace_back(), store_.find_topic(name));
  }
  if (options_.resume) TRY(open_resume());
  TRY(add_sources());
  left_ = options_.read.count;
  if (target_ != nullptr) TRY(add_targets());
  if (resume_) {
    // Before the first batch that could be found by it.
    TRY(writer_->sync_now(saving(false)));
    if (left_) *left_ -= resume_->count();
  }
  begun_ = true;
  if (writer_ && pacer_.paces() && !options_.verbatim) TRY(open_targets());
  last_record_ns_ = Pacer::now_ns();
  next_sync_ns_ = last_record_ns_ + kSyncEveryNs;
  return options_.verbatim ? copy() : replay();
}

ReplayProgress Replayer::snapshot(bool ended) {
  std::vector<std::pair<std::size_t, Offset>> next;
  for (const ReplaySource& s : sources_)
    next.emplace_back(s.number, s.next);
  return resume_->snapshot(next, ended);
}

/// What is to happen when all that was appended until now is on disk.
std::function<Result<void>()> Replayer::saving(bool ended) {
  if (!resume_) return {};
  return [this, progress = snapshot(ended)] { return resume_->save(progress); };
}

void Replayer::show_progress() {
  if (!progress_.enabled()) return;
  Progress::Part part;
  for (const ReplaySource& s : sources_) {
    const Offset stop = std::max(s.limit(), s.start);
    part.total += stop - s.start;
    part.done += std::min(std::max(s.next, s.start), stop) - s.start;
  }
  progress_.update(writer_ ? writer_->bytes() : output_.bytes(), records_, part);
}

/// What is to be done from time to time.
Result<void> Replayer::look_after(std::int64_t now) {
  show_progress();
  if (!writer_ || !changed_) return {};
  if (now < next_sync_ns_ && writer_->unsynced_bytes() < kSyncBytes) return {};
  if (!writer_->may_sync()) return {};
  TRY(push_out());
  changed_ = false;
  next_sync_ns_ = now + kSyncEveryNs;
  return writer_->sync_beside(saving(false));
}

/// Appends, or prints, what waits for company. False when the output takes nothing any more.
Result<bool> Replayer::push_out() {
  open_since_ns_ = 0;
  if (!writer_) {
    if (!pacer_.paces() || output_.escapes()) return output_.flush();
    // From here, and not by the thread that writes: one switch less until it is to be seen.
    piece_.swap(output_.text());
    const bool good = output_.write_through(piece_);
    piece_.clear();
    return good;
  }
  TRY(writer_->flush());
  return true;
}

Result<Replayer::Flow> Replayer::wait_until_due(TimestampMs timestamp) {
  if (!pacer_.paces()) {
    if ((++looks_ & (kRecordsPerLook - 1)) == 0) TRY(look_after(Pacer::now_ns()));
    return Flow::kOn;
  }
  const std::int64_t now = Pacer::now_ns();
  const std::int64_t due = pacer_.due_ns(timestamp, now);
  if (due > now) return wait(due);
  if (open_since_ns_ != 0 && now - open_since_ns_ > kLingerNs) {
    TRY_ASSIGN(const bool good, push_out());
    if (!good) return Flow::kStop;
  }
  TRY(look_after(now));
  return Flow::kOn;
}

/// Waits for the next record's time; what is done stays where it can be seen.
Result<Replayer::Flow> Replayer::wait(std::int64_t due) {
  TRY_ASSIGN(const bool good, push_out());
  if (!good) return Flow::kStop;
  for (;;) {
    std::int64_t now = Pacer::now_ns();
    TRY(look_after(now));
    now = Pacer::now_ns();
    if (pending_signal() != 0) return Flow::kStop;
    if (now >= due) return Flow::kOn;
    if (due - now <= 2 * kSleepNs) {
      Pacer::sleep_until(due);
      continue;
    }
    std::int64_t left = due - now - kSleepNs;
    if (writer_ && changed_) left = std::min(left, std::max(next_sync_ns_ - now, kNsPerMs));
    if (common_.timeout_ms) {
      const std::int64_t patience = last_record_ns_ + *common_.timeout_ms * kNsPerMs - now;
      if (patience <= 0) {
        timed_out_ = true;
        return Flow::kStop;
      }
      left = std::min(left, patience);
    }
    std::array<pollfd, 2> fds{{{signal_fd(), POLLIN, 0}, {writer_ ? -1 : STDOUT_FILENO, 0, 0}}};
    (void)::poll(fds.data(), fds.size(),
                 static_cast<int>(std::min<std::int64_t>(left / kNsPerMs, INT32_MAX)));
    if ((fds[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) die_of(SIGPIPE);
  }
}

/// False when the output takes nothing any more.
Result<bool> Replayer::emit(ReplaySource& source, PartitionId partition) {
  if (!writer_) {
    if (!print_record(source, records_, printer_, output_)) return false;
    return options_.read.unbuffered ? output_.flush() : output_.flush_if_full();
  }
  const RecordView& record = source.stream->record();
  OutgoingRecord out;
  out.timestamp = options_.timestamps_now ? target_->env().clock.now() : record.timestamp;
  out.key = record.key;
  out.value = record.value;
  out.headers = options_.origin_headers ? origin_headers_.with(source, record)
                                        : std::span<const HeaderView>(*record.headers);
  out.codec = source.stream->batch().codec();
  out.source_offset = record.offset;
  if (resume_) {
    out.producer_id = resume_->producer_id(source.number);
    if (record.offset - resume_->saved(source.number) >= kOffsetsPerSave) {
      TRY(push_out());
      source.next = record.offset;  // nothing lies between
      TRY(writer_->sync_now(saving(false)));
    }
  }
  auto added = writer_->add(source.target, partition, out);
  if (added) return true;
  if (added.error().code == Errc::kTooLarge)
    return fail(Errc::kTooLarge, fmt::format("{}, offset {}: {}", source.place.name(),
                                             record.offset.value(), added.error().message()));
  return fail(added.error());
}

Result<Replayer::Flow> Replayer::handle(ReplaySource& source) {
  const RecordView& record = source.stream->record();
  changed_ = true;
  PartitionId partition = source.place.partition;
  if (source.rule != nullptr) partition = source.rule->choose(partition, record.offset, record.key);
  const bool wanted = printer_.wants(record) &&
                      !(resume_ && resume_->has(source.number, writer_->topic(source.target).name,
                                                partition, record.offset));
  if (wanted) {
    TRY_ASSIGN(const Flow flow, wait_until_due(record.timestamp));
    if (flow == Flow::kStop) return flow;
    ++records_;
    if (left_) --*left_;
    TRY_ASSIGN(const bool good, emit(source, partition));
    if (!good) return Flow::kStop;
    if (pacer_.paces()) {
      last_record_ns_ = Pacer::now_ns();
      if (open_since_ns_ == 0) open_since_ns_ = last_record_ns_;
    }
  } else if ((++looks_ & (kRecordsPerLook - 1)) == 0) {
    TRY(look_after(Pacer::now_ns()));
  }
  source.next = record.offset + 1;
  return Flow::kOn;
}

Result<void> Replayer::replay() {
  std::vector<Lane*> lanes;
  for (ReplaySource& s : sources_)
    lanes.push_back(&s);
  LaneMerge merge(context_, std::move(lanes), std::nullopt);
  while (!full()) {
    if (pending_signal() != 0) return {};
    TRY_ASSIGN(Lane* const lane, merge.next());
    if (lane == nullptr) {
      for (ReplaySource& s : sources_)
        s.next = std::max(s.next, s.start);  // what was left out at the end, too
      break;
    }
    TRY_ASSIGN(const Flow flow, handle(static_cast<ReplaySource&>(*lane)));
    if (flow == Flow::kStop) return {};
  }
  ended_ = true;
  return {};
}

Result<void> Replayer::copy() {
  ReplaySource* source = nullptr;
  VerbatimCopy* now_copying = nullptr;
  VerbatimCopy copy(context_, *target_, *writer_, [&]() -> Result<bool> {
    if (now_copying->end() > source->next) {
      source->next = now_copying->end();
      records_ = now_copying->records();
      changed_ = true;
      if (resume_)
        resume_->note_appended(writer_->topic(source->target).name, source->place.partition,
                               source->next, 0);
    }
    TRY(look_after(Pacer::now_ns()));
    return pending_signal() == 0;
  });
  now_copying = &copy;
  for (ReplaySource& s : sources_) {
    source = &s;
    TRY_ASSIGN(const bool all, copy.copy(s, s.target));
    if (!all) return {};
    s.next = std::max(s.next, copy.end());
  }
  ended_ = true;
  return {};
}

/// Stores what was taken. `good`: everything below ReplaySource::next was.
Result<void> Replayer::store_rest(bool good) {
  if (good) TRY(writer_->flush());
  TRY(writer_->sync_now(good ? saving(ended_) : std::function<Result<void>()>()));
  return writer_->close();
}

/// The status of what failed. What a signal interrupted is no failure.
int Replayer::report(const Result<void>& done) {
  if (done || (pending_signal() != 0 && done.error().code == Errc::kCancelled)) return status::kOk;
  if (done.error().code == Errc::kUsage) return usage_error("replay", done.error());
  return report_error(done.error());
}

int Replayer::finish_output(const Result<void>& done) {
  const bool written = output_.finish();
  progress_.clear();
  if (!done) return report(done);
  return !written && pending_signal() == 0 ? report_unwritten(output_) : status::kOk;
}

int Replayer::finish(const Result<void>& done) {
  int result = status::kOk;
  if (!writer_) {
    result = finish_output(done);
  } else {
    // What failed in reading does not touch what was read before; a writer that failed refuses.
    const auto stored = store_rest(begun_);
    progress_.clear();
    result = report(done);
    if (done && result == status::kOk) result = report(stored);
  }
  return result != status::kOk ? result : read_status(context_, common_, timed_out_, records_);
}

namespace {

/// Errc::kUsage when a topic would be replayed into itself.
Result<void> check_not_itself(Fs& fs, const ReplayOptions& options, const Common& common) {
  if (!options.to_target()) return {};
  if (options.to_dir) {
    const auto from = fs.stat(common.dir);
    const auto to = fs.stat(*options.to_dir);
    if (!from || !to || !from->same_file(*to)) return {};
  }
  for (const std::string& topic : options.read.topics)
    if (options.to_topic.value_or(topic) == topic)
      return fail(Errc::kUsage,
                  fmt::format("topic '{}' would be replayed into itself: give another "
                              "topic or directory",
                              topic));
  return {};
}

}  // namespace

int run_replay(const Args& args) {
  const auto common = read_common(args);
  if (!common) return usage_error("replay", common.error());
  const Store::Options store_opts = store_options(*common);
  const auto options = read_replay_options(args, store_opts.clock.now());
  if (!options) return usage_error("replay", options.error());
  auto printer = Printer::make(options->read);
  if (!printer) return usage_error("replay", printer.error());
  if (const auto other = check_not_itself(store_opts.fs, *options, *common); !other)
    return usage_error("replay", other.error());
  install_signals();
  if (options->to_target()) std::signal(SIGXFSZ, SIG_IGN);  // an error like a full disk
  const bool one_dir = options->to_topic && !options->to_dir;
  auto source = one_dir ? Store::open_for_writing(store_opts, common->dir, false)
                        : Store::open(store_opts, common->dir);
  if (!source) return report_open_error(source.error(), common->dir);
  for (const std::string& topic : options->read.topics)  // before anything is made for it
    if (const auto found = (*source)->find_topic(topic); !found) return report_error(found.error());
  std::unique_ptr<Store> target;
  if (options->to_dir) {
    auto opened = Store::open_for_writing(store_opts, *options->to_dir, true);
    if (!opened) return report_open_error(opened.error(), *options->to_dir);
    target = std::move(*opened);
  }
  Store* const to = target ? target.get() : one_dir ? source->get() : nullptr;
  return Replayer(**source, to, *options, *common, std::move(*printer), args).run();
}

}  // namespace spool
