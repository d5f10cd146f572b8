#include "log/walk.h"

namespace spool {

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
    TRY_ASSIGN(const auto found,
               find_whole_batch(reader.file(), end.size + 1, end.next_offset, rules.dense));
    if (!found) return end;
    if (on_rot) on_rot({end.size, end.next_offset, *found});
    end = {found->position, found->header.base_offset, false};
    expected = end.next_offset;
    reader.seek(found->position);
  }
}

}  // namespace spool
