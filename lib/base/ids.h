#pragma once
/// Strong types for the numbers that must not be mixed up. Kafka's names, Kafka's meaning.

#include <compare>
#include <cstdint>

namespace spool {

template <class Tag, class Rep>
class Named {
 public:
  using rep = Rep;
  constexpr Named() = default;
  constexpr explicit Named(Rep value) : value_(value) {}
  [[nodiscard]] constexpr Rep value() const { return value_; }
  constexpr auto operator<=>(const Named&) const = default;
  constexpr Named operator+(Rep n) const { return Named(static_cast<Rep>(value_ + n)); }
  constexpr Named operator-(Rep n) const { return Named(static_cast<Rep>(value_ - n)); }
  constexpr Rep operator-(Named other) const { return static_cast<Rep>(value_ - other.value_); }
  constexpr Named& operator+=(Rep n) {
    value_ = static_cast<Rep>(value_ + n);
    return *this;
  }

 private:
  Rep value_{};
};

using Offset = Named<struct OffsetTag, std::int64_t>;          ///< place of a record in a partition
using PartitionId = Named<struct PartitionTag, std::int32_t>;  ///< from 0
using Epoch = Named<struct EpochTag, std::int32_t>;            ///< leader epoch; -1 = unknown
using TimestampMs = Named<struct TimestampTag, std::int64_t>;  ///< since 1970-01-01 UTC; -1 = none

inline constexpr TimestampMs kNoTimestamp{-1};

}  // namespace spool
