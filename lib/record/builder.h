#pragma once
/// Builds one record batch v2 in a buffer that is used again and again.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/ids.h"
#include "base/result.h"
#include "record/batch.h"

namespace spool {

/// Records in, a sealed batch out. Not thread-safe. Base offset 0 and leader epoch -1 until an
/// appender sets them.
class BatchBuilder {
 public:
  explicit BatchBuilder(std::size_t capacity = 0) : buffer_(capacity) { reset(); }

  /// Forgets all records; keeps the memory.
  void reset();
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::int32_t count() const { return count_; }
  /// Bytes of the batch as it stands, uncompressed.
  [[nodiscard]] std::size_t size() const { return buffer_.size(); }

  /// Adds a record; the bytes are copied. Its whole size must stay below 2 GiB (callers bound
  /// records far below that).
  void add(TimestampMs timestamp, std::optional<std::string_view> key,
           std::optional<std::string_view> value, std::span<const HeaderView> headers = {});
  /// The common case of `add`: a value, no key, no headers.
  void add_value(TimestampMs timestamp, std::string_view value);

  /// Says who wrote the batch, in its header; until reset().
  void set_producer(std::int64_t id, std::int16_t epoch, std::int32_t base_sequence) {
    producer_id_ = id;
    producer_epoch_ = epoch;
    base_sequence_ = base_sequence;
  }

  struct Taken {
    std::size_t bytes = 0;  ///< of the text, delimiters included
    std::int32_t records = 0;
  };
  /// Adds the pieces of `text` that end in `delimiter`, each as add_value() does, until the batch
  /// has `bytes_limit`, a piece is longer than `piece_max`, or no delimiter is left. The fast way
  /// for plain lines.
  Taken add_delimited(TimestampMs timestamp, std::string_view text, char delimiter,
                      std::size_t piece_max, std::size_t bytes_limit);

  /// Writes header and CRC and, with a codec, replaces the block by its compressed form. The result
  /// is borrowed and stays until reset().
  [[nodiscard]] Result<MutableBytes> seal(Codec codec, Compressor* compressor);
  /// The records as they were added, whatever the codec; for reports.
  [[nodiscard]] RecordIterator records(Offset base_offset) const;

  /// Gives memory back when one large record had grown the buffer beyond `capacity_max`.
  void shrink(std::size_t capacity_max);

 private:
  void note_time(TimestampMs timestamp);
  void write_header(std::byte* at, std::size_t size, Codec codec) const;

  Buffer buffer_;
  Buffer compressed_;
  std::int32_t count_ = 0;
  TimestampMs base_timestamp_;
  TimestampMs max_timestamp_;
  std::int64_t producer_id_ = -1;
  std::int16_t producer_epoch_ = -1;
  std::int32_t base_sequence_ = -1;
};

/// Sets what the log decides: base offset and leader epoch; outside the CRC.
void place_batch(MutableBytes batch, Offset base_offset, Epoch leader_epoch);
/// A batch without records for the offsets [from, to), of which there are at least one and at most
/// 2^31.
[[nodiscard]] std::array<std::byte, kBatchHeaderBytes> empty_batch(Offset from, Offset to,
                                                                   Epoch leader_epoch);
/// Makes it a batch of log-append time (attribute bit and max timestamp) and renews the CRC.
void set_append_time(MutableBytes batch, TimestampMs now);

}  // namespace spool
