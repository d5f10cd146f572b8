#pragma once
/// Prints the record that a lane stands at, as consume does.

#include <cstdint>

#include "lane.h"
#include "output.h"
#include "printer.h"

namespace spool {

/// A larger value is written from where it stands.
inline constexpr std::size_t kLargeValue = std::size_t{1} << 20;

/// What there is to print of the record at which the lane stands, the `number`th.
[[nodiscard]] RecordContext record_context(const Lane& lane, std::int64_t number);
/// `number` is of records printed, this one included. False when writing has failed.
[[nodiscard]] bool print_record(const Lane& lane, std::int64_t number, const Printer& printer,
                                Output& output);

}  // namespace spool
