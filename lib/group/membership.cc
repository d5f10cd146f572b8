#include "group/membership.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <unistd.h>

#include <fmt/format.h>

namespace spool {

namespace {

/// After somebody went his locks may be freed a little later than his files are closed.
constexpr std::array<std::int64_t, 4> kLookAgainMs{1, 5, 20, 50};
/// How often to look all the same: with a share that is not complete, and with one that is.
constexpr std::int64_t kWantingMs = 100;
constexpr std::int64_t kContentMs = 1000;
constexpr int kFileToken = 0;

std::int64_t steady_now_ms() {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::steady_clock;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

/// When this process began, in clock ticks since boot: with the pid it names the process for good.
std::int64_t start_ticks(Fs& fs) {
  const auto text = read_file(fs, "/proc/self/stat", 4096);
  if (!text) return 0;
  // Behind the name, which may hold anything, stand the fields from the third on.
  std::size_t at = text->rfind(')');
  constexpr int kFieldsBetween = 20;
  for (int i = 0; i < kFieldsBetween && at != std::string::npos; ++i)
    at = text->find(' ', at + 1);
  std::int64_t out = 0;
  if (at != std::string::npos)
    (void)std::from_chars(text->data() + at + 1, text->data() + text->size(), out);
  return out;
}

}  // namespace

std::int64_t member_base(const std::string& group, const std::string& topic) {
  // No topic's name holds a blank, so no two pairs make the same name.
  return RangeLocks::base_of(fmt::format("member {} {}", group, topic), kMemberBits);
}
std::int64_t claim_base(const std::string& group, const std::string& topic) {
  return RangeLocks::base_of(fmt::format("claim {} {}", group, topic), kClaimBits);
}
std::string group_byte(const std::string& group) {
  return fmt::format("group {}", group);
}

Share fair_share(std::int32_t partitions, std::int32_t members, std::int32_t rank) {
  const std::int32_t least = partitions / members;
  const std::int32_t extra = partitions % members;
  return {rank * least + std::min(rank, extra), least + (rank < extra ? 1 : 0)};
}

Membership::Membership(Store& store, OffsetStore& offsets, Options options)
    : store_(store),
      offsets_(offsets),
      options_(std::move(options)),
      locks_(store.env().fs, store.root(), store.env().file_mode),
      file_(store.env().fs, store.root()),
      watcher_(!store.shared_host_fs()) {}

Membership::~Membership() {
  // The locks first: whoever is woken by the file's closing finds them free.
  for (auto& [name, topic] : topics_) {
    for (const PartitionId p : topic.held)
      locks_.unlock(topic.claims + p.value());
    locks_.unlock(topic.members + topic.slot);
  }
}

/// The lowest free slot.
Result<std::int32_t> Membership::take_slot(std::int64_t base) {
  const std::int32_t first = options_.is_static ? kStaticSlots : 0;
  const std::int32_t end = options_.is_static ? kSlots : kStaticSlots;
  TRY_ASSIGN(const auto taken, locks_.held_by_others(base, kSlots));
  for (std::int32_t slot = first; slot < end; ++slot) {
    if (std::binary_search(taken.begin(), taken.end(), slot)) continue;
    TRY_ASSIGN(const bool got, locks_.try_lock(base + slot));
    if (got) return slot;
  }
  return fail(Errc::kConflict, fmt::format("group '{}' has all the {} members that it can have",
                                           options_.group, end - first));
}

/// Whether a record's member is gone, so that another one may have its place.
Result<bool> Membership::is_free(const MembersFile::Place& place) {
  if (place.record.group.empty()) return true;
  if (group_hash(place.record.group) != place.group_hash) return false;  // cut: no way to ask
  const std::int64_t at = member_base(place.record.group, place.record.topic) + place.record.slot;
  if (locks_.holds(at)) return false;
  TRY_ASSIGN(const bool alive, locks_.others_in(at, 1));
  return !alive;
}

Result<void> Membership::join(const std::string& name, const std::vector<PartitionId>& partitions) {
  if (!partitions.empty() && partitions.back().value() >= 1 << kClaimBits)
    return fail(Errc::kUnsupported, fmt::format("a group reads partitions below {}; topic '{}' has "
                                                "more",
                                                1 << kClaimBits, name));
  const LogEnv& env = store_.env();
  TRY_ASSIGN(const auto byte, env.locks.lock_byte(group_byte(options_.group)));
  TRY_ASSIGN(const auto operation, env.locks.begin());
  Topic topic;
  topic.partitions = partitions;
  topic.members = member_base(options_.group, name);
  topic.claims = claim_base(options_.group, name);
  // Opens the file of the locks before that of the members: the kernel closes them in this order.
  TRY_ASSIGN(topic.slot, take_slot(topic.members));
  const auto undo = [&](const Error& error) {
    locks_.unlock(topic.members + topic.slot);
    return fail(error);
  };
  const auto generation = offsets_.generation(options_.group);
  if (!generation) return undo(generation.error());
  if (joined_ && *generation != generation_)
    return undo(
        Error{Errc::kConflict, 0,
              fmt::format("group '{}' was reset by somebody else; start again", options_.group)});
  generation_ = *generation;
  joined_ = true;
  topic.record.group = options_.group;
  topic.record.topic = name;
  topic.record.slot = topic.slot;
  topic.record.pid = static_cast<std::int32_t>(::getpid());
  topic.record.start_ticks = start_ticks(env.fs);
  topic.record.since = env.clock.now();
  topic.record.generation = generation_;
  topic.record.is_static = options_.is_static;
  topic.record.host = host_name();
  topic.record.client_id = options_.client_id;
  const std::lock_guard guard(mutex_);
  if (auto opened = file_.open_for_writing(env.locks, env.file_mode); !opened)
    return undo(opened.error());
  if (!watched_) watched_ = watcher_.add_file(file_.path(), kFileToken);
  const auto index = file_.add(env.locks, topic.record,
                               [this](const MembersFile::Place& p) { return is_free(p); });
  if (!index) return undo(index.error());
  topic.index = *index;
  topics_[name] = std::move(topic);
  looks_.push_back(0);
  return {};
}

void Membership::set_partitions(const std::string& topic,
                                const std::vector<PartitionId>& partitions) {
  const auto found = topics_.find(topic);
  if (found == topics_.end() || found->second.partitions == partitions) return;
  found->second.partitions = partitions;
  looks_.push_back(0);
}

void Membership::leave(const std::string& name) {
  const auto found = topics_.find(name);
  if (found == topics_.end()) return;
  Topic& topic = found->second;
  for (const PartitionId p : topic.held) {
    locks_.unlock(topic.claims + p.value());
    claims_.erase({name, p});
  }
  topic.held.clear();
  locks_.unlock(topic.members + topic.slot);
  publish(topic);  // wakes the others; the record counts no more
  const std::lock_guard guard(mutex_);
  topics_.erase(found);
}

void Membership::publish(Topic& topic) {
  const std::lock_guard guard(mutex_);
  topic.record.partition_count = static_cast<std::int32_t>(topic.held.size());
  topic.record.partitions.clear();
  for (const PartitionId p : topic.held)
    topic.record.partitions.insert(p.value());
  // It only tells others; those who are not told look from time to time.
  (void)file_.write(topic.index, topic.record);
}

void Membership::set_blocked(TimestampMs since) {
  const std::lock_guard guard(mutex_);
  for (auto& [name, topic] : topics_) {
    if (topic.record.blocked_since == since) continue;
    topic.record.blocked_since = since;
    (void)file_.write(topic.index, topic.record);
  }
}

/// Partitions that members with a static choice have: they are not shared.
Result<std::int32_t> Membership::statically_held(const std::string& name, const Topic& topic) {
  TRY_ASSIGN(const auto slots,
             locks_.held_by_others(topic.members + kStaticSlots, kSlots - kStaticSlots));
  if (slots.empty()) return 0;
  const std::lock_guard guard(mutex_);
  TRY_ASSIGN(const auto places, file_.read_all());
  const std::string hash = group_hash(options_.group);
  std::int32_t out = 0;
  for (const MembersFile::Place& p : places)
    if (p.group_hash == hash && p.record.topic == name && p.record.is_static &&
        std::binary_search(slots.begin(), slots.end(), p.record.slot - kStaticSlots))
      out += p.record.partition_count;
  return out;
}

Result<bool> Membership::claim(const std::string& name, Topic& topic, PartitionId p,
                               Change& change) {
  if (topic.held.contains(p)) return true;
  TRY_ASSIGN(const bool got, locks_.try_lock(topic.claims + p.value()));
  if (!got) return false;
  topic.held.insert(p);
  claims_.insert({name, p});
  change.gained.push_back({name, p});
  return true;
}

Result<void> Membership::look_at(const std::string& name, Topic& topic, Change& change) {
  const std::size_t gained_before = change.gained.size();
  const auto count = static_cast<std::int32_t>(topic.partitions.size());
  if (options_.is_static) {
    for (const PartitionId p : topic.partitions) {
      TRY_ASSIGN(const bool got, claim(name, topic, p, change));
      if (!got) change.wanting = true;
    }
  } else {
    TRY_ASSIGN(const auto others, locks_.held_by_others(topic.members, kStaticSlots));
    const auto rank = static_cast<std::int32_t>(
        std::lower_bound(others.begin(), others.end(), topic.slot) - others.begin());
    const auto members = static_cast<std::int32_t>(others.size()) + 1;
    const Share own = fair_share(count, members, rank);
    TRY_ASSIGN(const std::int32_t elsewhere, statically_held(name, topic));
    const std::int32_t quota = fair_share(std::max(count - elsewhere, 0), members, rank).count;
    const auto in_range = [&](std::int32_t i) {
      return i >= own.first && i < own.first + own.count;
    };
    auto have = static_cast<std::int32_t>(topic.held.size());
    // What is not of our own range goes first, and comes last.
    for (const bool inside : {false, true})
      for (std::int32_t i = 0; i < count && have > quota; ++i) {
        const PartitionId p = topic.partitions[static_cast<std::size_t>(i)];
        if (in_range(i) != inside || !topic.held.contains(p)) continue;
        change.give_up.push_back({name, p});
        --have;
      }
    for (const bool inside : {true, false})
      for (std::int32_t i = 0; i < count && have < quota; ++i) {
        const PartitionId p = topic.partitions[static_cast<std::size_t>(i)];
        if (in_range(i) != inside || topic.held.contains(p)) continue;
        TRY_ASSIGN(const bool got, claim(name, topic, p, change));
        if (got) ++have;
      }
    if (have < quota) change.wanting = true;
  }
  if (change.gained.size() > gained_before) publish(topic);
  return {};
}

Result<void> Membership::check() {
  TRY_ASSIGN(const bool named, locks_.named());
  if (named) return {};
  return fail(Errc::kConflict, fmt::format("'{}/spool.locks' was removed while members of group "
                                           "'{}' were using it; start again",
                                           store_.root(), options_.group));
}

Result<Membership::Change> Membership::look() {
  TRY(check());
  const std::int64_t now = steady_now_ms();
  std::erase_if(looks_, [&](std::int64_t at) { return at <= now; });
  looked_ = now;
  Change change;
  for (auto& [name, topic] : topics_)
    TRY(look_at(name, topic, change));
  wanting_ = change.wanting;
  return change;
}

void Membership::release(const std::vector<TopicPartition>& claims) {
  std::set<std::string> touched;
  for (const TopicPartition& tp : claims) {
    const auto topic = topics_.find(tp.topic);
    if (topic == topics_.end() || topic->second.held.erase(tp.partition) == 0) continue;
    locks_.unlock(topic->second.claims + tp.partition.value());
    claims_.erase(tp);
    touched.insert(tp.topic);
  }
  for (const std::string& name : touched)
    publish(topics_.find(name)->second);
}

void Membership::after_wake() {
  if (watcher_.fd() < 0) return;
  bool all = false;
  if (watcher_.drain(all).empty() && !all) return;
  const std::int64_t now = steady_now_ms();
  looks_.assign(1, now);
  for (const std::int64_t later : kLookAgainMs)
    looks_.push_back(now + later);
}

int Membership::due_in_ms() const {
  const std::int64_t now = steady_now_ms();
  const std::int64_t every = !watched_ ? kProbeMs : wanting_ ? kWantingMs : kContentMs;
  std::int64_t at = looked_ + every;
  for (const std::int64_t look : looks_)
    at = std::min(at, look);
  return static_cast<int>(std::clamp<std::int64_t>(at - now, 0, kContentMs));
}

Result<std::vector<LiveMember>> live_members(const LogEnv& env,
                                             const std::optional<std::string>& group,
                                             const std::vector<std::string>& topics) {
  RangeView view(env.fs, env.root);
  MembersFile file(env.fs, env.root);
  TRY_ASSIGN(const auto places, file.read_all());
  const std::string hash = group ? group_hash(*group) : std::string();
  std::vector<LiveMember> out;
  for (const MembersFile::Place& p : places) {
    if (p.group_hash.empty() || (group && p.group_hash != hash)) continue;
    const std::string name = group ? *group : p.record.group;
    TRY_ASSIGN(const auto alive, view.held(member_base(name, p.record.topic) + p.record.slot, 1));
    if (alive.empty()) continue;
    LiveMember m{p.record, {}};
    m.record.group = name;
    for (const std::int32_t partition : p.record.partitions) {
      TRY_ASSIGN(const auto claimed, view.held(claim_base(name, p.record.topic) + partition, 1));
      if (!claimed.empty()) m.claimed.insert(partition);
    }
    out.push_back(std::move(m));
  }
  if (!group) return out;
  for (const std::string& topic : topics) {
    TRY_ASSIGN(const auto slots, view.held(member_base(*group, topic), kSlots));
    for (const std::int32_t slot : slots) {
      const bool known = std::any_of(out.begin(), out.end(), [&](const LiveMember& m) {
        return m.record.topic == topic && m.record.slot == slot;
      });
      if (known) continue;
      LiveMember m;
      m.record.group = *group;
      m.record.topic = topic;
      m.record.slot = slot;
      out.push_back(std::move(m));
    }
  }
  return out;
}

}  // namespace spool
