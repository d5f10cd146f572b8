#pragma once
/// A log directory for a test: topics, appenders of several "processes" (a Store has descriptors
/// and kernel locks of its own, as a process has), and what readers see.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "io/posix_fs.h"
#include "log/appender.h"
#include "log/batch_reader.h"
#include "log/record_stream.h"
#include "log/segment.h"
#include "record/builder.h"
#include "store/store.h"
#include "support/pass_fs.h"
#include "support/temp_dir.h"

namespace spool::test {

inline constexpr TimestampMs kStart{1'700'000'000'000};

/// The value of a Result, or a test failure that says the error.
template <class T>
T must(Result<T> r, const char* what = "") {
  if (!r) {
    ADD_FAILURE() << what << " failed: " << r.error().message();
    throw std::runtime_error(r.error().message());
  }
  return std::move(*r);
}
inline void must(const Result<void>& r, const char* what = "") {
  if (!r) {
    ADD_FAILURE() << what << " failed: " << r.error().message();
    throw std::runtime_error(r.error().message());
  }
}

/// One record as it was read, owning its bytes.
struct Seen {
  std::int64_t offset = 0;
  std::int64_t timestamp = 0;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
  bool operator==(const Seen&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const Seen& s) {
  return out << s.offset << '@' << s.timestamp << '=' << s.value.value_or("null");
}

inline Seen seen(const RecordView& r) {
  Seen s;
  s.offset = r.offset.value();
  s.timestamp = r.timestamp.value();
  if (r.key) s.key = *r.key;
  if (r.value) s.value = *r.value;
  for (const HeaderView& h : *r.headers)
    s.headers.emplace_back(h.name, h.value ? std::optional(std::string(*h.value)) : std::nullopt);
  return s;
}

/// What a reader got until the end or an error.
struct ReadBack {
  std::vector<Seen> records;
  std::optional<Error> error;
  RecordStream::Step step = RecordStream::Step::kEnd;
  Offset position;
  std::int64_t gone = 0;
  [[nodiscard]] std::vector<std::string> values() const {
    std::vector<std::string> out;
    for (const Seen& s : records)
      out.push_back(s.value.value_or("null"));
    return out;
  }
};

/// Where the batches of a .log begin, and its size as the last element.
inline std::vector<std::size_t> batch_starts(const std::string& log_path) {
  std::vector<std::size_t> out;
  auto file = must(posix_fs().open(log_path, OpenMode::kRead, 0));
  BatchReader reader(std::shared_ptr<File>(std::move(file)), 0, 1 << 16);
  out.push_back(0);
  while (must(reader.next()) == BatchReader::Item::kBatch)
    out.push_back(static_cast<std::size_t>(reader.position()));
  return out;
}

/// One process's view of the directory.
class Process {
 public:
  Process(const std::string& root, Clock& clock, Fs& fs = fast_fs()) {
    const Store::Options options{
        fs, clock, [this](const std::string& text) { notices.push_back(text); }, "", true};
    store = must(Store::open_for_writing(options, root, true), "opening the store");
  }

  TopicInfo create(const std::string& name, std::int32_t partitions = 1,
                   const std::vector<std::pair<std::string, std::string>>& configs = {}) {
    TopicConfig config;
    for (const auto& [key, value] : configs)
      config.keep(key, value);
    return must(store->create_topic(name, partitions, config), "creating a topic");
  }
  PartitionPlace place(const std::string& name, std::int32_t partition = 0) {
    PartitionPlace out =
        store->place(must(store->find_topic(name), "finding a topic"), PartitionId(partition));
    if (tune) tune(out);
    return out;
  }
  std::unique_ptr<Appender> appender(const std::string& name, std::int32_t partition = 0) {
    return std::make_unique<Appender>(store->env(), place(name, partition));
  }

  ReadBack read(const PartitionPlace& place, Offset from = Offset(0), bool read_committed = false,
                bool skip_damage = false) {
    ReadBack out;
    RecordStream stream(store->env(), place, from, {.read_committed = read_committed});
    for (;;) {
      const auto step = stream.next();
      if (!step && skip_damage && step.error().code == Errc::kCorrupt) {
        out.error = step.error();
        stream.skip_damage();
        continue;
      }
      if (!step) {
        out.error = step.error();
        break;
      }
      out.step = *step;
      if (*step != RecordStream::Step::kRecord) break;
      out.records.push_back(seen(stream.record()));
    }
    out.position = stream.position();
    out.gone = stream.take_gone();
    return out;
  }
  ReadBack read(const std::string& name, std::int32_t partition = 0) {
    return read(place(name, partition));
  }

  std::vector<std::string> notices;
  std::unique_ptr<Store> store;
  /// Changes what place() gives: segments far smaller than a topic's config may ask for.
  std::function<void(PartitionPlace&)> tune;
};

/// A batch of these values, sealed.
class Batch {
 public:
  Batch(TimestampMs at, const std::vector<std::string>& values) {
    for (const std::string& v : values)
      builder_.add_value(at, v);
    bytes_ = must(builder_.seal(Codec::kNone, nullptr));
  }
  [[nodiscard]] MutableBytes bytes() { return bytes_; }

 private:
  BatchBuilder builder_;
  MutableBytes bytes_;
};

inline Result<Appender::Appended> append(Appender& to, const std::vector<std::string>& values,
                                         TimestampMs at = kStart) {
  Batch batch(at, values);
  return to.append(batch.bytes());
}

/// "PREFIXn" for n in [from, to).
inline std::vector<std::string> numbered(const std::string& prefix, int from, int to) {
  std::vector<std::string> out;
  for (int n = from; n < to; ++n)
    out.push_back(prefix + std::to_string(n));
  return out;
}

class LogTest : public ::testing::Test {
 protected:
  LogTest() : clock(kStart), root(dir / "log") {}

  std::unique_ptr<Process> new_process(Fs& fs = fast_fs()) {
    auto p = std::make_unique<Process>(root, clock, fs);
    p->tune = tune;
    return p;
  }
  /// Segments of at most `bytes` and an index entry every `interval` bytes, from the next process.
  void small_segments(std::int64_t bytes, std::int64_t interval = 4096) {
    tune = [=](PartitionPlace& place) {
      place.config.segment_bytes = bytes;
      place.config.index_interval_bytes = interval;
    };
  }
  [[nodiscard]] std::string folder(const std::string& topic = "t", int partition = 0) const {
    return fmt::format("{}/{}-{}", root, topic, partition);
  }
  [[nodiscard]] std::string file(const std::string& name, const std::string& topic = "t") const {
    return folder(topic) + "/" + name;
  }
  [[nodiscard]] std::string log_file(std::int64_t base = 0, const char* suffix = ".log") const {
    return segment_path(folder(), Offset(base), suffix);
  }

  TempDir dir;
  ManualClock clock;
  std::string root;
  std::function<void(PartitionPlace&)> tune;
};

}  // namespace spool::test
