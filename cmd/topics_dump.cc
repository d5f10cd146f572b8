// spool topics dump: what is in a file of a log directory.

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "dump_log.h"
#include "dump_out.h"
#include "io/atomic_file.h"
#include "io/posix_fs.h"
#include "log/index_file.h"
#include "log/producer_replay.h"
#include "log/segment.h"
#include "topics_actions.h"

namespace spool {

namespace {

constexpr std::size_t kAbortedBytes = 34;

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

/// The topic of a partition folder's file; empty when the folder is not named like one.
std::string topic_of(const std::string& path) {
  const std::string folder = file_name(parent_path(path));
  return is_partition_folder(folder) ? folder.substr(0, folder.rfind('-')) : std::string();
}

int damaged(DumpOut& out, const std::string& what) {
  if (!out.flush()) return status::kFailure;
  say(what);
  return status::kDamaged;
}

/// Entries of an index, until the end or the zeros that a broker preallocated.
template <class Print>
int dump_entries(Fs& fs, const std::string& path, std::size_t entry_bytes, DumpOut& out,
                 const Print& print) {
  const auto file = fs.open(path, OpenMode::kRead, 0);
  if (!file) return report_error(file.error());
  Buffer chunk;
  for (std::int64_t at = 0;; at += static_cast<std::int64_t>(chunk.size())) {
    chunk.resize(entry_bytes * 4096);
    const auto got = (*file)->read_at(chunk.mutable_bytes(), at);
    if (!got) return report_error(got.error());
    chunk.resize(*got / entry_bytes * entry_bytes);
    for (std::size_t i = 0; i < chunk.size(); i += entry_bytes) {
      const Bytes raw = chunk.bytes().subspan(i, entry_bytes);
      if (std::all_of(raw.begin(), raw.end(), [](std::byte b) { return b == std::byte{0}; }))
        return status::kOk;
      print(raw.data());
    }
    if (*got != chunk.size())
      return damaged(
          out, fmt::format("'{}' has {} bytes behind the last entry", path, *got - chunk.size()));
    if (*got == 0) return status::kOk;
  }
}

int dump_snapshot(Fs& fs, const std::string& path, DumpOut& out) {
  const auto text = read_file(fs, path);
  if (!text) return report_error(text.error());
  ProducerReplay producers;
  if (const auto loaded = producers.load(*text, path); !loaded)
    return damaged(out, loaded.error().message());
  for (const auto& [id, p] : producers.producers()) {
    DumpItem item{"producer", {}, {}};
    item.add("producerId", id);
    item.add("producerEpoch", std::int64_t{p.epoch});
    item.add("coordinatorEpoch", std::int64_t{p.coordinator_epoch});
    item.add("currentTxnFirstOffset",
             optional_long(p.first_offset.value(), p.first_offset >= Offset(0)));
    item.add("lastTimestamp", p.timestamp.value());
    const bool batch = p.last_offset >= Offset(0);
    if (batch) {
      item.add("firstSequence", std::int64_t{p.last_sequence} - p.offset_delta);
      item.add("lastSequence", std::int64_t{p.last_sequence});
      item.add("lastOffset", p.last_offset.value());
      item.add("offsetDelta", std::int64_t{p.offset_delta});
      item.add("timestamp", p.timestamp.value());
    }
    out.item(item);
  }
  return status::kOk;
}

/// A file of lines: as they are, once its checksum, where it has one, was checked.
int dump_text(Fs& fs, const std::string& path, DumpOut& out) {
  const auto text = read_file(fs, path);
  if (!text) return report_error(text.error());
  std::string_view left = *text;
  while (!left.empty()) {
    const std::size_t end = left.find('\n');
    DumpItem item{"line", {}, {}};
    item.add("", std::string(left.substr(0, end)));
    out.item(item);
    left = end == std::string_view::npos ? std::string_view() : left.substr(end + 1);
  }
  const bool checked =
      file_name(path).starts_with("spool.") && text->rfind("xxh3 ") != std::string::npos;
  if (checked && !without_checksum(*text, path))
    return damaged(out, fmt::format("'{}' has no valid checksum", path));
  return status::kOk;
}

int dump_offset_index(Fs& fs, const std::string& path, Offset base, DumpOut& out) {
  return dump_entries(fs, path, OffsetEntry::kBytes, out, [&](const std::byte* raw) {
    const OffsetEntry e = OffsetEntry::decode(raw, base);
    DumpItem item{"entry", {}, {}};
    item.add("offset", e.offset.value());
    item.add("position", e.position);
    out.item(item);
  });
}

int dump_time_index(Fs& fs, const std::string& path, Offset base, DumpOut& out) {
  return dump_entries(fs, path, TimeEntry::kBytes, out, [&](const std::byte* raw) {
    const TimeEntry e = TimeEntry::decode(raw, base);
    DumpItem item{"entry", {}, {}};
    item.add("timestamp", e.timestamp.value());
    item.add("offset", e.offset.value());
    out.item(item);
  });
}

int dump_aborted(Fs& fs, const std::string& path, DumpOut& out) {
  return dump_entries(fs, path, kAbortedBytes, out, [&](const std::byte* raw) {
    DumpItem item{"entry", {}, {}};
    item.add("version", std::int64_t{load_be<std::int16_t>(raw)});
    item.add("producerId", load_be<std::int64_t>(raw + 2));
    item.add("firstOffset", load_be<std::int64_t>(raw + 10));
    item.add("lastOffset", load_be<std::int64_t>(raw + 18));
    item.add("lastStableOffset", load_be<std::int64_t>(raw + 26));
    out.item(item);
  });
}

int dump_file(Fs& fs, const std::string& path, bool records, DumpOut& out) {
  const auto st = fs.stat(path);
  if (!st) {
    const int failed = report_error(st.error());
    return st.error().code == Errc::kNotFound ? status::kNotFound : failed;
  }
  out.file(path);
  out.headline("Dumping " + path);
  // A file that is on its way in or out has the form of what it is named after.
  std::string name = file_name(path);
  for (const std::string_view ending : {".deleted", ".cleaned", ".swap"})
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  DumpLogOptions options{records, topic_of(path), Offset(0)};
  if (const auto base = segment_base(name, kLogSuffix)) {
    options.base = *base;
    out.headline(fmt::format("Log starting offset: {}", base->value()));
    return dump_log(fs, path, options, out);
  }
  if (name.ends_with(".checkpoint")) {
    options.topic = "__cluster_metadata";
    return dump_log(fs, path, options, out);
  }
  if (name.starts_with("spool.cut-")) return dump_log(fs, path, options, out);
  if (const auto base = segment_base(name, kIndexSuffix))
    return dump_offset_index(fs, path, *base, out);
  if (const auto base = segment_base(name, kTimeIndexSuffix))
    return dump_time_index(fs, path, *base, out);
  if (segment_base(name, kTxnIndexSuffix)) return dump_aborted(fs, path, out);
  if (segment_base(name, kSnapshotSuffix)) return dump_snapshot(fs, path, out);
  constexpr std::array<std::string_view, 5> kTexts{"partition.metadata", "meta.properties",
                                                   "quorum-state", ".kafka_cleanshutdown",
                                                   "leader-epoch-checkpoint"};
  if (std::find(kTexts.begin(), kTexts.end(), name) != kTexts.end() ||
      name.ends_with("-offset-checkpoint") || name.starts_with("spool."))
    return dump_text(fs, path, out);
  return report_error(Error{Errc::kInvalid, 0,
                            fmt::format("'{}' is no file of a log directory, by its name", path)});
}

/// The files that a word means: a file, the .log files of a topic, or of one partition.
Result<std::vector<std::string>> files_of(const std::string& word, const Common& common) {
  Fs& fs = posix_fs();
  if (const auto st = fs.stat(word); st && !st->is_dir) return std::vector<std::string>{word};
  if (word.find('/') != std::string::npos)
    return fail(Errc::kNotFound, fmt::format("file '{}' does not exist", word));
  TRY_ASSIGN(const auto store, Store::open(store_options(common), common.dir));
  auto topic = store->find_topic(word);
  std::optional<PartitionId> only;
  if (!topic && topic.error().code == Errc::kNotFound && is_partition_folder(word)) {
    const std::size_t dash = word.rfind('-');
    topic = store->find_topic(word.substr(0, dash));
    only = PartitionId(std::atoi(word.c_str() + dash + 1));
  }
  if (!topic) return fail(topic.error());
  std::vector<std::string> out;
  bool there = false;
  for (const PartitionId p : topic->partitions) {
    if (only && p != *only) continue;
    there = true;
    const std::string dir = store->place(*topic, p).dir;
    const auto files = list_partition(fs, dir);
    if (!files && files.error().code == Errc::kNotFound) continue;
    if (!files) return fail(files.error());
    for (const Offset base : files->segments)
      out.push_back(segment_path(dir, base, kLogSuffix));
  }
  if (!there)
    return fail(Errc::kNotFound, fmt::format("topic '{}' has no partition {}", topic->name,
                                             only ? only->value() : 0));
  return out;
}

}  // namespace

int topics_dump(const TopicsCall& call) {
  if (call.words.empty())
    return report_topics_error(Error{Errc::kUsage, 0, "no file or topic to dump"});
  if (call.format == TableFormat::kTsv || call.format == TableFormat::kCsv)
    return report_topics_error(Error{Errc::kUsage, 0, "dump has --format text, json and jsonl"});
  std::vector<std::string> files;
  for (const std::string& word : call.words) {
    const auto found = files_of(word, call.common);
    if (!found) return report_topics_error(found.error());
    files.insert(files.end(), found->begin(), found->end());
  }
  DumpOut out(call.format);
  int result = status::kOk;
  for (const std::string& file : files)
    result = std::max(result, dump_file(posix_fs(), file, call.args.has("print-data-log"), out));
  if (!out.finish()) return report_error(system_error(errno, "cannot write to stdout"));
  return result;
}

}  // namespace spool
