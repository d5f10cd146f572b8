#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "replayer.h"
#include "store/internal_topics.h"

namespace spool {

namespace {

/// With more partitions in the target than this, each is opened by its first record.
constexpr std::size_t kOpenAheadMax = 256;

}  // namespace

Result<void> Replayer::open_resume() {
  Fs& fs = target_->env().fs;
  TRY_ASSIGN(const std::string name, ReplayResume::lock_name(fs, *options_.resume));
  TRY_ASSIGN(resume_lock_, target_->env().locks.lock_byte(name));
  TRY_ASSIGN(resume_, ReplayResume::open(fs, *options_.resume));
  return {};
}

Result<void> Replayer::add_sources() {
  for (const TopicInfo& topic : topics_) {
    TRY_ASSIGN(const auto partitions, choose_partitions(topic, options_.read));
    for (const PartitionId partition : partitions) {
      ReplaySource& s = sources_.emplace_back(topic.name, store_.place(topic, partition));
      const auto known = resume_ ? resume_->known(topic.name, partition) : std::nullopt;
      TRY(s.look(context_, known.has_value()));
      if (known) {
        if (*known > s.view.log_end)
          return fail(Errc::kConflict,
                      fmt::format("{} was replayed up to offset {}, says '{}', and now ends at {}: "
                                  "remove the file to begin anew",
                                  s.place.name(), known->value(), *options_.resume,
                                  s.view.log_end.value()));
        s.start = *known;
      }
      s.next = s.start;
      if (!resume_) continue;
      TRY_ASSIGN(s.number, resume_->add_source(topic, partition, s.start));
    }
  }
  return {};
}

/// The target's topic; where it is missing, made as those are that go there.
Result<TopicInfo> Replayer::find_or_create(const std::string& name) {
  // A copy of a whole directory has the groups' offsets, too, and a copy is what they are then.
  TRY(options_.verbatim ? check_creatable(name) : check_not_state(name));
  auto found = target_->find_topic(name);
  if (found || found.error().code != Errc::kNotFound) return found;
  const TopicInfo* model = nullptr;
  std::int32_t partitions = 1;
  for (const TopicInfo& topic : topics_) {
    if (target_name(topic.name) != name) continue;
    if (model == nullptr) model = &topic;
    partitions = std::max(partitions, topic.partitions.back().value() + 1);
  }
  TopicConfig config = model->config;
  if (!config.is_set("retention.ms")) TRY(config.set("retention.ms", "-1"));
  // Records that keep their times have none of the log.
  if (!options_.timestamps_now && !options_.verbatim) config.erase("message.timestamp.type");
  auto made = target_->create_topic(name, partitions, config);
  if (!made && made.error().code == Errc::kExists) return target_->find_topic(name);
  return made;
}

/// For all that goes to one target.
Result<PartitionRule> Replayer::rule_for(const TopicInfo& target) {
  using Partitions = ReplayOptions::Partitions;
  PartitionRule rule;
  rule.partitions = target.partitions;
  const auto& all = target.partitions;
  // A foreign directory may lack some of them.
  const bool fits = std::all_of(topics_.begin(), topics_.end(), [&](const TopicInfo& t) {
    return target_name(t.name) != target.name ||
           (t.partitions.back() == all.back() &&
            std::includes(all.begin(), all.end(), t.partitions.begin(), t.partitions.end()));
  });
  rule.keep = options_.verbatim || options_.partitions == Partitions::kKeep ||
              (options_.partitions == Partitions::kAuto && fits);
  if (!rule.keep || fits) return rule;
  for (const ReplaySource& s : sources_)
    if (target_name(s.topic) == target.name &&
        !std::binary_search(all.begin(), all.end(), s.place.partition))
      return fail(Errc::kNotFound,
                  fmt::format("topic '{}' has no partition {}, where {} would go to; it has {}",
                              target.name, s.place.partition.value(), s.place.name(), all.size()));
  return rule;
}

Result<void> Replayer::add_targets() {
  for (const TopicInfo& topic : topics_) {
    const std::string name = target_name(topic.name);
    if (rules_.contains(name)) continue;
    TRY_ASSIGN(TopicInfo made, find_or_create(name));
    const std::size_t number = writer_->add_topic(std::move(made));
    const TopicInfo& target = writer_->topic(number);
    TRY_ASSIGN(PartitionRule rule, rule_for(target));
    if (resume_) {
      TRY_ASSIGN(rule, resume_->add_target(*target_, target, rule));
      for (const PartitionId partition : resume_->found_in(name)) {
        TRY_ASSIGN(auto appender, writer_->appender(number, partition));
        TRY(appender->open());
        writer_->note_appended(std::move(appender), 0);
      }
    }
    const PartitionRule& kept = rules_[name] = std::move(rule);
    for (ReplaySource& s : sources_) {
      if (target_name(s.topic) != name) continue;
      s.target = number;
      s.rule = &kept;
    }
  }
  return {};
}

/// Making a partition, or repairing its end, takes syncs of the disk: before the pace begins.
Result<void> Replayer::open_targets() {
  std::set<std::pair<std::size_t, PartitionId>> wanted;
  for (const ReplaySource& s : sources_) {
    if (s.start >= s.limit()) continue;
    if (s.rule->keep) {
      wanted.emplace(s.target, s.place.partition);
    } else {
      for (const PartitionId partition : s.rule->partitions)
        wanted.emplace(s.target, partition);
    }
  }
  if (wanted.size() > kOpenAheadMax) return {};
  for (const auto& [target, partition] : wanted) {
    TRY_ASSIGN(const auto appender, writer_->appender(target, partition));
    TRY(appender->open());
  }
  return {};
}

}  // namespace spool
