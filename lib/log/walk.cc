#include "log/walk.h"

#include <array>

#include "base/crc32c.h"

namespace spool {

namespace {

constexpr std::size_t kCrcChunk = std::size_t{1} << 18;

/// The CRC of a file from one place to others behind it, in ascending order.
class RunningCrc {
 public:
  RunningCrc(File& file, std::int64_t from) : file_(file), at_(from) {}
  /// Of all from the first place up to `end`.
  [[nodiscard]] Result<std::uint32_t> upto(std::int64_t end) {
    while (at_ < end) {
      chunk_.resize(static_cast<std::size_t>(
          std::min<std::int64_t>(end - at_, static_cast<std::int64_t>(kCrcChunk))));
      TRY_ASSIGN(const std::size_t got, file_.read_at(chunk_.mutable_bytes(), at_));
      if (got == 0) return fail(Errc::kCorrupt, "a segment shrank while it was read");
      crc_ = crc32c_extend(crc_, chunk_.bytes().first(got));
      at_ += static_cast<std::int64_t>(got);
    }
    return crc_;
  }

 private:
  File& file_;
  std::int64_t at_;
  std::uint32_t crc_ = 0;
  Buffer chunk_;
};

}  // namespace

Result<std::optional<FoundBatch>> find_behind(File& file, std::int64_t at, Offset due, bool dense,
                                              bool was_on_disk) {
  std::array<std::byte, kBatchHeaderBytes> raw{};
  TRY_ASSIGN(const std::size_t got, file.read_at(raw, at));
  const BatchHeader damaged = BatchHeader::decode(raw.data());
  if (was_on_disk || got < raw.size() || !damaged.plausible())
    return find_whole_batch(file, at + 1, due, dense);
  const std::int64_t claimed_end = at + damaged.size();
  RunningCrc crc(file, at + static_cast<std::int64_t>(batch_field::kAttributes));
  for (std::int64_t from = at + 1;;) {
    TRY_ASSIGN(const auto found, find_whole_batch(file, from, due, dense));
    if (!found || found->position >= claimed_end) return found;
    from = found->position + 1;
    if (found->position - at < static_cast<std::int64_t>(kBatchHeaderBytes)) continue;
    TRY_ASSIGN(const std::uint32_t really, crc.upto(found->position));
    if (really == damaged.crc) return found;
  }
}

Result<WalkEnd> walk_segment(
    BatchReader& reader, std::optional<Offset> expected, Offset next_offset, const WalkRules& rules,
    const std::function<Result<void>(std::int64_t position, const BatchView&)>& on_batch,
    const std::function<void(const Rot&)>& on_rot) {
  WalkEnd end{reader.position(), next_offset, false};
  for (;;) {
    TRY_ASSIGN(const BatchReader::Item item, reader.next());
    if (item == BatchReader::Item::kEnd) return end;
    if (item == BatchReader::Item::kBatch &&
        offset_fits(reader.view().header, expected, rules.dense)) {
      if (on_batch) TRY(on_batch(reader.batch_position(), reader.view()));
      end.size = reader.position();
      end.next_offset = reader.view().header.next_offset();
      expected = end.next_offset;
      continue;
    }
    end.bytes_left = true;
    if (!rules.pass_rot && end.next_offset >= rules.rot_below) return end;
    // A batch within a record of the bad one is believed only where nothing else is found, and
    // where all was on disk once.
    TRY_ASSIGN(auto found,
               find_behind(reader.file(), end.size, end.next_offset, rules.dense, false));
    if (!found && end.next_offset < rules.rot_below) {
      TRY_ASSIGN(found, find_behind(reader.file(), end.size, end.next_offset, rules.dense, true));
      if (found && found->header.base_offset >= rules.rot_below) found.reset();
    }
    if (!found) return end;
    if (on_rot) on_rot({end.size, end.next_offset, *found});
    end = {found->position, found->header.base_offset, false};
    expected = end.next_offset;
    reader.seek(found->position);
  }
}

}  // namespace spool
