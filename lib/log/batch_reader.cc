#include "log/batch_reader.h"

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"

namespace spool {

namespace {

/// So much more is read ahead than at once, at most.
constexpr std::size_t kAheadChunks = 4;
/// A length above this may be rot: it gets memory when the CRC of what it covers is right.
constexpr std::int64_t kTrustedBytes = std::int64_t{16} << 20;

/// Whether the CRC of a batch at `at` holds, of which the file has all bytes. Reads it in pieces.
Result<bool> crc_holds(File& file, std::int64_t at, const BatchHeader& header) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 20;
  constexpr auto kCovered = static_cast<std::int64_t>(batch_field::kAttributes);
  Buffer piece;
  std::uint32_t crc = 0;
  for (std::int64_t done = kCovered; done < header.size();) {
    piece.resize(static_cast<std::size_t>(std::min(kPiece, header.size() - done)));
    TRY_ASSIGN(const std::size_t got, file.read_at(piece.mutable_bytes(), at + done));
    if (got == 0) return false;
    crc = crc32c_extend(crc, piece.bytes().first(got));
    done += static_cast<std::int64_t>(got);
  }
  return crc == header.crc;
}

}  // namespace

void BatchReader::seek(std::int64_t position) {
  position_ = position;
  drop();
}

void BatchReader::release() {
  view_.bytes = {};
  drop();
  buffer_.shrink(0);
}

/// Forgets what was read.
void BatchReader::drop() {
  buffer_.clear();
  used_ = 0;
  chunks_in_a_row_ = 0;
  ahead_.reset();
}

/// What comes behind the buffer is read while its batches are worked on.
void BatchReader::read_ahead() {
  constexpr int kInARow = 4;  // fewer are not worth a thread
  if (executor_ == nullptr || ++chunks_in_a_row_ < kInARow) return;
  if (!ahead_) ahead_ = std::make_unique<ReadAhead>(*executor_, file_);
  // Batches in a row are about as large as each other: a read that ends a little behind one leaves
  // little to be moved in front of the next.
  constexpr std::size_t kMargin = 512;
  const auto batch = static_cast<std::size_t>(view_.header.size());
  std::size_t bytes = kAheadChunks * chunk_bytes_;
  if (batch > kMargin && batch < bytes) bytes -= (bytes + ahead().size()) % batch - kMargin;
  ahead_->start(position_ + static_cast<std::int64_t>(ahead().size()), chunk_bytes_, bytes);
}

Result<void> BatchReader::fill(std::size_t want) {
  if (ahead_ && ahead_->take(position_ + static_cast<std::int64_t>(ahead().size()), ahead(),
                             buffer_, used_)) {
    read_ahead();
    if (ahead().size() >= want) return {};
  }
  if (used_ > 0) {
    buffer_.consume_front(used_);
    used_ = 0;
  }
  const std::size_t have = buffer_.size();
  if (have == 0 && want <= chunk_bytes_) buffer_.shrink(2 * chunk_bytes_);
  const std::size_t target = std::max(want, std::max(chunk_bytes_, have));
  buffer_.reserve(target);
  buffer_.resize(target);
  const auto at = position_ + static_cast<std::int64_t>(have);
  auto got = file_->read_at(buffer_.mutable_bytes().subspan(have), at);
  buffer_.resize(have + (got ? *got : 0));
  if (!got) return fail(got.error());
  if (buffer_.size() < target)
    chunks_in_a_row_ = 0;
  else
    read_ahead();
  return {};
}

Result<BatchReader::Item> BatchReader::next() {
  BatchHeader& header = view_.header;
  BatchState state = check_batch(ahead(), header);
  if (state == BatchState::kPartial) {
    std::size_t want = kBatchHeaderBytes;
    if (ahead().size() < kBatchHeaderBytes) {
      TRY(fill(want));
      state = check_batch(ahead(), header);
    }
    if (state == BatchState::kPartial && ahead().size() >= kBatchHeaderBytes) {
      // Only a length that the file bears out is worth memory.
      want = static_cast<std::size_t>(header.size());
      TRY_ASSIGN(const FileStat st, file_->stat());
      bool there = position_ + header.size() <= st.size;
      if (there && header.size() > kTrustedBytes) {
        TRY_ASSIGN(there, crc_holds(*file_, position_, header));
        if (!there) state = BatchState::kBad;
      }
      if (there) {
        TRY(fill(want));
        state = check_batch(ahead(), header);
      }
    }
  }
  if (state == BatchState::kWhole) {
    view_.bytes = ahead().first(static_cast<std::size_t>(header.size()));
    used_ += view_.bytes.size();
    position_ += header.size();
    return Item::kBatch;
  }
  const bool end = ahead().empty();
  // What was read ahead may be replaced by the next appender: it is read again next time.
  drop();
  if (end) return Item::kEnd;
  return state == BatchState::kPartial ? Item::kPartial : Item::kBad;
}

namespace {

constexpr std::size_t kSearchWindow = std::size_t{1} << 20;

/// Whether a whole batch lies at `at`; reads it to check its CRC.
Result<bool> whole_at(File& file, std::int64_t at, const BatchHeader& claimed, Buffer& scratch) {
  if (claimed.size() > kTrustedBytes) return crc_holds(file, at, claimed);
  scratch.resize(static_cast<std::size_t>(claimed.size()));
  TRY_ASSIGN(const std::size_t got, file.read_at(scratch.mutable_bytes(), at));
  BatchHeader header;
  return check_batch(scratch.bytes().first(got), header) == BatchState::kWhole;
}

bool could_follow(const BatchHeader& h, std::int64_t skipped, Offset offset_min, bool dense) {
  if (!h.plausible() || h.base_offset < offset_min) return false;
  if (!dense) return true;
  // A compressed batch holds many records in few bytes: this is what so many bytes can have held.
  constexpr std::int64_t kRecordsMax = (std::int64_t{256} << 20) / 7;
  constexpr auto kHeaderBytes = static_cast<std::int64_t>(kBatchHeaderBytes);
  return (h.base_offset - offset_min) / kRecordsMax <= skipped / kHeaderBytes;
}

}  // namespace

Result<std::optional<FoundBatch>> find_whole_batch(File& file, std::int64_t from, Offset offset_min,
                                                   bool dense) {
  Buffer window(kSearchWindow);
  Buffer scratch;
  TRY_ASSIGN(const FileStat st, file.stat());
  for (std::int64_t at = from; at + static_cast<std::int64_t>(kBatchHeaderBytes) <= st.size;) {
    window.resize(kSearchWindow);
    TRY_ASSIGN(const std::size_t got, file.read_at(window.mutable_bytes(), at));
    if (got < kBatchHeaderBytes) break;
    const std::byte* begin = window.data();
    const std::size_t last = got - kBatchHeaderBytes;  // last place where a header fits
    for (std::size_t i = 0; i <= last; ++i) {
      const void* magic = std::memchr(begin + i + batch_field::kMagic, 2, last - i + 1);
      if (magic == nullptr) break;
      i = static_cast<std::size_t>(static_cast<const std::byte*>(magic) - begin) -
          batch_field::kMagic;
      const BatchHeader header = BatchHeader::decode(begin + i);
      const std::int64_t place = at + static_cast<std::int64_t>(i);
      if (!could_follow(header, place - from, offset_min, dense)) continue;
      if (place + header.size() > st.size) continue;
      TRY_ASSIGN(const bool whole, whole_at(file, place, header, scratch));
      if (whole) return std::optional<FoundBatch>({place, header});
    }
    at += static_cast<std::int64_t>(last) + 1;
  }
  return std::optional<FoundBatch>();
}

}  // namespace spool
