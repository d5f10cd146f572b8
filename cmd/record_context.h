#pragma once
/// What the formatters of consume print: a record and what is known about its place.

#include <cstdint>
#include <string_view>

#include "record/record.h"

namespace spool {

/// Borrows the topic and the record. The defaults are what Kafka has for "not known".
struct RecordContext {
  std::string_view topic;
  std::int32_t partition = 0;
  const RecordView* record = nullptr;  ///< REQUIRED
  std::int32_t leader_epoch = -1;
  std::int64_t producer_id = -1;
  std::int16_t producer_epoch = -1;
  std::int16_t attributes = 0;  ///< of the batch: bits 0-2 codec, 3 append time, 4 txn, 5 control
  std::int64_t log_start = -1;
  std::int64_t last_stable = -1;
  std::int64_t high_watermark = -1;
  std::int64_t number = 0;  ///< of records printed, this one included: the caller counts

  [[nodiscard]] bool append_time() const { return (attributes & 0x08) != 0; }
};

}  // namespace spool
