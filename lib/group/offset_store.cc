#include "group/offset_store.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "log/cursor.h"

namespace spool {

namespace {

constexpr std::size_t kChunk = std::size_t{1} << 18;
/// What a broker gives the topic.
constexpr std::string_view kSegmentBytes = "104857600";
/// Batches that an OffsetStore writes before its end renews the recovery point.
constexpr std::int64_t kManyWritten = 1000;
constexpr int kRaceAttempts = 100;

Result<void> check_group_name(const std::string& name) {
  if (!name.empty() && name.size() <= kClassicStringMax) return {};
  return fail(Errc::kUsage, fmt::format("a group's name has 1 to {} bytes, not {}",
                                        kClassicStringMax, name.size()));
}

std::int32_t generation_of(GroupEntries& entries, const std::string& name) {
  const GroupEntries::Group* group = entries.find(name);
  if (group == nullptr) return -1;
  const auto found = group->entries.find(encode_group_key(name));
  if (found == group->entries.end()) return -1;
  const auto value = decode_group_value(found->second.value);
  return value ? value->generation : -1;
}

GroupRecord record_of(const GroupEntries::Group& group) {
  GroupRecord out;
  for (const auto& [raw, entry] : group.entries) {
    const auto key = decode_offsets_key(raw);
    if (!key) continue;
    if (key->kind == OffsetsKeyKind::kOffset) {
      if (auto value = decode_offset_value(entry.value))
        out.offsets[{std::string(key->topic), key->partition}] = std::move(*value);
    } else if (key->kind == OffsetsKeyKind::kGroup) {
      if (auto value = decode_group_value(entry.value)) out.classic = std::move(*value);
    } else if (key->kind == OffsetsKeyKind::kConsumerGroup) {
      if (const auto epoch = decode_consumer_group_epoch(entry.value)) out.consumer_epoch = *epoch;
    }
  }
  return out;
}

}  // namespace

void OffsetStore::forget() {
  topic_.reset();
  parts_.clear();
}

std::int32_t OffsetStore::part_count() const {
  return topic_->partitions.back().value() + 1;
}

/// False when the topic does not exist.
Result<bool> OffsetStore::open_topic() {
  if (topic_) return true;
  auto found = store_.find_topic(std::string(kOffsetsTopic));
  if (!found && found.error().code == Errc::kNotFound) return false;
  if (!found) return fail(found.error());
  topic_ = std::move(*found);
  return true;
}

Result<void> OffsetStore::make_topic() {
  TRY_ASSIGN(const bool there, open_topic());
  if (there) return {};
  TopicConfig config;
  TRY(config.set("cleanup.policy", "compact"));
  TRY(config.set("segment.bytes", kSegmentBytes));
  auto made = store_.create_topic(std::string(kOffsetsTopic), 1, config);
  if (!made && made.error().code != Errc::kExists) return fail(made.error());
  TRY_ASSIGN(const bool now, open_topic());
  if (now) return {};
  return fail(Errc::kNotFound, fmt::format("topic '{}' was deleted", kOffsetsTopic));
}

Result<OffsetStore::Part*> OffsetStore::part(std::int32_t number) {
  auto& slot = parts_[number];
  if (!slot) {
    auto fresh = std::make_unique<Part>();
    fresh->place = store_.place(*topic_, PartitionId(number));
    TRY(open_part(*fresh));
    slot = std::move(fresh);
  }
  return slot.get();
}

/// Starts at the snapshot where the log still is the one that it was taken of.
Result<void> OffsetStore::open_part(Part& part) {
  if (!snapshot_looked_for_) snapshot_ = read_offset_snapshot(store_.env().fs, store_.root());
  snapshot_looked_for_ = true;
  Offset from(0);
  const std::string id = topic_->id ? topic_->id->text() : "-";
  const auto saved = snapshot_ && snapshot_->topic_id == id
                         ? snapshot_->parts.find(part.place.partition.value())
                         : decltype(snapshot_->parts.find(0))();
  if (snapshot_ && snapshot_->topic_id == id && saved != snapshot_->parts.end()) {
    const SnapshotMark mark = saved->second.mark;
    Cursor cursor(store_.env(), part.place, mark.batch_base, kBatchHeaderBytes);
    const auto step = cursor.next();
    const bool same = step && *step == Cursor::Step::kBatch &&
                      cursor.batch().header.base_offset == mark.batch_base &&
                      cursor.batch().header.crc == mark.batch_crc &&
                      cursor.batch().header.next_offset() == mark.upto;
    if (same) {
      if (auto entries = GroupEntries::parse(std::move(saved->second.packed))) {
        part.entries = std::move(*entries);
        part.mark = mark;
        from = mark.upto;
      }
    }
    snapshot_->parts.erase(saved);
  }
  part.stream.emplace(
      store_.env(), part.place, from,
      RecordStream::Options{.read_committed = false, .control = true, .chunk_bytes = kChunk});
  return {};
}

Result<void> OffsetStore::catch_up(Part& part) {
  for (;;) {
    auto step = part.stream->next();
    if (step) {
      if (*step != RecordStream::Step::kRecord) return {};
      take(part);
      continue;
    }
    if (step.error().code != Errc::kCorrupt) return fail(step.error());
    store_.env().notice(
        fmt::format("{}; what was committed there is lost", step.error().message()));
    part.stream->skip_damage();
  }
}

/// The record at which the stream stands.
void OffsetStore::take(Part& part) {
  const RecordView& record = part.stream->record();
  const BatchHeader& batch = part.stream->batch();
  if (batch.base_offset != part.mark.batch_base)
    part.mark = {batch.next_offset(), batch.base_offset, batch.crc};
  ++part.behind_snapshot;
  if (!record.key) return;
  if (batch.control()) {
    const Bytes key = as_bytes(*record.key);
    if (!batch.transactional() || key.size() < 4) return;
    const auto type = load_be<std::int16_t>(key.data() + 2);
    const auto open = part.open.find(batch.producer_id);
    if (open == part.open.end() || (type != kControlCommit && type != kControlAbort)) return;
    if (type == kControlCommit)
      for (const Pending& p : open->second)
        apply(part, p.key, p.value, p.record);
    part.open.erase(open);
    return;
  }
  if (batch.transactional()) {
    Pending p{std::string(*record.key), {}, record.offset};
    if (record.value) p.value = *record.value;
    part.open[batch.producer_id].push_back(std::move(p));
    return;
  }
  apply(part, *record.key, record.value, record.offset);
}

void OffsetStore::apply(Part& part, std::string_view raw,
                        const std::optional<std::string_view>& value, Offset record) {
  RecentEntries::Place& recent = part.recent.at(raw);
  if (value && recent.entry != nullptr && recent.key == raw && recent.entry->record < record) {
    recent.entry->value = *value;
    recent.entry->record = record;
    recent.group->last = std::max(recent.group->last, record);
    return;
  }
  const auto key = decode_offsets_key(raw);
  if (!key || key->group.empty()) return;
  GroupEntries::Group& group = part.entries.get(key->group);
  // Types 0 and 1 mean the same.
  const std::string name = key->kind == OffsetsKeyKind::kOffset
                               ? encode_offset_key(key->group, key->topic, key->partition)
                               : std::string(raw);
  group.last = std::max(group.last, record);
  auto known = group.entries.find(name);
  // A transaction that ends late does not undo what was committed after its own records.
  if (known != group.entries.end() && known->second.record > record) return;
  if (!value) {
    part.recent.forget(name);
    if (known != group.entries.end()) group.entries.erase(known);
    return;
  }
  if (known == group.entries.end()) known = group.entries.emplace(name, GroupEntry{}).first;
  known->second = {std::string(*value), record};
  if (known->first == raw) recent = {known->first, &known->second, &group};
}

/// The partition of a group, read to its end; nullptr where there is no topic.
Result<OffsetStore::Part*> OffsetStore::current(const std::string& name) {
  TRY(check_group_name(name));
  for (int attempt = 0;; ++attempt) {
    TRY_ASSIGN(const bool there, open_topic());
    if (!there) return nullptr;
    TRY_ASSIGN(Part* const found, part(offsets_partition(name, part_count()).value()));
    auto read = catch_up(*found);
    if (read) return found;
    if (read.error().code != Errc::kDeleted || attempt > 0) return fail(read.error());
    forget();
  }
}

Result<std::optional<GroupRecord>> OffsetStore::group(const std::string& name) {
  const std::lock_guard guard(mutex_);
  TRY_ASSIGN(Part* const found, current(name));
  if (found == nullptr) return std::optional<GroupRecord>();
  const GroupEntries::Group* group = found->entries.find(name);
  if (group == nullptr || group->entries.empty()) return std::optional<GroupRecord>();
  return std::optional(record_of(*group));
}

Result<std::int32_t> OffsetStore::generation(const std::string& name) {
  const std::lock_guard guard(mutex_);
  TRY_ASSIGN(Part* const found, current(name));
  return found == nullptr ? -1 : generation_of(found->entries, name);
}

Result<std::map<std::string, GroupRecord>> OffsetStore::groups() {
  const std::lock_guard guard(mutex_);
  std::map<std::string, GroupRecord> out;
  TRY_ASSIGN(const bool there, open_topic());
  if (!there) return out;
  for (const PartitionId p : topic_->partitions) {
    TRY_ASSIGN(Part* const found, part(p.value()));
    auto read = catch_up(*found);
    if (!read && read.error().code == Errc::kDeleted) {
      forget();
      return std::map<std::string, GroupRecord>();
    }
    if (!read) return fail(read.error());
    for (const std::string& name : found->entries.names())
      out[name] = record_of(*found->entries.find(name));
  }
  return out;
}

Result<void> OffsetStore::write(const std::string& name, const Records& records,
                                const std::function<Result<void>(Part&)>& check) {
  TRY(check_group_name(name));
  for (int attempt = 0;; ++attempt) {
    auto done = write_once(name, records, check);
    if (done || done.error().code != Errc::kDeleted || attempt > 0) return done;
    forget();
  }
}

Result<void> OffsetStore::write_once(const std::string& name, const Records& records,
                                     const std::function<Result<void>(Part&)>& check) {
  TRY(make_topic());
  TRY_ASSIGN(Part* const to, part(offsets_partition(name, part_count()).value()));
  if (!to->appender) to->appender = std::make_unique<Appender>(store_.env(), to->place);
  builder_.reset();
  const TimestampMs now = store_.env().clock.now();
  for (const auto& [key, value] : records)
    builder_.add(now, key, value ? std::optional<std::string_view>(*value) : std::nullopt);
  TRY_ASSIGN(const MutableBytes batch, builder_.seal(Codec::kNone, nullptr));
  const auto still = [&]() -> Result<void> {
    TRY(catch_up(*to));
    return check(*to);
  };
  TRY(to->appender->append(batch, still));
  TRY(to->appender->sync());
  ++to->written;
  TRY(catch_up(*to));
  // Time that a later start saves; the commit itself is done.
  if (to->behind_snapshot >= kSnapshotEvery) (void)renew_snapshot();
  return {};
}

namespace {

using RawRecords = std::vector<std::pair<std::string, std::optional<std::string>>>;

RawRecords offset_records(const std::string& name, const std::vector<OffsetChange>& changes,
                          TimestampMs now) {
  RawRecords out;
  for (const OffsetChange& c : changes) {
    std::optional<std::string> value;
    if (c.offset) {
      OffsetValue v;
      v.offset = *c.offset;
      v.metadata = c.metadata;
      v.commit_time = now;
      value = encode_offset_value(v);
    }
    out.emplace_back(encode_offset_key(name, c.at.topic, c.at.partition), std::move(value));
  }
  return out;
}

/// Records that remove these. A broker takes them in this order: of a group of the newer protocols
/// what its members were assigned, the members, and what says that the group is there last; in
/// another order it refuses to load the partition.
RawRecords removals(std::vector<std::string> keys) {
  constexpr std::array<std::int16_t, 3> kWholeGroups{3, 11, 17};
  const auto rank = [&](const std::string& key) {
    const auto decoded = decode_offsets_key(key);
    const std::int16_t type = decoded ? decoded->type : std::int16_t{-1};
    const bool whole =
        std::find(kWholeGroups.begin(), kWholeGroups.end(), type) != kWholeGroups.end();
    return std::pair(whole, -type);
  };
  std::stable_sort(keys.begin(), keys.end(),
                   [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
  RawRecords out;
  for (std::string& key : keys)
    out.emplace_back(std::move(key), std::nullopt);
  return out;
}

/// Keys of what a group of a newer protocol is, without its offsets.
std::vector<std::string> newer_protocol_keys(const GroupEntries::Group& group) {
  std::vector<std::string> out;
  for (const auto& [raw, entry] : group.entries) {
    const auto key = decode_offsets_key(raw);
    if (key && key->kind != OffsetsKeyKind::kOffset && key->kind != OffsetsKeyKind::kGroup)
      out.push_back(raw);
  }
  return out;
}

}  // namespace

Result<void> OffsetStore::commit(const std::string& name, std::int32_t generation,
                                 const std::vector<OffsetChange>& changes,
                                 const std::function<Result<void>()>& still) {
  if (changes.empty()) return {};
  const std::lock_guard guard(mutex_);
  return write(name, offset_records(name, changes, store_.env().clock.now()),
               [&](Part& part) -> Result<void> {
                 const std::int32_t now = generation_of(part.entries, name);
                 if (now == generation) return still ? still() : Result<void>();
                 return fail(Errc::kConflict,
                             fmt::format("group '{}' was reset by somebody else (generation {}, "
                                         "not {} any more): nothing more is committed; start again",
                                         name, now, generation));
               });
}

Result<std::int32_t> OffsetStore::change(const std::string& name,
                                         const std::vector<OffsetChange>& changes, bool raise) {
  const std::lock_guard guard(mutex_);
  for (int attempt = 0;; ++attempt) {
    TRY_ASSIGN(Part* const before, current(name));
    const std::int32_t generation = before == nullptr ? -1 : generation_of(before->entries, name);
    if (changes.empty() && !raise) return generation;
    const TimestampMs now = store_.env().clock.now();
    Records records = offset_records(name, changes, now);
    if (raise) {
      GroupValue value;
      value.protocol_type = "consumer";
      value.generation = std::max(generation, 0) + 1;
      value.state_time = now;
      // The broker's members are gone with the broker; what is left of them would keep the group
      // from being one with a generation.
      if (const auto* group = before == nullptr ? nullptr : before->entries.find(name)) {
        auto gone = removals(newer_protocol_keys(*group));
        std::move(gone.begin(), gone.end(), std::back_inserter(records));
      }
      records.emplace_back(encode_group_key(name), encode_group_value(value));
    }
    bool raced = false;
    auto done = write(name, records, [&](Part& part) -> Result<void> {
      raced = generation_of(part.entries, name) != generation;
      if (raced) return fail(Errc::kConflict, fmt::format("group '{}' keeps being reset", name));
      return {};
    });
    if (done) return raise ? std::max(generation, 0) + 1 : generation;
    if (!raced || attempt >= kRaceAttempts) return fail(done.error());
  }
}

Result<void> OffsetStore::remove(const std::string& name) {
  const std::lock_guard guard(mutex_);
  for (int attempt = 0;; ++attempt) {
    TRY_ASSIGN(Part* const before, current(name));
    const GroupEntries::Group* group = before == nullptr ? nullptr : before->entries.find(name);
    if (group == nullptr || group->entries.empty()) return {};
    std::vector<std::string> keys;
    for (const auto& [key, entry] : group->entries)
      keys.push_back(key);
    const Records records = removals(std::move(keys));
    const Offset last = group->last;
    bool raced = false;
    auto done = write(name, records, [&](Part& part) -> Result<void> {
      const GroupEntries::Group* now = part.entries.find(name);
      raced = now == nullptr || now->last != last;
      if (raced) return fail(Errc::kConflict, fmt::format("group '{}' keeps changing", name));
      return {};
    });
    if (done || !raced || attempt >= kRaceAttempts) return done;
  }
}

Result<void> OffsetStore::remove_topic(const std::string& topic) {
  {
    const std::lock_guard guard(mutex_);
    TRY_ASSIGN(const bool there, open_topic());
    if (!there) return {};
    // A commit that found the topic there may not have written yet; it holds the byte.
    for (const PartitionId p : topic_->partitions)
      TRY(store_.env().locks.lock_byte(
          DirLocks::append_name(std::string(kOffsetsTopic), p.value())));
  }
  TRY_ASSIGN(const auto all, groups());
  for (const auto& [name, group] : all) {
    std::vector<OffsetChange> changes;
    for (const auto& [at, value] : group.offsets)
      if (at.topic == topic) changes.push_back({at, std::nullopt, ""});
    if (changes.empty()) continue;
    TRY(change(name, changes, false));
  }
  return {};
}

/// Needs that all that was read is on disk: after a sync of the appender.
Result<void> OffsetStore::renew_snapshot() {
  const LogEnv& env = store_.env();
  TRY_ASSIGN(const auto operation, env.locks.begin());
  TRY_ASSIGN(const auto byte, env.locks.lock_byte("offsets"));
  const std::string id = topic_->id ? topic_->id->text() : "-";
  OffsetSnapshot snapshot;
  if (auto there = read_offset_snapshot(env.fs, env.root); there && there->topic_id == id)
    snapshot = std::move(*there);
  snapshot.topic_id = id;
  bool news = false;
  for (const auto& [number, part] : parts_) {
    if (!part->appender || !part->open.empty()) continue;
    part->behind_snapshot = 0;
    OffsetSnapshot::Part& saved = snapshot.parts[number];
    if (saved.mark.upto >= part->mark.upto) continue;
    saved = {part->mark, part->entries.pack()};
    news = true;
  }
  if (!news) return {};
  return write_offset_snapshot(env.fs, env.root, snapshot, env.file_mode);
}

void OffsetStore::close() {
  const std::lock_guard guard(mutex_);
  for (const auto& [number, part] : parts_)
    if (part->appender && part->written >= kManyWritten) (void)part->appender->close();
}

}  // namespace spool
