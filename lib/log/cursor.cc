#include "log/cursor.h"

#include <algorithm>

#include <fmt/format.h>

#include "log/appender.h"
#include "log/index_file.h"
#include "log/segment_indexes.h"
#include "log/state_file.h"
#include "log/walk.h"

namespace spool {

std::int64_t position_for(Fs& fs, const std::string& dir, Offset base, File& log, Offset target) {
  // The index is a hint: whatever is wrong with it only costs a scan from the start.
  const auto index = OffsetIndex::open_read(fs, segment_path(dir, base, kIndexSuffix), base);
  if (!index) return 0;
  const auto count =
      index->partition_point([&](const OffsetEntry& e) { return e.offset <= target; });
  if (!count || *count == 0) return 0;
  const auto entry = index->at(*count - 1);
  if (!entry) return 0;
  const auto holds = entry_holds(log, *entry, base);
  return holds && *holds ? entry->position : 0;
}

Result<void> Cursor::open_at(Offset base, std::int64_t position) {
  TRY_ASSIGN(std::shared_ptr<File> file, open_segment_log(env_.fs, place_.dir, base));
  TRY_ASSIGN(file_, file->stat());
  if (position < 0) position = position_for(env_.fs, place_.dir, base, *file, next_);
  base_ = passed_ = base;
  listed_behind_ = false;
  // At the base of a segment the offset that is due is known; at an index entry the batch says it.
  due_known_ = position == 0 && next_ == base;
  reader_.emplace(std::move(file), position, chunk_bytes_, executor_);
  opened_once_ = true;
  return {};
}

/// Opens the segment that start_in() named; false when it is gone.
Result<bool> Cursor::open_known() {
  const Offset base = *std::exchange(known_base_, std::nullopt);
  const auto opened = open_at(base, -1);
  if (!opened && opened.error().code == Errc::kNotFound) return false;
  if (!opened) return fail(opened.error());
  if (auto same = check_id(); !same) {
    reader_.reset();
    return fail(same.error());
  }
  return true;
}

/// Opens the segment that holds next_. False when there is no segment.
Result<bool> Cursor::open_segment() {
  if (known_base_) {
    TRY_ASSIGN(const bool opened, open_known());
    if (opened) return true;
  }
  constexpr int kAttempts = 10;
  for (int attempt = 0;; ++attempt) {
    auto files = list_partition(env_.fs, place_.dir);
    if (!files && files.error().code == Errc::kNotFound) {
      if (!opened_once_) {
        // Nobody has made it yet; or nobody will, because the topic was deleted before.
        if (place_.confirm) TRY(place_.confirm());
        return false;
      }
      return fail(Errc::kDeleted, fmt::format("topic '{}' was deleted", place_.topic));
    }
    if (!files) return fail(files.error());
    if (files->segments.empty()) {
      TRY_ASSIGN(const Offset promised, promised_end());
      if (promised <= next_) return false;
      damage_ = Damage{base_, 0, promised};
      return fail(Errc::kCorrupt,
                  fmt::format("'{}' is damaged: it holds no segment; offsets {} to {} are missing",
                              place_.dir, next_.value(), promised.value() - 1));
    }
    auto segment = std::upper_bound(files->segments.begin(), files->segments.end(), next_);
    if (segment != files->segments.begin()) {
      --segment;
    } else {
      gone_ += *segment - next_;
      next_ = *segment;
    }
    auto opened = open_at(*segment, -1);
    if (opened) {
      // Only now: had it been before, the folder could have become another one in between.
      if (auto same = check_id(); !same) {
        reader_.reset();
        return fail(same.error());
      }
      return true;
    }
    // Trimmed between the listing and the opening: list again.
    if (opened.error().code != Errc::kNotFound || attempt >= kAttempts) return fail(opened.error());
  }
}

/// Whether the folder is the topic's. A new one of the same name is told by its id or, as long as
/// that is not written, by the catalogue.
Result<void> Cursor::check_id() {
  if (!place_.topic_id) return {};
  TRY_ASSIGN(const auto id, read_topic_id(env_.fs, place_.dir));
  if (!id) return place_.confirm ? place_.confirm() : Result<void>();
  if (*id == *place_.topic_id) return {};
  return fail(Errc::kDeleted, fmt::format("topic '{}' was deleted and made again", place_.topic));
}

Result<bool> Cursor::still_named() {
  const auto there = stat_segment_log(env_.fs, place_.dir, base_);
  if (there) return there->same_file(file_);
  if (there.error().code == Errc::kNotFound) return false;
  return fail(there.error());
}

/// The base of the next segment, if there is one.
Result<std::optional<Offset>> Cursor::segment_behind(BatchReader::Item item) {
  if (next_ > base_ && env_.fs.stat(segment_path(place_.dir, next_, kLogSuffix)))
    return std::optional(next_);
  // Without gaps the next segment begins just there: a follower need not list the folder at each
  // wake. Once it is listed, for the segment that is due may be missing and later ones there.
  if (place_.dense && due_known_ && listed_behind_ && item == BatchReader::Item::kEnd)
    return std::optional<Offset>();
  listed_behind_ = true;
  auto files = list_partition(env_.fs, place_.dir);
  if (!files) {
    if (files.error().code == Errc::kNotFound) return std::optional<Offset>();
    return fail(files.error());
  }
  const auto behind = std::upper_bound(files->segments.begin(), files->segments.end(), base_);
  if (behind == files->segments.end()) return std::optional<Offset>();
  return std::optional(*behind);
}

/// Whether a batch may stand at the reader.
bool Cursor::fits(const BatchHeader& header) const {
  if (due_known_) return offset_fits(header, next_, place_.dense);
  // On the way to the start offset, which must not be jumped over.
  return !place_.dense || header.base_offset <= next_;
}

/// Whether the batch just read counts; moves on when it does.
bool Cursor::accept() {
  const BatchHeader& h = reader_->view().header;
  if (!fits(h)) return false;
  passed_ = h.next_offset();
  if (h.next_offset() >= next_) {
    next_ = h.next_offset();
    due_known_ = true;
  }
  return true;
}

Result<Cursor::Step> Cursor::next() {
  for (;;) {
    if (!reader_) {
      TRY_ASSIGN(const bool found, open_segment());
      if (!found) return Step::kEnd;
    }
    const std::int64_t position = reader_->position();
    const Offset due = next_;
    TRY_ASSIGN(BatchReader::Item item, reader_->next());
    if (item == BatchReader::Item::kBatch) {
      if (accept()) {
        if (next_ > due) return Step::kBatch;
        continue;  // on the way to the start offset
      }
      reader_->seek(position);
      item = BatchReader::Item::kBad;
    }
    TRY_ASSIGN(const auto step, at_stop(item));
    if (step) return *step;
  }
}

/// Reads again what did not read: `whole` says whether a batch stands there now. True when bytes
/// are there.
Result<bool> Cursor::reread(bool& whole) {
  const std::int64_t position = reader_->position();
  TRY_ASSIGN(const BatchReader::Item item, reader_->next());
  whole = item == BatchReader::Item::kBatch && fits(reader_->view().header);
  reader_->seek(position);
  return item != BatchReader::Item::kEnd;
}

/// No batch stands at the reader: the end, the end of a segment, or damage. A step for the caller,
/// or nullopt when reading goes on.
Result<std::optional<Cursor::Step>> Cursor::at_stop(BatchReader::Item item) {
  TRY_ASSIGN(const auto behind, segment_behind(item));
  if (behind) return at_segment_end(*behind);
  if (item == BatchReader::Item::kEnd) return at_end();
  const std::int64_t position = reader_->position();
  TRY_ASSIGN(const auto found, whole_behind(position));
  if (!found) return at_end();
  bool whole = false;
  TRY(reread(whole));
  if (whole) return std::optional<Step>();
  return damaged(position, {base_, found->position, found->header.base_offset});
}

/// What is whole behind the reader's position, where nothing reads.
Result<std::optional<FoundBatch>> Cursor::whole_behind(std::int64_t position) {
  const Offset due = due_known_ ? next_ : passed_;
  TRY_ASSIGN(auto found, find_behind(reader_->file(), position, due, place_.dense, false));
  if (found) return found;
  TRY_ASSIGN(const Offset on_disk, promised_end());
  if (on_disk <= next_) return found;
  return find_behind(reader_->file(), position, due, place_.dense, true);
}

/// Nothing whole is behind the reader: the end, unless the file was replaced or deleted.
Result<std::optional<Cursor::Step>> Cursor::at_end() {
  TRY_ASSIGN(const bool named, still_named());
  if (named) return at_log_end();
  reader_.reset();  // look again
  return std::optional<Step>();
}

/// The recovery point, up to which all was on disk, where it is known.
Result<Offset> Cursor::promised_end() {
  if (!place_.ours) return Offset(0);
  const auto folder = env_.fs.stat(place_.dir);
  if (!folder && folder.error().code == Errc::kNotFound) return Offset(0);  // found out elsewhere
  if (!folder) return fail(folder.error());
  TRY_ASSIGN(const auto state, read_state(env_.fs, place_.dir));
  // Of a copy nothing is known: what came later may not have been copied.
  return state && state->same_folder(*folder) ? state->recovery_point : Offset(0);
}

/// The log ends here; whether it may.
Result<std::optional<Cursor::Step>> Cursor::at_log_end() {
  if (promised_at_ != next_) {
    promised_at_ = next_;
    TRY_ASSIGN(promised_, promised_end());
    // What was appended since the last look would be there by now: look again before judging.
    return promised_ > next_ ? std::optional<Step>() : std::optional(Step::kEnd);
  }
  if (promised_ <= next_) return std::optional(Step::kEnd);
  const std::int64_t position = reader_->position();
  return damaged(position, {base_, position, promised_});
}

/// The segment at hand ends here, for `behind` begins the next one.
Result<std::optional<Cursor::Step>> Cursor::at_segment_end(Offset behind) {
  // Whatever was appended before the roll is there now.
  bool whole = false;
  TRY_ASSIGN(const bool bytes, reread(whole));
  if (whole) return std::optional<Step>();
  const std::int64_t position = reader_->position();
  if (bytes) {
    TRY_ASSIGN(const auto found, whole_behind(position));
    if (found) return damaged(position, {base_, found->position, found->header.base_offset});
    return damaged(position, {behind, 0, behind});
  }
  TRY_ASSIGN(const bool named, still_named());
  if (!named) {  // trimmed or compacted under us: the listing says where to go on
    reader_.reset();
    return std::optional<Step>();
  }
  // A start offset that is in neither of the two segments is missing as well.
  if (place_.dense && behind != next_ && (due_known_ || behind > next_))
    return damaged(position, {behind, 0, behind});
  if (next_ < behind) next_ = behind;
  auto opened = open_at(behind, next_ == behind ? 0 : -1);
  if (!opened) {
    if (opened.error().code != Errc::kNotFound) return fail(opened.error());
    reader_.reset();
  }
  return std::optional<Step>();
}

/// Whether what stands at next_ was never known to be on disk, and nobody has looked at it since
/// the machine went down (or since this copy was made): the next appender will end the log here.
Result<bool> Cursor::unrecovered() {
  if (!place_.ours) return false;
  TRY_ASSIGN(const FileStat folder, env_.fs.stat(place_.dir));
  TRY_ASSIGN(const auto state, read_state(env_.fs, place_.dir));
  if (!state) return true;
  TRY_ASSIGN(const std::string boot, env_.fs.boot_id());
  return !state->same_life(boot, folder) && next_ >= state->trusted_point();
}

Result<std::optional<Cursor::Step>> Cursor::damaged(std::int64_t position, Damage resume) {
  if (!due_known_ && resume.resume_offset <= next_) {
    // On the way to the start offset: what was asked for is not what is damaged.
    TRY(open_at(resume.resume_base, resume.resume_position));
    due_known_ = resume.resume_offset == next_;
    return std::optional<Step>();
  }
  TRY_ASSIGN(const bool ends_here, unrecovered());
  if (ends_here) {
    if (!told_unrecovered_)
      env_.notice(fmt::format(
          "{}: what is behind offset {} was not synced when the machine stopped or this "
          "copy was made, and does not read: the log ends there",
          place_.name(), next_.value()));
    told_unrecovered_ = true;
    return std::optional(Step::kEnd);
  }
  damage_ = resume;
  const std::string path = segment_path(place_.dir, base_, kLogSuffix);
  if (resume.resume_offset == next_)
    return fail(Errc::kCorrupt,
                fmt::format("'{}' is damaged at byte {}: bytes before offset {} do not read", path,
                            position, next_.value()));
  if (resume.resume_offset < next_)
    return fail(
        Errc::kCorrupt,
        fmt::format("'{}' is damaged: it begins at offset {}, and the segment before it ends "
                    "at byte {} with offset {}: offsets {} to {} are there twice",
                    segment_path(place_.dir, resume.resume_base, kLogSuffix),
                    resume.resume_offset.value(), position, next_.value() - 1,
                    resume.resume_offset.value(), next_.value() - 1));
  return fail(Errc::kCorrupt,
              fmt::format("'{}' is damaged at byte {}: offsets {} to {} do not read", path,
                          position, next_.value(), resume.resume_offset.value() - 1));
}

void Cursor::skip_damage() {
  if (!damage_) return;
  // Never back, or records would be given twice.
  const bool at_next = damage_->resume_offset >= next_;
  next_ = std::max(next_, damage_->resume_offset);
  reader_.reset();
  if (open_at(damage_->resume_base, damage_->resume_position)) due_known_ = at_next;
  damage_.reset();
}

std::string Cursor::batch_path() const {
  return segment_path(place_.dir, base_, kLogSuffix);
}

tl::unexpected<Error> content_error(const Cursor& cursor, const Error& why) {
  const BatchHeader& h = cursor.batch().header;
  return fail(
      Errc::kCorrupt,
      fmt::format("'{}' is damaged at byte {}: the batch of offsets {} to {} cannot be taken "
                  "apart: {}",
                  cursor.batch_path(), cursor.batch_position(), h.base_offset.value(),
                  h.last_offset().value(), why.message()));
}

Result<Cursor::Step> next_whole(Cursor& cursor) {
  for (;;) {
    auto step = cursor.next();
    if (step || step.error().code != Errc::kCorrupt) return step;
    cursor.skip_damage();
  }
}

}  // namespace spool
