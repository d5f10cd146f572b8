#pragma once
/// One process that reads for a group, a file of offsets or --exec: the class behind
/// consume_group.h. What it does while it reads is in consume_group.cc, commands, acknowledgements
/// and the end in consume_group_end.cc.

#include <algorithm>
#include <csignal>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

#include "ack_fd.h"
#include "commit_rule.h"
#include "consume_options.h"
#include "context.h"
#include "exec.h"
#include "group_lanes.h"
#include "io/watch.h"
#include "output.h"
#include "printer.h"
#include "worker.h"

namespace spool {

inline constexpr std::size_t kBatchBytesMax = std::size_t{4} << 20;

/// Not thread-safe; commit() and note_blocked() are called by the committing thread too.
class GroupConsumer {
 public:
  GroupConsumer(Store& store, const ConsumeOptions& options, const Common& common, Printer printer)
      : store_(store),
        options_(options),
        group_(options.group),
        common_(common),
        printer_(std::move(printer)),
        plain_(printer_.plain() && !options.group.exec && !options.group.ack_fd),
        output_(::isatty(STDOUT_FILENO) == 1 && !options.raw),
        delivery_(output_),
        offset_store_(store),
        offsets_(store, options.group, offset_store_),
        watcher_(options.follow && !store.shared_host_fs()),
        context_{store.env(), options, &reader_, [this](const std::string& text) { tell(text); }},
        committer_(rule(options.group), delivery_,
                   [this](const std::vector<LaneCommit>& lanes) { return commit(lanes); }) {
    if (group_.name)
      membership_.emplace(
          store_, offset_store_,
          Membership::Options{*group_.name, "spool", options.partitions.has_value()});
    if (group_.exec) exec_.emplace(*group_.exec);
    if (group_.ack_fd) acks_.emplace(*group_.ack_fd);
  }
  ~GroupConsumer() {
    committer_.stop();
    if (pid_fd_ >= 0) ::close(pid_fd_);
  }
  GroupConsumer(const GroupConsumer&) = delete;
  GroupConsumer& operator=(const GroupConsumer&) = delete;

  int run();

 private:
  enum class Flow { kOn, kStop };
  using Lanes = std::list<GroupLane>;

  static CommitRule rule(const GroupOptions& g) {
    return g.commits() ? g.commit : CommitRule::kNever;
  }
  [[nodiscard]] Result<void> commit(const std::vector<LaneCommit>& lanes);
  [[nodiscard]] Result<void> work();
  [[nodiscard]] Result<void> join(const std::string& name, bool late);
  [[nodiscard]] Result<void> look_for_topics();
  [[nodiscard]] Result<void> rebalance();
  [[nodiscard]] Result<void> add_lanes(const std::vector<TopicPartition>& gained);
  [[nodiscard]] Result<void> let_go();
  [[nodiscard]] bool print(GroupLane& lane);
  [[nodiscard]] bool print_batch(GroupLane& lane);
  [[nodiscard]] bool flush();
  [[nodiscard]] Result<Flow> read_turn(GroupLane& lane, bool& progress);
  [[nodiscard]] Result<Flow> read_all_turns(bool& progress);
  [[nodiscard]] Result<Flow> on_deleted(const std::string& topic, const Error& error);
  [[nodiscard]] Result<bool> all_done();
  [[nodiscard]] Result<Flow> wait();
  [[nodiscard]] Result<void> start_command(GroupLane& lane);
  [[nodiscard]] Result<void> collect_commands();
  [[nodiscard]] Result<void> finish_commands();
  [[nodiscard]] Result<void> take_acks();
  [[nodiscard]] Result<void> finish_acks();
  void note_idle(GroupLane& lane);
  void note_blocked();
  [[nodiscard]] std::int64_t wait_until_taken();
  [[nodiscard]] bool busy(const GroupLane& lane) const {
    return exec_ && (exec_->runs(lane.id) || lane.batched >= group_.batch ||
                     lane.batch.size() >= kBatchBytesMax);
  }
  [[nodiscard]] bool full() const { return options_.count && printed_ >= *options_.count; }
  [[nodiscard]] std::int64_t place() { return output_.bytes() + std::ssize(output_.text()); }
  [[nodiscard]] GroupLane* find(const TopicPartition& at) {
    for (GroupLane& l : lanes_)
      if (l.tp == at) return &l;
    return nullptr;
  }
  void watch(GroupLane& lane) {
    if (options_.follow) lane.watched = watcher_.add(lane.place.dir, lane.id);
  }
  void tell(const std::string& text) const {
    if (!common_.quiet) say(text);
  }
  [[nodiscard]] int finish(Result<void> done);

  Store& store_;
  const ConsumeOptions& options_;
  const GroupOptions& group_;
  const Common& common_;
  Printer printer_;
  const bool plain_;
  Output output_;
  Delivery delivery_;
  OffsetStore offset_store_;
  Offsets offsets_;
  std::optional<Membership> membership_;
  std::optional<ExecPool> exec_;
  std::optional<AckReader> acks_;
  Watcher watcher_;
  Worker reader_;  ///< before the lanes, which it reads for
  LaneContext context_;
  Lanes lanes_;  ///< addresses stay: streams borrow the places
  std::map<std::string, TopicInfo> topics_;
  std::vector<std::string> missing_;
  std::map<TopicPartition, Offset> ends_;  ///< without -f: of the data as it was at the start
  std::set<TopicPartition> seen_;          ///< partitions that were ours before
  std::set<TopicPartition> late_;          ///< partitions that came while we followed

  std::mutex known_mutex_;  ///< guards the next two, which the committing thread reads
  std::map<int, TopicPartition> known_;
  std::map<TopicPartition, PartitionPlace> places_;

  int next_id_ = 0;
  std::int64_t printed_ = 0;
  std::int64_t last_progress_ms_ = 0;
  std::int64_t next_look_ms_ = 0;
  std::int64_t next_others_ms_ = 0;
  bool others_done_ = false;
  std::int64_t taken_before_ = -1;  ///< of the committing thread
  std::int64_t taken_since_ms_ = 0;
  bool told_blocked_ = false;
  int pid_fd_ = -1;
  bool pid_was_gone_ = false;
  bool timed_out_ = false;
  bool closed_ = false;  ///< nobody reads our output any more
  Committer committer_;  ///< last: its thread uses the others
};

}  // namespace spool
