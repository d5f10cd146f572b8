#include "record/record.h"

namespace spool {

bool RecordIterator::parse_headers(VarintReader& in, std::int64_t count) {
  // A header takes at least two bytes, which bounds what a hostile count can make us reserve.
  if (count < 0 || count > in.left() / 2) return false;
  for (std::int64_t i = 0; i < count; ++i) {
    HeaderView header;
    header.name = as_text(in.take(in.varint()));
    header.value = nullable(in);
    if (!in.ok()) return false;
    headers_.push_back(header);
  }
  return true;
}

}  // namespace spool
