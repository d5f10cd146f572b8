#include "log/record_stream.h"

#include <fmt/format.h>

#include "log/lookup.h"

namespace spool {

namespace {

constexpr std::size_t kScratchKeep = std::size_t{4} << 20;

}  // namespace

RecordStream::RecordStream(const LogEnv& env, const PartitionPlace& place, Offset from,
                           const Options& options)
    : options_(options),
      cursor_(env, place, from, options.chunk_bytes, options.executor),
      filter_(env, place),
      position_(from) {}

Result<RecordStream::Step> RecordStream::next() {
  for (;;) {
    if (records_) {
      // At its end, and after a failure, the iterator gives nothing however often it is asked.
      while ((record_ = records_->next()) != nullptr) {
        if (record_->offset < position_) continue;  // before the start, or there twice
        position_ = record_->offset + 1;
        return Step::kRecord;
      }
      const bool good = records_->ok();
      records_.reset();
      scratch_.shrink(kScratchKeep);
      if (!good) return bad_content(Error{Errc::kCorrupt, 0, "its records do not parse"});
      position_ = std::max(position_, batch().next_offset());
    }
    if (!held_) {
      TRY_ASSIGN(const Cursor::Step step, cursor_.next());
      if (step == Cursor::Step::kEnd) {
        position_ = std::max(position_, cursor_.next_offset());
        return Step::kEnd;
      }
      bytes_ += cursor_.batch().header.size();
    }
    TRY_ASSIGN(const auto stop, open_batch());
    if (stop) return *stop;
  }
}

/// Decides about the cursor's batch; opens it when its records are to be given out.
Result<std::optional<RecordStream::Step>> RecordStream::open_batch() {
  const BatchHeader& h = batch();
  held_ = true;  // until it is decided: after an error it is asked again
  bool wanted = !h.control() || options_.control;
  if (!h.control() && options_.read_committed) {
    TRY_ASSIGN(const auto verdict, filter_.judge(h));
    if (verdict == TransactionFilter::Verdict::kUndecided) {
      position_ = std::max(position_, h.base_offset);
      return std::optional(Step::kUndecided);
    }
    wanted = verdict == TransactionFilter::Verdict::kDeliver;
  }
  held_ = false;
  if (!wanted) {
    position_ = std::max(position_, h.next_offset());
    return std::optional<Step>();
  }
  auto opened = open_records(cursor_.batch(), decompressor_, kDecompressedBytesMax, scratch_);
  if (!opened) return bad_content(opened.error());
  records_ = std::move(*opened);
  // What is decompressed stands in the scratch: a large batch need not be there twice.
  if (h.codec() != Codec::kNone && cursor_.batch().bytes.size() > kScratchKeep) cursor_.release();
  return std::optional<Step>();
}

tl::unexpected<Error> RecordStream::bad_content(const Error& why) {
  bad_content_ = true;
  return content_error(cursor_, why);
}

void RecordStream::park() {
  if (held_ || bad_content_ || !between_batches()) return;
  if (records_) {
    if (records_->next() != nullptr || !records_->ok()) return;  // next() will say what is wrong
    position_ = std::max(position_, batch().next_offset());
    records_.reset();
  }
  scratch_.shrink(0);
  cursor_.park();
}

void RecordStream::skip_damage() {
  if (!bad_content_) {
    cursor_.skip_damage();
    position_ = std::max(position_, cursor_.next_offset());
    return;
  }
  bad_content_ = false;
  position_ = std::max(position_, batch().next_offset());
}

}  // namespace spool
