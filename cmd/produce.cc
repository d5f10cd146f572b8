#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <random>
#include <unistd.h>

#include <fmt/format.h>

#include "appender_cache.h"
#include "batcher.h"
#include "commands.h"
#include "context.h"
#include "escapes.h"
#include "framing.h"
#include "input.h"
#include "produce_options.h"
#include "progress.h"
#include "reporter.h"
#include "store/internal_topics.h"

namespace spool {

namespace {

/// With --rate little is read ahead: after a signal it is stored at once.
constexpr std::size_t kRatedReadBytes = std::size_t{4} << 10;
/// Length fields, deltas and the batch header around one record.
constexpr std::size_t kRecordOverhead = 96;
constexpr std::size_t kBufferKeep = std::size_t{1} << 20;

/// A local topic keeps its records until somebody says otherwise.
Result<TopicInfo> find_or_create(Store& store, const std::string& name, const ProduceOptions& o) {
  TRY(check_not_state(name));
  auto found = store.find_topic(name);
  if (found || found.error().code != Errc::kNotFound || !o.create) return found;
  if (o.partition && *o.partition >= PartitionId(o.new_partitions))
    return fail(
        Errc::kNotFound,
        fmt::format("topic '{}' does not exist, and would have no partition {} (--partitions "
                    "makes more than {})",
                    name, o.partition->value(), o.new_partitions));
  TopicConfig config = o.new_config;
  if (!config.is_set("retention.ms")) TRY(config.set("retention.ms", "-1"));
  auto made = store.create_topic(name, o.new_partitions, config);
  if (!made && made.error().code == Errc::kExists) {
    found = store.find_topic(name);
    if (found) return found;  // somebody was faster; else another topic's name is in the way
  }
  return made;
}

/// One topic that records go to.
struct Sink {
  TopicInfo topic;
  Batcher::Topic* batches = nullptr;
  std::optional<Partitioner> partitioner;
  std::size_t record_bytes_max = SIZE_MAX;  ///< by max.message.bytes, where the topic sets it
};

class Producer {
 public:
  /// `reporter` is for --report.
  Producer(Store& store, const ProduceOptions& options, const Common& common, const Args& args,
           std::unique_ptr<Reporter> reporter)
      : store_(store),
        options_(options),
        common_(common),
        appenders_(store),
        reporter_(std::move(reporter)),
        batcher_(appenders_, batching()),
        input_(options.files),
        plain_lines_(options.plain_lines()),
        input_bytes_(input_.total_bytes()),
        progress_(args, input_.reads_file()) {}

  /// The exit status.
  int run();

 private:
  enum class Flow { kOn, kStop };

  [[nodiscard]] Batcher::Options batching();
  [[nodiscard]] Result<Sink*> sink_for(const std::string& topic);
  [[nodiscard]] Result<void> check_partition(const Sink& sink, PartitionId partition) const;
  [[nodiscard]] Result<void> send_given();
  [[nodiscard]] Result<void> pump();
  [[nodiscard]] Result<Flow> wait_for_input();
  [[nodiscard]] Result<Flow> pace();
  [[nodiscard]] Result<Flow> take_records(bool eof);
  [[nodiscard]] Result<Flow> take_plain_lines();
  [[nodiscard]] Result<Flow> accept(const ParsedRecord& record);
  void tee(std::size_t from);
  [[nodiscard]] std::int64_t count_rest();
  void say_counts(bool closing_failed);
  void say_lost_output();
  [[nodiscard]] bool flush_if_idle();
  [[nodiscard]] bool any_failed();
  [[nodiscard]] int finish(Result<void> pumped);

  Store& store_;
  const ProduceOptions& options_;
  const Common& common_;
  AppenderCache appenders_;
  const std::unique_ptr<Reporter> reporter_;
  Batcher batcher_;
  std::map<std::string, Sink> sinks_;
  Input input_;
  const bool plain_lines_;
  const std::int64_t input_bytes_;
  Progress progress_;
  std::optional<Framer> framer_;
  Buffer buffer_;
  std::size_t used_ = 0;  ///< of buffer_: records already taken
  Sink* sink_ = nullptr;  ///< the one that the last record went to
  std::vector<HeaderView> headers_;
  TimestampMs now_;
  std::int64_t taken_ = 0;
  std::int64_t open_since_ms_ = -1;  ///< of the oldest record that lingers
  std::int64_t last_input_ms_ = 0;
  std::int64_t rate_start_ms_ = 0;
  std::int64_t refused_ = 0;  ///< taken out of the buffer, and by no batcher any more
  std::size_t tee_lost_ = 0;  ///< bytes that stdout did not take, or not all of them
  bool timed_out_ = false;
  int output_problem_ = 0;
};

Result<void> Producer::check_partition(const Sink& sink, PartitionId partition) const {
  const auto& all = sink.topic.partitions;
  if (std::binary_search(all.begin(), all.end(), partition)) return {};
  return fail(Errc::kNotFound, fmt::format("topic '{}' has no partition {}; it has {}",
                                           sink.topic.name, partition.value(), all.size()));
}

Batcher::Options Producer::batching() {
  Batcher::Options o;
  o.batch_bytes = options_.batch_bytes;
  o.fsync = options_.fsync;
  if (!reporter_) return o;
  o.report = true;
  o.report_contents = reporter_->needs_contents();
  o.on_stored = [this](const StoredRecord* stored) {
    reporter_->on_stored(stored);
    if (reporter_->failed()) batcher_.wake();
  };
  return o;
}

Result<Sink*> Producer::sink_for(const std::string& name) {
  if (sink_ != nullptr && sink_->topic.name == name) return sink_;
  if (const auto found = sinks_.find(name); found != sinks_.end()) return &found->second;
  TRY_ASSIGN(TopicInfo topic, find_or_create(store_, name, options_));
  Sink sink;
  Batcher::TopicOptions b;
  b.codec = options_.codec.value_or(topic.config.compression_type().value_or(Codec::kNone));
  b.level = options_.level;
  if (!b.level && b.codec != Codec::kNone) b.level = topic.config.compression_level(b.codec);
  if (const auto limit = topic.config.max_message_bytes()) {
    b.batch_bytes_max = static_cast<std::size_t>(*limit);
    sink.record_bytes_max =
        b.batch_bytes_max > kRecordOverhead ? b.batch_bytes_max - kRecordOverhead : 0;
  }
  sink.topic = topic;
  if (options_.partition) TRY(check_partition(sink, *options_.partition));
  // A foreign directory may lack partitions: records are spread over those that are there.
  std::random_device seed;
  sink.partitioner.emplace(options_.partitioner.value_or(PartitionerKind::kMurmur2),
                           static_cast<std::int32_t>(topic.partitions.size()),
                           (std::uint64_t{seed()} << 32) | seed());
  Sink& placed = sinks_.emplace(name, std::move(sink)).first->second;
  placed.batches = &batcher_.add_topic(topic, std::move(b));
  // What is wrong with the partition is better said now than after a minute of typing.
  if (options_.partition) batcher_.open(*placed.batches, *options_.partition);
  if (topic.partitions.size() == 1) batcher_.open(*placed.batches, topic.partitions.front());
  return &placed;
}

/// Whether nothing more should be read: what was read is still stored when only stdout is gone.
bool Producer::any_failed() {
  if (reporter_ && reporter_->failed()) output_problem_ = reporter_->problem();
  return output_problem_ != 0 || batcher_.failed();
}

/// False when the appender is busy: it wakes us.
bool Producer::flush_if_idle() {
  batcher_.clear_wake();
  const bool flushed = batcher_.flush_if_idle();
  if (flushed) open_since_ms_ = -1;
  return flushed;
}

/// The input pauses: sends what is open on its way, after its linger time, and waits.
Result<Producer::Flow> Producer::wait_for_input() {
  for (;;) {
    if (any_failed()) return Flow::kStop;
    std::int64_t timeout = -1;
    const std::int64_t now = steady_ms();
    const bool lingers =
        options_.linger_ms > 0 && open_since_ms_ >= 0 && now < open_since_ms_ + options_.linger_ms;
    if (lingers) {
      timeout = open_since_ms_ + options_.linger_ms - now;
    } else {
      (void)flush_if_idle();
      if (any_failed()) return Flow::kStop;  // that may have swallowed a wake-up
    }
    if (common_.timeout_ms) {
      const std::int64_t left = last_input_ms_ + *common_.timeout_ms - now;
      if (left <= 0) {
        timed_out_ = true;
        return Flow::kStop;
      }
      timeout = timeout < 0 ? left : std::min(timeout, left);
    }
    switch (input_.wait(timeout, {batcher_.wake_fd()}, true)) {
      case Input::Event::kReadable:
        return Flow::kOn;
      case Input::Event::kSignal:
        return Flow::kStop;
      case Input::Event::kWake:
      case Input::Event::kTimeout:
        break;
    }
  }
}

/// Holds the next record back until --rate allows it. After a signal, or when stdout is gone,
/// nobody is held up any more: what was read is stored.
Result<Producer::Flow> Producer::pace() {
  if (!options_.rate) return Flow::kOn;
  if (taken_ == 0) rate_start_ms_ = steady_ms();
  const auto due = rate_start_ms_ +
                   static_cast<std::int64_t>(static_cast<double>(taken_) * 1000.0 / *options_.rate);
  for (std::int64_t now = steady_ms(); now < due; now = steady_ms()) {
    (void)flush_if_idle();
    if (batcher_.failed()) return Flow::kStop;
    if (any_failed()) break;
    if (input_.wait(due - now, {batcher_.wake_fd()}, false) == Input::Event::kSignal) break;
  }
  now_ = store_.env().clock.now();
  return Flow::kOn;
}

/// Copies what was just read. Where that fails it is the last that was read, and still stored.
void Producer::tee(std::size_t from) {
  if (!options_.tee || from >= buffer_.size()) return;
  const std::string_view text = buffer_.text().substr(from);
  if (write_all(STDOUT_FILENO, text)) return;
  output_problem_ = errno;
  tee_lost_ = text.size();
}

Result<Producer::Flow> Producer::accept(const ParsedRecord& record) {
  if (options_.count && taken_ >= *options_.count) return Flow::kStop;
  TRY_ASSIGN(const Flow paced, pace());
  if (paced == Flow::kStop) {
    ++refused_;
    return Flow::kStop;
  }
  if (!options_.topic) {
    if (!record.topic) {
      TRY(framer_->bad(Errc::kInvalid, "no topic in it, and none was given"));
      return Flow::kOn;
    }
    auto legal = check_topic_name(*record.topic);
    if (legal) legal = check_not_state(*record.topic);
    if (!legal) {
      TRY(framer_->bad(Errc::kInvalid, legal.error().context));
      return Flow::kOn;
    }
    TRY_ASSIGN(sink_, sink_for(std::string(*record.topic)));
  }
  std::optional<std::string_view> value = record.value;
  if (!record.value_given && !options_.framing.tombstones) {
    TRY(framer_->bad(Errc::kInvalid, "no value in it (-Z makes tombstones of such records)"));
    return Flow::kOn;
  }
  const std::optional<std::string_view> key = options_.key ? options_.key : record.key;
  std::span<const HeaderView> headers = record.headers;
  if (!options_.headers.empty()) {
    headers_.assign(record.headers.begin(), record.headers.end());
    for (const HeaderArgument& h : options_.headers)
      headers_.push_back({h.name, h.value});
    headers = headers_;
  }
  std::size_t bytes = (key ? key->size() : 0) + (value ? value->size() : 0);
  for (const HeaderView& h : headers)
    bytes += h.name.size() + (h.value ? h.value->size() : 0) + 10;
  if (bytes > sink_->record_bytes_max) {
    TRY(framer_->bad(Errc::kTooLarge,
                     fmt::format("{} bytes do not fit into the topic's max.message.bytes={}", bytes,
                                 sink_->topic.config.max_message_bytes().value_or(0))));
    return Flow::kOn;
  }
  PartitionId partition;
  if (options_.partition) {
    partition = *options_.partition;
  } else if (record.partition && !options_.partitioner) {
    partition = *record.partition;
    if (const auto there = check_partition(*sink_, partition); !there) {
      TRY(framer_->bad(Errc::kInvalid, there.error().context));
      return Flow::kOn;
    }
  } else {
    partition =
        sink_->topic.partitions[static_cast<std::size_t>(sink_->partitioner->choose(key).value())];
  }
  TimestampMs timestamp = options_.timestamp.value_or(record.timestamp.value_or(now_));
  if (timestamp == kNoTimestamp) timestamp = now_;
  const std::int64_t before = batcher_.added();
  if (!batcher_.add(*sink_->batches, partition, timestamp, key, value, headers)) {
    if (batcher_.added() == before) ++refused_;
    return Flow::kStop;
  }
  if (batcher_.take_batch_done()) sink_->partitioner->batch_done();
  ++taken_;
  if (open_since_ms_ < 0 && options_.linger_ms > 0) open_since_ms_ = steady_ms();
  return options_.count && taken_ >= *options_.count ? Flow::kStop : Flow::kOn;
}

/// The common case, without a look at anything but the delimiter. What it leaves is for the careful
/// way.
Result<Producer::Flow> Producer::take_plain_lines() {
  const TimestampMs timestamp = options_.timestamp.value_or(now_);
  const std::size_t longest = std::min(options_.framing.record_bytes_max, sink_->record_bytes_max);
  const char delimiter = options_.framing.delimiter.front();
  for (;;) {
    const PartitionId partition =
        options_.partition.value_or(sink_->topic.partitions[static_cast<std::size_t>(
            sink_->partitioner->choose(std::nullopt).value())]);
    const std::int64_t before = batcher_.added();
    const auto taken = batcher_.add_delimited(*sink_->batches, partition, timestamp,
                                              buffer_.text().substr(used_), delimiter, longest);
    if (!taken) {  // the last ones were counted, and are no rest any more
      for (std::int64_t n = batcher_.added() - before; n > 0; --n)
        used_ = buffer_.text().find(delimiter, used_) + 1;
      return Flow::kStop;
    }
    if (batcher_.take_batch_done()) sink_->partitioner->batch_done();
    if (taken->records == 0) return Flow::kOn;
    used_ += taken->bytes;
    taken_ += taken->records;
    framer_->count_lines(taken->records);
    if (open_since_ms_ < 0 && options_.linger_ms > 0) open_since_ms_ = steady_ms();
  }
}

/// Takes the records that the buffer holds.
Result<Producer::Flow> Producer::take_records(bool eof) {
  if (plain_lines_) {
    TRY_ASSIGN(const Flow flow, take_plain_lines());
    if (flow == Flow::kStop) return flow;
  }
  buffer_.make_room(JsonRecordParser::kPadding);
  ParsedRecord record;
  for (;;) {
    TRY_ASSIGN(const Framer::Step step, framer_->next(buffer_.text().substr(used_), eof, record));
    if (step.got == Framer::Got::kEnd) break;
    if (step.got == Framer::Got::kRecord) {
      TRY_ASSIGN(const Flow flow, accept(record));
      if (flow == Flow::kStop) {
        used_ += step.consumed;
        return flow;
      }
    }
    used_ += step.consumed;
    if (step.got == Framer::Got::kNeedMore) break;
  }
  buffer_.consume_front(used_);
  used_ = 0;
  if (buffer_.empty()) buffer_.shrink(kBufferKeep);
  return Flow::kOn;
}

/// Records that stand on the command line.
Result<void> Producer::send_given() {
  now_ = store_.env().clock.now();
  ParsedRecord record;
  record.value_given = true;
  std::vector<std::optional<std::string_view>> values(options_.values.begin(),
                                                      options_.values.end());
  if (options_.one_tombstone) values.emplace_back(std::nullopt);
  for (auto& value : values) {
    framer_->count_lines(1);
    if (value && options_.framing.tombstones && value->empty()) value.reset();
    if (value && options_.framing.null_marker && *value == *options_.framing.null_marker)
      value.reset();
    record.value = value;
    TRY_ASSIGN(const Flow flow, accept(record));
    if (flow == Flow::kStop) return {};
  }
  return {};
}

Result<void> Producer::pump() {
  if (!options_.read_input) return send_given();
  last_input_ms_ = steady_ms();
  if (options_.count == 0) return {};
  TRY(input_.open_next());
  framer_->begin_file(input_.name());
  if (options_.framing.mode == FramingOptions::Mode::kWhole && input_.size_hint() > 0)
    buffer_.reserve(
        std::min(static_cast<std::size_t>(input_.size_hint()), options_.framing.record_bytes_max) +
        (std::size_t{1} << 19));
  for (;;) {
    if (!input_.readable_now()) {
      TRY_ASSIGN(const Flow flow, wait_for_input());
      if (flow == Flow::kStop) return {};
    }
    if (pending_signal() != 0 || any_failed()) return {};
    const std::size_t before = buffer_.size();
    TRY_ASSIGN(const Input::Got got,
               input_.read(buffer_, options_.rate ? kRatedReadBytes : Input::kReadBytes));
    if (got == Input::Got::kEnd) return {};
    now_ = store_.env().clock.now();
    if (common_.timeout_ms) last_input_ms_ = steady_ms();
    tee(before);
    TRY_ASSIGN(const Flow flow, take_records(got == Input::Got::kFileEnd));
    if (flow == Flow::kStop) return {};
    progress_.update(input_.bytes_read(), taken_, {input_.bytes_read(), input_bytes_});
    if (got == Input::Got::kFileEnd) {
      if (const auto opened = input_.open_next(); !opened) {
        if (pending_signal() != 0) return {};
        return fail(opened.error());
      }
      framer_->begin_file(input_.name());
    }
  }
}

/// Records that were read whole and not taken out of the buffer, because nothing could be stored.
std::int64_t Producer::count_rest() {
  if (!options_.read_input || !framer_ || (options_.count && taken_ >= *options_.count)) return 0;
  std::int64_t rest = 0;
  ParsedRecord record;
  for (;;) {
    const auto step = framer_->next(buffer_.text().substr(used_), false, record);
    if (!step || step->got == Framer::Got::kNeedMore || step->got == Framer::Got::kEnd) break;
    used_ += step->consumed;
    if (step->got == Framer::Got::kRecord) ++rest;
  }
  return rest;
}

/// After a failure: how many of the records are stored, and in which topics.
void Producer::say_counts(bool closing_failed) {
  const std::int64_t read = refused_ + count_rest() + batcher_.added();
  std::int64_t stored = 0;
  for (const auto& [name, sink] : sinks_)
    stored += batcher_.acknowledged(*sink.batches);
  if (stored == read && (!closing_failed || stored == 0)) return;
  say(fmt::format("{} of {} records are stored", stored, read));
  if (sinks_.size() < 2) return;
  for (const auto& [name, sink] : sinks_)
    say(fmt::format("topic '{}': {} of {} records are stored", name,
                    batcher_.acknowledged(*sink.batches), Batcher::added(*sink.batches)));
}

/// After a signal: what stdout's reader did not get.
void Producer::say_lost_output() {
  const std::int64_t reports = reporter_ ? reporter_->lost() : 0;
  if (reports > 0)
    say(
        fmt::format("the reader of stdout takes nothing: reports of up to {} stored records were "
                    "not written",
                    reports));
  if (tee_lost_ > 0)
    say(
        fmt::format("the reader of stdout takes nothing: up to {} bytes of the input were not "
                    "copied to it",
                    tee_lost_));
}

/// Stores what was taken, and tells how it went.
int Producer::finish(Result<void> pumped) {
  int result = status::kOk;
  bool stuck = false;
  bool cancelled = false;
  if (const auto done = batcher_.finish(); !done) {
    progress_.clear();
    stuck = done.error().code == Errc::kTimeout;
    cancelled = done.error().code == Errc::kCancelled;
    result = report_error(done.error());
  }
  if (reporter_ && reporter_->failed()) output_problem_ = reporter_->problem();
  progress_.clear();
  if (!pumped) {
    cancelled = cancelled || pumped.error().code == Errc::kCancelled;
    result = report_error(pumped.error());
  }
  bool closing_failed = false;  // which keeps nothing from being stored
  if (!stuck)
    if (const auto closed = appenders_.close_all();
        !closed && result == status::kOk && closed.error().code != Errc::kCancelled) {
      closing_failed = true;
      result = report_error(closed.error());
    }
  const int signal = pending_signal();
  const std::size_t unended = buffer_.size() - used_;
  say_counts(closing_failed);
  if (framer_->skipped() > 0 && !common_.quiet)
    say(fmt::format(
        "{} {} skipped", framer_->skipped(),
        framer_->skipped() == 1 ? "record did not fit and was" : "records did not fit and were"));
  if (signal != 0) say_lost_output();
  if ((signal != 0 || timed_out_) && result == status::kOk && unended > 0 && options_.read_input &&
      !common_.quiet)
    say(fmt::format("the last {} byte{} of the input ended in no delimiter and {} not stored",
                    unended, unended == 1 ? "" : "s", unended == 1 ? "is" : "are"));
  if (stuck) _exit(signal != 0 ? status::kSignal + signal : status::kFailure);
  if (signal != 0 && cancelled) die_of(signal);
  if (result != status::kOk) return result;
  if (signal != 0) die_of(signal);
  if (output_problem_ == EPIPE) die_of(SIGPIPE);
  if (output_problem_ != 0)
    return report_error(system_error(output_problem_, "cannot write to stdout"));
  if (timed_out_) {
    say(fmt::format("no input for {} ms", *common_.timeout_ms));
    return status::kTimeout;
  }
  return result;
}

int Producer::run() {
  FramingOptions framing = options_.framing;
  framing.padded = true;  // take_records() sees to it
  auto framer = Framer::make(std::move(framing));
  if (!framer) return usage_error("produce", framer.error());
  framer_ = std::move(*framer);
  // What cannot be read is said before a topic is made for it.
  if (options_.read_input)
    if (const auto opened = input_.open_next(); !opened) {
      if (pending_signal() != 0) die_of(pending_signal());
      return report_error(opened.error());
    }
  if (options_.topic) {
    const auto sink = sink_for(*options_.topic);
    if (!sink) {
      const int signal = pending_signal();
      if (signal != 0 && sink.error().code == Errc::kCancelled) {
        (void)report_error(sink.error());
        die_of(signal);
      }
      return report_error(sink.error());
    }
    sink_ = *sink;
  }
  return finish(pump());
}

}  // namespace

int run_produce(const Args& args) {
  const auto common = read_common(args);
  if (!common) return usage_error("produce", common.error());
  const Store::Options store_opts = store_options(*common);
  const auto options = read_produce_options(args, store_opts.clock.now());
  if (!options) return usage_error("produce", options.error());
  if (options->topic)
    if (const auto legal = check_topic_name(*options->topic); !legal)
      return usage_error("produce", legal.error());
  std::unique_ptr<Reporter> reporter;
  if (options->report) {
    auto made = Reporter::make(options->report_format);
    if (!made) return usage_error("produce", made.error());
    reporter = std::move(*made);
  }
  install_signals();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may grow no more is an error like a full disk
  std::signal(SIGPIPE, SIG_IGN);  // a reader that leaves must not cost the records that were read
  auto store = Store::open_for_writing(store_opts, common->dir, options->create);
  if (!store) return report_open_error(store.error(), common->dir);
  return Producer(**store, *options, *common, args, std::move(reporter)).run();
}

}  // namespace spool
