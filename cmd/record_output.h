#pragma once
/// Prints the record that a lane stands at, as consume does.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

/// The values of the records, for a printer that prints nothing else. `before_large` is called
/// before the output gets one that it takes at once, `after_each` behind each: false ends it. False
/// when that did, or writing has failed.
template <class BeforeLarge, class AfterEach>
[[nodiscard]] bool print_values(RecordIterator& records, const Printer& printer, Output& output,
                                BeforeLarge&& before_large, AfterEach&& after_each) {
  std::string& out = output.text();
  std::optional<std::string_view> value;
  while (records.next_value(value)) {
    if (value && value->size() > kLargeValue && !output.escapes()) {
      before_large();
      if (!output.write_through(*value)) return false;
      printer.print_after_value(out);
    } else {
      printer.print_plain(value, out);
    }
    if (!after_each()) return false;
  }
  return true;
}

}  // namespace spool
