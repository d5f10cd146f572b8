#include "store/metadata_log.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/bytes.h"
#include "log/cursor.h"
#include "log/lookup.h"
#include "record/batch.h"

namespace spool {

namespace {

constexpr const char* kTopicName = "__cluster_metadata";
constexpr std::uint64_t kFrameVersion = 1;
constexpr std::size_t kSnapshotChunk = std::size_t{1} << 18;
constexpr std::int16_t kSnapshotFooter = 4;
constexpr std::int8_t kTopicResource = 2;
constexpr std::int32_t kLeaderUnchanged = -2;
/// More elements than this in one array are not believed.
constexpr std::uint64_t kArrayMax = 1'000'000;

enum RecordType : std::uint64_t {
  kTopicRecord = 2,
  kPartitionRecord = 3,
  kConfigRecord = 4,
  kPartitionChangeRecord = 5,
  kRemoveTopicRecord = 9,
  kFeatureLevelRecord = 12,
  kBeginTransaction = 23,
  kEndTransaction = 24,
  kAbortTransaction = 25,
};

std::string metadata_dir(const std::string& root) {
  return fmt::format("{}/{}-0", root, kTopicName);
}

}  // namespace

/// Fields in Kafka's flexible encoding. The first one that does not read makes all later ones empty
/// and ok() false.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : left_(bytes) {}
  [[nodiscard]] bool ok() const { return ok_; }

  [[nodiscard]] std::uint64_t uvarint() {
    std::uint64_t out = 0;
    const auto* begin = reinterpret_cast<const std::byte*>(left_.data());
    const std::size_t n = get_uvarint(begin, begin + left_.size(), out);
    if (n == 0) return bad();
    left_.remove_prefix(n);
    return out;
  }
  template <class T>
  [[nodiscard]] T number() {
    const std::string_view raw = take(sizeof(T));
    return raw.empty() ? T{} : load_be<T>(reinterpret_cast<const std::byte*>(raw.data()));
  }
  [[nodiscard]] Uuid uuid() {
    const std::string_view raw = take(16);
    Uuid::Raw bytes{};
    std::copy(raw.begin(), raw.end(), bytes.begin());
    return Uuid::from(bytes);
  }
  /// A compact string; nullopt = null.
  [[nodiscard]] std::optional<std::string> nullable_string() {
    const std::uint64_t n = uvarint();
    if (n == 0) return std::nullopt;
    return std::string(take(n - 1));
  }
  [[nodiscard]] std::string string() { return nullable_string().value_or(std::string()); }
  /// A compact array of int32; null reads as empty.
  [[nodiscard]] std::vector<std::int32_t> int32s() {
    const std::uint64_t n = uvarint();
    std::vector<std::int32_t> out;
    if (n > kArrayMax || (n > 1 && left_.size() / sizeof(std::int32_t) < n - 1)) (void)bad();
    for (std::uint64_t i = 1; ok_ && i < n; ++i)
      out.push_back(number<std::int32_t>());
    return out;
  }
  /// Calls `visit(tag, fields)` for each tagged field, which may leave bytes of it.
  template <class Visit>
  void tags(const Visit& visit) {
    const std::uint64_t n = uvarint();
    for (std::uint64_t i = 0; ok_ && i < n; ++i) {
      const std::uint64_t tag = uvarint();
      const std::uint64_t size = uvarint();
      Fields inner(take(size));
      if (!ok_) return;
      visit(tag, inner);
      ok_ = ok_ && inner.ok();
    }
  }

 private:
  std::uint64_t bad() {
    ok_ = false;
    left_ = {};
    return 0;
  }
  std::string_view take(std::uint64_t n) {
    if (n > left_.size()) {
      (void)bad();
      return {};
    }
    const std::string_view out = left_.substr(0, n);
    left_.remove_prefix(n);
    return out;
  }

  std::string_view left_;
  bool ok_ = true;
};

bool has_metadata_log(Fs& fs, const std::string& root) {
  return fs.stat(metadata_dir(root)).has_value();
}

const MetadataTopic* MetadataImage::find(std::string_view name) const {
  const auto at = topics_.find(name);
  return at == topics_.end() ? nullptr : &at->second;
}

MetadataTopic* MetadataImage::by_id(const Uuid& id) {
  const auto name = names_.find(id);
  if (name == names_.end()) return nullptr;
  const auto at = topics_.find(name->second);
  return at == topics_.end() ? nullptr : &at->second;
}

void MetadataImage::add_topic(const std::string& name, const Uuid& id) {
  MetadataTopic topic;
  topic.id = id;
  if (const auto config = configs_.find(name); config != configs_.end())
    topic.config = config->second;
  topics_.insert_or_assign(name, std::move(topic));
  names_[id] = name;
}

void MetadataImage::remove_topic(const Uuid& id) {
  const auto name = names_.find(id);
  if (name == names_.end()) return;
  if (const auto at = topics_.find(name->second); at != topics_.end() && at->second.id == id) {
    configs_.erase(name->second);
    topics_.erase(at);
  }
  names_.erase(name);
}

void MetadataImage::set_config(const std::string& topic, const std::string& name,
                               const std::optional<std::string>& value) {
  TopicConfig& config = configs_[topic];
  if (value) {
    config.keep(name, *value);
  } else {
    (void)config.erase(name);
  }
  if (const auto at = topics_.find(topic); at != topics_.end()) at->second.config = config;
}

/// Transactions aside.
bool MetadataImage::apply_now(std::uint64_t type, Fields& in) {
  switch (type) {
    case kTopicRecord: {
      const std::string name = in.string();
      const Uuid id = in.uuid();
      if (!in.ok() || name.empty()) return false;
      add_topic(name, id);
      break;
    }
    case kPartitionRecord: {
      const PartitionId partition(in.number<std::int32_t>());
      const Uuid id = in.uuid();
      MetadataPartition p;
      p.replicas = in.int32s();
      p.isr = in.int32s();
      (void)in.int32s();  // being removed
      (void)in.int32s();  // being added
      p.leader = in.number<std::int32_t>();
      p.leader_epoch = Epoch(in.number<std::int32_t>());
      if (!in.ok()) return false;
      if (MetadataTopic* topic = by_id(id)) topic->partitions[partition] = std::move(p);
      break;
    }
    case kPartitionChangeRecord: {
      const PartitionId partition(in.number<std::int32_t>());
      MetadataTopic* topic = by_id(in.uuid());
      MetadataPartition unknown;
      MetadataPartition& p = topic != nullptr ? topic->partitions[partition] : unknown;
      in.tags([&](std::uint64_t tag, Fields& field) {
        if (tag == 0) p.isr = field.int32s();
        if (tag == 2) p.replicas = field.int32s();
        if (tag != 1) return;
        const auto leader = field.number<std::int32_t>();
        if (leader == kLeaderUnchanged) return;
        p.leader = leader;
        p.leader_epoch += 1;
      });
      break;
    }
    case kConfigRecord: {
      const auto resource = in.number<std::int8_t>();
      const std::string owner = in.string();
      const std::string name = in.string();
      const auto value = in.nullable_string();
      if (in.ok() && resource == kTopicResource) set_config(owner, name, value);
      break;
    }
    case kRemoveTopicRecord: {
      const Uuid id = in.uuid();
      if (in.ok()) remove_topic(id);
      break;
    }
    case kFeatureLevelRecord: {
      const std::string name = in.string();
      const auto level = in.number<std::int16_t>();
      if (in.ok()) features_[name] = level;
      break;
    }
    default:
      return true;
  }
  return in.ok();
}

bool MetadataImage::apply(std::string_view value) {
  Fields in(value);
  if (in.uvarint() != kFrameVersion) return false;
  const std::uint64_t type = in.uvarint();
  (void)in.uvarint();  // the version; later ones only add behind what is read here
  if (!in.ok()) return false;
  switch (type) {
    case kBeginTransaction:
      transaction_.emplace();
      return true;
    case kAbortTransaction:
      transaction_.reset();
      return true;
    case kEndTransaction: {
      const auto held = std::exchange(transaction_, std::nullopt);
      if (!held) return true;
      return std::all_of(held->begin(), held->end(),
                         [&](const std::string& record) { return apply(record); });
    }
    default:
      break;
  }
  if (transaction_) {
    transaction_->emplace_back(value);
    return true;
  }
  return apply_now(type, in);
}

namespace {

struct Snapshot {
  std::string path;
  Offset end;
};

/// The snapshots of the folder, the newest first.
Result<std::vector<Snapshot>> list_snapshots(Fs& fs, const std::string& dir) {
  constexpr std::size_t kOffsetDigits = 20;
  constexpr std::size_t kEpochDigits = 10;
  constexpr std::string_view kSuffix = ".checkpoint";
  TRY_ASSIGN(const auto entries, fs.list(dir));
  std::vector<Snapshot> out;
  for (const DirEntry& e : entries) {
    const std::string_view name = e.name;
    std::int64_t end = 0;
    if (name.size() != kOffsetDigits + 1 + kEpochDigits + kSuffix.size() ||
        !name.ends_with(kSuffix) || name[kOffsetDigits] != '-' ||
        std::from_chars(name.data(), name.data() + kOffsetDigits, end).ptr !=
            name.data() + kOffsetDigits)
      continue;
    out.push_back({join_path(dir, e.name), Offset(end)});
  }
  // Equal offsets of different epochs: the name decides.
  std::sort(out.begin(), out.end(),
            [](const Snapshot& a, const Snapshot& b) { return a.path > b.path; });
  return out;
}

/// Applies the records of a batch, from offset `from` on.
Result<void> apply_batch(const BatchView& batch, Offset from, MetadataImage& image,
                         const std::string& what) {
  Decompressor decompressor;
  Buffer scratch;
  TRY_ASSIGN(RecordIterator records,
             open_records(batch, decompressor, kDecompressedBytesMax, scratch));
  while (const RecordView* r = records.next())
    if (r->offset >= from && r->value && !image.apply(*r->value))
      return fail(Errc::kCorrupt, fmt::format("{}: the record at offset {} does not read", what,
                                              r->offset.value()));
  if (!records.ok())
    return fail(Errc::kCorrupt, fmt::format("{}: the batch of offset {} does not read", what,
                                            batch.header.base_offset.value()));
  return {};
}

/// nullopt for a snapshot that is not whole.
Result<std::optional<MetadataImage>> read_snapshot(const LogEnv& env, const Snapshot& snapshot) {
  TRY_ASSIGN(std::shared_ptr<File> file, env.fs.open(snapshot.path, OpenMode::kRead, 0));
  BatchReader reader(std::move(file), 0, kSnapshotChunk);
  MetadataImage image;
  bool footer = false;
  for (;;) {
    TRY_ASSIGN(const BatchReader::Item item, reader.next());
    if (item == BatchReader::Item::kEnd && footer) return std::optional(std::move(image));
    if (item != BatchReader::Item::kBatch || footer) return std::optional<MetadataImage>();
    const BatchView& batch = reader.view();
    if (batch.header.control()) {
      const auto type = control_type(batch);
      footer = type && *type == kSnapshotFooter;
      continue;
    }
    if (!apply_batch(batch, Offset(0), image, snapshot.path)) return std::optional<MetadataImage>();
  }
}

}  // namespace

Result<std::optional<MetadataImage>> read_metadata_log(const LogEnv& env) {
  const std::string dir = metadata_dir(env.root);
  auto snapshots = list_snapshots(env.fs, dir);
  if (!snapshots && snapshots.error().code == Errc::kNotFound)
    return std::optional<MetadataImage>();
  if (!snapshots) return fail(snapshots.error());
  MetadataImage image;
  Offset from(0);
  for (const Snapshot& s : *snapshots) {
    TRY_ASSIGN(auto read, read_snapshot(env, s));
    if (!read) continue;
    image = std::move(*read);
    from = s.end;
    break;
  }
  PartitionPlace place;
  place.dir = dir;
  place.topic = kTopicName;
  Cursor cursor(env, place, from);
  for (;;) {
    TRY_ASSIGN(const Cursor::Step step, cursor.next());
    if (cursor.take_gone() > 0)
      return fail(Errc::kCorrupt,
                  fmt::format("'{}' begins behind offset {}, and no whole snapshot tells what was "
                              "before",
                              dir, from.value()));
    if (step == Cursor::Step::kEnd) break;
    if (!cursor.batch().header.control())
      TRY(apply_batch(cursor.batch(), from, image, "'" + dir + "'"));
  }
  return std::optional(std::move(image));
}

}  // namespace spool
