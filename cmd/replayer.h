#pragma once
/// The work of `spool replay`: replay_sources.cc finds what is replayed and where to, replay.cc
/// does it.

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>

#include "context.h"
#include "lane.h"
#include "output.h"
#include "pacer.h"
#include "printer.h"
#include "progress.h"
#include "replay_options.h"
#include "replay_resume.h"
#include "replay_writer.h"
#include "worker.h"

namespace spool {

/// One partition that is replayed.
struct ReplaySource : Lane {
  using Lane::Lane;
  std::size_t target = 0;  ///< by the writer's numbers
  const PartitionRule* rule = nullptr;
  std::size_t number = 0;  ///< by those of the resume file
  Offset next;             ///< all below is done
};

/// The headers that --origin-headers adds.
class OriginHeaders {
 public:
  std::span<const HeaderView> with(const Lane& lane, const RecordView& record) {
    texts_ = {std::to_string(lane.place.partition.value()), std::to_string(record.offset.value()),
              std::to_string(record.timestamp.value())};
    all_.assign(record.headers->begin(), record.headers->end());
    all_.push_back({"spool.origin.topic", lane.topic});
    all_.push_back({"spool.origin.partition", texts_[0]});
    all_.push_back({"spool.origin.offset", texts_[1]});
    all_.push_back({"spool.origin.timestamp", texts_[2]});
    return all_;
  }

 private:
  std::array<std::string, 3> texts_;
  std::vector<HeaderView> all_;
};

class Replayer {
 public:
  /// `target` is `source` where both are one directory, and nullptr where records are printed.
  Replayer(Store& source, Store* target, const ReplayOptions& options, const Common& common,
           Printer printer, const Args& args)
      : store_(source),
        target_(target),
        options_(options),
        common_(common),
        printer_(std::move(printer)),
        output_(::isatty(STDOUT_FILENO) == 1 && !options.read.raw),
        progress_(args, target != nullptr || stdout_is_file()),
        context_{source.env(), options_.read, &reader_,
                 [this](const std::string& text) { tell(text); }},
        pacer_(options.speed) {
    if (target_ == nullptr) return;
    writer_.emplace(*target_);
    writer_->on_appended = [this](std::size_t topic, PartitionId partition, Offset next_offset,
                                  std::int32_t records) {
      if (resume_)
        resume_->note_appended(writer_->topic(topic).name, partition, next_offset, records);
    };
  }

  int run() { return finish(work()); }

 private:
  enum class Flow { kOn, kStop };

  [[nodiscard]] Result<void> work();
  [[nodiscard]] Result<void> open_resume();
  [[nodiscard]] Result<void> add_sources();
  [[nodiscard]] Result<void> add_targets();
  [[nodiscard]] Result<TopicInfo> find_or_create(const std::string& name);
  [[nodiscard]] Result<PartitionRule> rule_for(const TopicInfo& target);
  [[nodiscard]] Result<void> open_targets();
  [[nodiscard]] Result<void> replay();
  [[nodiscard]] Result<void> copy();
  [[nodiscard]] Result<Flow> handle(ReplaySource& source);
  [[nodiscard]] Result<Flow> wait_until_due(TimestampMs timestamp);
  [[nodiscard]] Result<Flow> wait(std::int64_t due);
  [[nodiscard]] Result<bool> emit(ReplaySource& source, PartitionId partition);
  [[nodiscard]] Result<bool> push_out();
  [[nodiscard]] Result<void> look_after(std::int64_t now);
  [[nodiscard]] ReplayProgress snapshot(bool ended);
  [[nodiscard]] std::function<Result<void>()> saving(bool ended);
  [[nodiscard]] bool full() const { return left_ && *left_ <= 0; }
  [[nodiscard]] std::string target_name(const std::string& topic) const {
    return options_.to_topic.value_or(topic);
  }
  void show_progress();
  void tell(const std::string& text) const {
    if (!common_.quiet) say(text);
  }
  [[nodiscard]] Result<void> store_rest(bool good);
  [[nodiscard]] int finish(const Result<void>& done);
  [[nodiscard]] static int report(const Result<void>& done);
  [[nodiscard]] int finish_output(const Result<void>& done);

  Store& store_;
  Store* const target_;
  const ReplayOptions& options_;
  const Common& common_;
  const Printer printer_;
  Output output_;
  Worker reader_;
  Progress progress_;
  LaneContext context_;
  Pacer pacer_;
  std::vector<TopicInfo> topics_;
  std::map<std::string, PartitionRule> rules_;  ///< by target topic; addresses stay
  std::list<ReplaySource> sources_;             ///< the same: streams borrow the places
  DirLocks::ByteLock resume_lock_;
  std::optional<ReplayResume> resume_;
  std::optional<ReplayWriter> writer_;
  OriginHeaders origin_headers_;
  std::string piece_;                 ///< of the output
  std::optional<std::int64_t> left_;  ///< of --count
  std::int64_t records_ = 0;
  std::int64_t open_since_ns_ = 0;  ///< of the oldest record that is not pushed out; 0: none
  std::int64_t next_sync_ns_ = 0;
  std::int64_t last_record_ns_ = 0;
  std::int64_t looks_ = 0;
  bool changed_ = false;  ///< since the last sync
  bool begun_ = false;    ///< everything is opened: ReplaySource::next counts
  bool ended_ = false;    ///< all that was asked for is done
  bool timed_out_ = false;
};

}  // namespace spool
