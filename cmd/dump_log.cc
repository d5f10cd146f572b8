#include "dump_log.h"

#include <array>
#include <memory>

#include <fmt/format.h>

#include "context.h"
#include "json_record.h"
#include "log/batch_reader.h"
#include "log/find_batch.h"
#include "log/lookup.h"

namespace spool {

namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 18;
constexpr std::int64_t kSegmentSpan = std::int64_t{1} << 31;

DumpItem batch_item(const BatchHeader& h, std::int64_t position, bool valid) {
  DumpItem item{"batch", {}, {}};
  const bool sequences = h.base_sequence >= 0;
  item.add("baseOffset", h.base_offset.value());
  item.add("lastOffset", h.last_offset().value());
  item.add("count", std::int64_t{h.count});
  item.add("baseSequence", std::int64_t{h.base_sequence});
  item.add("lastSequence",
           sequences ? (std::int64_t{h.base_sequence} + h.last_offset_delta) & 0x7fffffff : -1);
  item.add("producerId", h.producer_id);
  item.add("producerEpoch", std::int64_t{h.producer_epoch});
  item.add("partitionLeaderEpoch", std::int64_t{h.leader_epoch.value()});
  item.add("isTransactional", h.transactional());
  item.add("isControl", h.control());
  const bool horizon = (h.attributes & batch_attribute::kDeleteHorizon) != 0;
  item.add("deleteHorizonMs", optional_long(h.base_timestamp.value(), horizon));
  item.add("position", position);
  item.add(h.append_time() ? "LogAppendTime" : "CreateTime", h.max_timestamp.value());
  item.add("size", h.size());
  item.add("magic", std::int64_t{h.magic});
  item.add("compresscodec", std::string(codec_name(h.codec())));
  item.add("crc", std::int64_t{h.crc});
  item.add("isvalid", valid);
  return item;
}

RawValue headers_value(const std::vector<HeaderView>& headers) {
  RawValue out{"[", "["};
  for (const HeaderView& h : headers) {
    if (out.json.size() > 1) {
      out.json += ',';
      out.text += ',';
    }
    out.text += h.name;
    out.json += '[';
    append_json_bytes(h.name, out.json);
    out.json += ',';
    if (h.value) {
      append_json_bytes(*h.value, out.json);
    } else {
      out.json += "null";
    }
    out.json += ']';
  }
  out.json += ']';
  out.text += ']';
  return out;
}

/// What the key and value of a control record say.
void add_marker(const RecordView& r, DumpItem& item) {
  constexpr std::array<std::string_view, 7> kTypes{
      "ABORT",          "COMMIT",       "LeaderChange", "SnapshotHeader",
      "SnapshotFooter", "KRaftVersion", "KRaftVoters"};
  const std::int16_t type = r.key && r.key->size() >= 4
                                ? load_be<std::int16_t>(as_bytes(*r.key).data() + 2)
                                : std::int16_t{-1};
  const bool known = type >= 0 && static_cast<std::size_t>(type) < kTypes.size();
  const std::string name =
      known ? std::string(kTypes[static_cast<std::size_t>(type)]) : fmt::format("type {}", type);
  if (type != kControlAbort && type != kControlCommit) {
    item.add("controlType", name);
    return;
  }
  item.add("endTxnMarker", name);
  if (r.value && r.value->size() >= 6)
    item.add("coordinatorEpoch",
             std::int64_t{load_be<std::int32_t>(as_bytes(*r.value).data() + 2)});
}

void add_content(const RecordView& r, const std::string& topic, DumpItem& item) {
  const auto known = known_record(topic, r.key, r.value);
  if (known) {
    if (!known->key.empty()) item.add("key", known_value(known->key));
    item.add("payload",
             known->tombstone ? RawValue{"null", "<DELETE>"} : known_value(known->value));
    if (!known->complete) item.add("complete", false);
    return;
  }
  // Kafka's tool leaves out what is null; JSON has every field.
  const auto add = [&](const char* name, std::optional<std::string_view> bytes) {
    if (bytes) item.add(name, RecordBytes{*bytes});
  };
  add("key", r.key);
  add("payload", r.value);
}

class LogDump {
 public:
  LogDump(const std::string& path, const DumpLogOptions& options, DumpOut& out)
      : path_(path), options_(options), out_(out), due_(options.base) {}

  Result<int> run(Fs& fs);

 private:
  Result<bool> on_bad();
  void print_records(const BatchView& batch, std::int64_t position);
  void damaged(std::int64_t position, Offset first, Offset last, const std::string& what) {
    status_ = status::kDamaged;
    say_here(position, first, last, what, "is damaged");
  }
  void say_here(std::int64_t position, Offset first, Offset last, const std::string& what,
                const char* verdict);

  const std::string& path_;
  const DumpLogOptions& options_;
  DumpOut& out_;
  std::shared_ptr<File> file_;
  std::optional<BatchReader> reader_;
  Offset due_;
  int status_ = status::kOk;
  Decompressor decompressor_;
  Buffer scratch_;
};

void LogDump::say_here(std::int64_t position, Offset first, Offset last, const std::string& what,
                       const char* verdict) {
  DumpItem item{"damage", fmt::format("! {} at byte {}", verdict, position), {}};
  item.add("position", position);
  item.add("firstOffset", first.value());
  item.add("lastOffset", last.value());
  item.add("what", what);
  out_.item(item);
  (void)out_.flush();
  const std::string offsets = last >= first
                                  ? fmt::format("offsets {} to {}", first.value(), last.value())
                                  : fmt::format("from offset {} on", first.value());
  say(fmt::format("'{}' {} at byte {}, {}: {}", path_, verdict, position, offsets, what));
}

Result<int> LogDump::run(Fs& fs) {
  TRY_ASSIGN(file_, fs.open(path_, OpenMode::kRead, 0));
  reader_.emplace(file_, 0, kChunkBytes);
  while (!out_.failed()) {
    TRY_ASSIGN(const BatchReader::Item item, reader_->next());
    if (item == BatchReader::Item::kEnd) break;
    if (item != BatchReader::Item::kBatch) {
      TRY_ASSIGN(const bool goes_on, on_bad());
      if (!goes_on) break;
      continue;
    }
    const BatchHeader& h = reader_->view().header;
    if (h.base_offset < due_)
      damaged(reader_->batch_position(), h.base_offset, h.last_offset(),
              fmt::format("the base offset is {}, and {} is the least", h.base_offset.value(),
                          due_.value()));
    due_ = std::max(due_, h.next_offset());
    out_.item(batch_item(h, reader_->batch_position(), true));
    if (options_.records) print_records(reader_->view(), reader_->batch_position());
  }
  return status_;
}

Result<bool> LogDump::on_bad() {
  const std::int64_t at = reader_->position();
  TRY_ASSIGN(const FileStat st, file_->stat());
  std::array<std::byte, kBatchHeaderBytes> raw{};
  TRY_ASSIGN(const std::size_t got, file_->read_at(raw, at));
  const BatchHeader header = BatchHeader::decode(raw.data());
  TRY_ASSIGN(const auto found, find_batch(*file_, at, due_, options_.base + kSegmentSpan));
  // A batch whose header makes sense is shown as Kafka's tool shows it: not valid.
  if (got == raw.size() && header.plausible() && at + header.size() <= st.size)
    out_.item(batch_item(header, at, false));
  if (!found) {
    say_here(at, due_, Offset(-1),
             fmt::format("the last {} bytes hold no whole batch", st.size - at), "ends");
    return false;
  }
  const Offset behind = found->header.base_offset;
  damaged(at, due_, behind - 1,
          fmt::format("{} bytes do not read, and whole batches follow", found->position - at));
  due_ = behind;
  reader_->seek(found->position);
  return true;
}

void LogDump::print_records(const BatchView& batch, std::int64_t position) {
  const BatchHeader& h = batch.header;
  auto records = open_records(batch, decompressor_, kDecompressedBytesMax, scratch_);
  if (!records) {
    damaged(position, h.base_offset, h.last_offset(), records.error().message());
    return;
  }
  while (const RecordView* r = records->next()) {
    DumpItem item{"record", "|", {}};
    item.add("offset", r->offset.value());
    item.add(h.append_time() ? "LogAppendTime" : "CreateTime", r->timestamp.value());
    item.add("keySize", r->key ? static_cast<std::int64_t>(r->key->size()) : std::int64_t{-1});
    item.add("valueSize",
             r->value ? static_cast<std::int64_t>(r->value->size()) : std::int64_t{-1});
    const bool sequences = h.base_sequence >= 0;
    item.add("sequence",
             sequences ? (std::int64_t{h.base_sequence} + (r->offset - h.base_offset)) & 0x7fffffff
                       : std::int64_t{-1});
    item.add("headerKeys", headers_value(*r->headers));
    if (h.control()) {
      add_marker(*r, item);
    } else {
      add_content(*r, options_.topic, item);
    }
    out_.item(item);
  }
  if (!records->ok())
    damaged(position, h.base_offset, h.last_offset(), "a record of the batch is malformed");
  scratch_.shrink(4 * kChunkBytes);
}

}  // namespace

int dump_log(Fs& fs, const std::string& path, const DumpLogOptions& options, DumpOut& out) {
  const auto done = LogDump(path, options, out).run(fs);
  return done ? *done : report_error(done.error());
}

}  // namespace spool
