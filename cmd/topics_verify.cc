// spool topics verify: every byte of every file, on all cores.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "progress.h"
#include "store/verify_dir.h"
#include "topics_actions.h"
#include "topics_damage.h"

namespace spool {

namespace {

constexpr std::size_t kThreadsMax = 8;  // each has a chunk of a log and the largest record it met
constexpr std::chrono::milliseconds kProgressEvery{100};

struct Item {
  const TopicInfo* topic = nullptr;  ///< has all of its partitions: too much for each of them
  PartitionId partition;
};

/// Findings of one partition, with what they belong to.
struct Outcome {
  std::string topic;
  std::int64_t partition = -1;
  std::vector<Finding> findings;
  std::optional<Error> error;
};

/// Hands out the segments of all partitions, one partition after the other, so that few are open at
/// a time; who finds none left helps with those that others are at. All calls may come from several
/// threads.
class Checks final : public Helpers {
 public:
  Checks(Store& store, const DirectoryCheck& directory, std::vector<Item> items)
      : store_(store), directory_(directory), items_(std::move(items)) {
    outcomes_.resize(items_.size());
  }

  void work() {
    while (const auto job = next()) {
      auto done = job->active->check.check_segment(job->segment, progress_, this);
      if (!done) job->active->failed(done.error());
      if (--job->active->left == 0) finish(*job->active);
      const std::lock_guard guard(mutex_);
      --busy_;
      changed_.notify_all();
    }
    help();
    const std::lock_guard guard(mutex_);
    --workers_;
    changed_.notify_all();
  }

  [[nodiscard]] std::size_t size() const override { return threads_; }
  void ask(const std::shared_ptr<SharedWork>& work) override {
    const std::lock_guard guard(mutex_);
    if (std::find(shared_.begin(), shared_.end(), work) == shared_.end()) shared_.push_back(work);
    ++asked_;
    if (helping_ > 0) changed_.notify_all();
  }
  void forget(const std::shared_ptr<SharedWork>& work) override {
    const std::lock_guard guard(mutex_);
    std::erase(shared_, work);
  }

  void run(std::size_t threads, const std::function<void(std::int64_t, std::int64_t)>& show) {
    workers_ = threads_ = threads;
    show(0, 0);
    std::vector<std::thread> crew;
    for (std::size_t i = 0; i < threads; ++i)
      crew.emplace_back([this] { work(); });
    {
      std::unique_lock guard(mutex_);
      while (!changed_.wait_for(guard, kProgressEvery, [&] { return workers_ == 0; }))
        show(progress_.bytes, progress_.records);
    }
    for (std::thread& t : crew)
      t.join();
  }

  [[nodiscard]] std::vector<Outcome>& outcomes() { return outcomes_; }
  [[nodiscard]] std::int64_t bytes() const { return progress_.bytes; }
  [[nodiscard]] std::int64_t batches() const { return batches_; }
  [[nodiscard]] std::int64_t records() const { return records_; }

 private:
  struct Active {
    Active(std::size_t number, PartitionCheck c) : item(number), check(std::move(c)) {}
    void failed(const Error& e) {
      const std::lock_guard guard(mutex);
      if (!error) error = e;
    }
    std::size_t item;
    PartitionCheck check;
    std::atomic<std::size_t> left{0};
    std::mutex mutex;
    std::optional<Error> error;
  };
  struct Job {
    std::shared_ptr<Active> active;
    std::size_t segment = 0;
  };

  std::optional<Job> next() {
    const std::lock_guard guard(mutex_);
    for (;;) {
      if (active_ && next_segment_ < active_->check.segments()) {
        ++busy_;
        return Job{active_, next_segment_++};
      }
      active_.reset();
      if (next_item_ == items_.size()) return std::nullopt;
      open(next_item_++);
    }
  }

  /// Until nobody is at a segment any more.
  void help() {
    std::unique_lock guard(mutex_);
    ++helping_;
    while (busy_ > 0) {
      const std::uint64_t asked = asked_;
      const auto shared = shared_;
      guard.unlock();
      const bool did =
          std::any_of(shared.begin(), shared.end(), [](const auto& work) { return work->help(); });
      guard.lock();
      if (!did) changed_.wait(guard, [&] { return busy_ == 0 || asked_ != asked; });
    }
    --helping_;
  }

  void open(std::size_t i) {
    const Item& item = items_[i];
    auto active = std::make_shared<Active>(
        i, PartitionCheck(store_.env(), store_.place(*item.topic, item.partition),
                          directory_.facts(*item.topic, item.partition), [](int ms) {
                            std::this_thread::sleep_for(std::chrono::milliseconds(ms));
                          }));
    if (auto begun = active->check.begin(); !begun) active->failed(begun.error());
    active->left = active->check.segments();
    next_segment_ = 0;
    if (active->error || active->left == 0) {
      finish(*active);
    } else {
      active_ = std::move(active);
    }
  }

  void finish(Active& active) {
    if (!active.error)
      if (auto done = active.check.finish(); !done) active.failed(done.error());
    const Item& item = items_[active.item];
    outcomes_[active.item] = {item.topic->name, item.partition.value(), active.check.findings(),
                              active.error};
    batches_ += active.check.batches();
    records_ += active.check.records();
  }

  Store& store_;
  const DirectoryCheck& directory_;
  const std::vector<Item> items_;
  std::vector<Outcome> outcomes_;  ///< each is written by one thread
  VerifyProgress progress_;
  std::atomic<std::int64_t> batches_{0};
  std::atomic<std::int64_t> records_{0};
  std::size_t threads_ = 1;

  std::mutex mutex_;  ///< guards all below
  std::condition_variable changed_;
  std::size_t workers_ = 0;
  std::size_t busy_ = 0;     ///< those that are at a segment
  std::size_t helping_ = 0;  ///< those that found none left
  std::uint64_t asked_ = 0;
  std::vector<std::shared_ptr<SharedWork>> shared_;
  std::size_t next_item_ = 0;
  std::size_t next_segment_ = 0;
  std::shared_ptr<Active> active_;
};

std::string kind_text(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::kDamage:
      return "damage";
    case Finding::Kind::kTail:
      return "tail";
    case Finding::Kind::kNote:
      break;
  }
  return "note";
}

std::int64_t bytes_to_read(Store& store, const std::vector<Item>& items) {
  std::int64_t sum = 0;
  for (const Item& item : items) {
    const std::string dir = store.place(*item.topic, item.partition).dir;
    const auto files = list_partition(store.env().fs, dir);
    if (!files) continue;
    for (const Offset base : files->segments)
      for (const char* suffix : {kLogSuffix, kIndexSuffix, kTimeIndexSuffix})
        if (const auto st = store.env().fs.stat(segment_path(dir, base, suffix))) sum += st->size;
  }
  return sum;
}

int print_findings(const std::vector<Outcome>& outcomes, TableFormat format) {
  Table all{
      {"kind", "topic", "partition", "file", "position", "first_offset", "last_offset", "what"},
      {}};
  Table text{{"KIND", "FILE", "BYTE", "OFFSETS", "WHAT"}, {}};
  for (const Outcome& o : outcomes)
    for (const Finding& f : o.findings) {
      all.rows.push_back({kind_text(f.kind), o.topic, o.partition, f.file, f.position,
                          f.first.value(), f.last.value(), f.what});
      text.rows.push_back(
          {kind_text(f.kind), f.file, f.position, offsets_text(f.first, f.last), f.what});
    }
  if (format != TableFormat::kText) return print_out(format_table(all, format));
  return text.rows.empty() ? status::kOk : print_out(format_table(text, format));
}

}  // namespace

std::string offsets_text(Offset first, Offset last) {
  if (first < Offset(0)) return "-";
  if (last < first) return fmt::format("{}-", first.value());
  if (first == last) return fmt::format("{}", first.value());
  return fmt::format("{}-{}", first.value(), last.value());
}

Result<std::vector<TopicInfo>> choose_damaged(Store& store, const DirectoryCheck& directory,
                                              const TopicsCall& call) {
  std::vector<TopicInfo> out;
  std::set<std::string> wanted(call.words.begin(), call.words.end());
  if (call.args.has("regex")) {
    TRY_ASSIGN(const auto chosen, choose_topics(store, call));
    wanted.clear();
    for (const TopicInfo& t : chosen)
      wanted.insert(t.name);
  }
  const bool all = call.words.empty();
  for (const TopicInfo& t : directory.topics()) {
    if (!all && wanted.erase(t.name) == 0) continue;
    out.push_back(t);
  }
  if (!all && !wanted.empty())
    return fail(Errc::kNotFound, fmt::format("topic '{}' does not exist", *wanted.begin()));
  return out;
}

int topics_verify(const TopicsCall& call) {
  const auto store = Store::open(store_options(call.common), call.common.dir);
  if (!store) return report_open_error(store.error(), call.common.dir);
  DirectoryCheck directory(**store);
  if (const auto read = directory.run(); !read) return report_error(read.error());
  const auto topics = choose_damaged(**store, directory, call);
  if (!topics) return report_topics_error(topics.error());
  std::vector<Item> items;
  for (const TopicInfo& t : *topics)
    for (const PartitionId p : t.partitions)
      items.push_back({&t, p});

  Progress progress(call.args, true);
  const std::int64_t total = bytes_to_read(**store, items);
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  Checks checks(**store, directory, std::move(items));
  checks.run(std::min(cores, kThreadsMax), [&](std::int64_t bytes, std::int64_t records) {
    progress.update(bytes, records, {bytes, total});
  });
  progress.clear();

  int result = status::kOk;
  std::int64_t damaged = 0;
  std::vector<Outcome>& outcomes = checks.outcomes();
  outcomes.insert(outcomes.begin(), Outcome{"", -1, directory.findings(), std::nullopt});
  for (const Outcome& o : outcomes) {
    if (o.error) result = std::max(result, report_error(*o.error));
    damaged += std::count_if(o.findings.begin(), o.findings.end(),
                             [](const Finding& f) { return f.damage(); });
  }
  const int printed = print_findings(outcomes, call.format);
  if (printed != status::kOk) return printed;
  if (call.common.verbose)
    say(fmt::format("{} partitions, {} batches, {} records, {} read", outcomes.size() - 1,
                    checks.batches(), checks.records(), human_bytes(checks.bytes())));
  if (damaged == 0) return result;
  say(fmt::format("'{}' is damaged in {} {}; 'spool topics repair' says what can be done",
                  call.common.dir, damaged, damaged == 1 ? "place" : "places"));
  return status::kDamaged;
}

}  // namespace spool
