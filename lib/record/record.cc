#include "record/record.h"

#include <limits>

namespace spool {

namespace {

// A length of -1 is null; below that is malformed and makes the reader fail.
std::optional<std::string_view> nullable(VarintReader& in) {
  const std::int64_t length = in.varint();
  if (length == -1) return std::nullopt;
  return as_text(in.take(length));
}

}  // namespace

const RecordView* RecordIterator::next() {
  if (!ok_) return nullptr;
  if (left_ <= 0) {
    ok_ = left_ == 0 && at_ == end_;
    return nullptr;
  }
  ok_ = parse();
  --left_;
  return ok_ ? &record_ : nullptr;
}

bool RecordIterator::parse() {
  VarintReader outer(at_, end_);
  const std::int64_t length = outer.varint();
  const Bytes body = outer.take(length);
  if (!outer.ok() || body.empty()) return false;
  at_ = outer.at();

  VarintReader in(body.data() + 1, body.data() + body.size());  // one byte of unused attributes
  const std::int64_t timestamp_delta = in.varint();
  const std::int64_t offset_delta = in.varint();
  record_.key = nullable(in);
  record_.value = nullable(in);
  if (!parse_headers(in) || !in.ok() || in.left() != 0) return false;
  if (offset_delta < 0 || offset_delta > std::numeric_limits<std::int32_t>::max()) return false;
  std::int64_t timestamp = 0;
  if (__builtin_add_overflow(base_timestamp_.value(), timestamp_delta, &timestamp)) return false;
  record_.offset = base_offset_ + offset_delta;
  record_.timestamp = append_time_ ? max_timestamp_ : TimestampMs(timestamp);
  return true;
}

bool RecordIterator::parse_headers(VarintReader& in) {
  headers_.clear();
  record_.headers = &headers_;
  const std::int64_t count = in.varint();
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
