#include "record_output.h"

namespace spool {

RecordContext record_context(const Lane& lane, std::int64_t number) {
  const RecordView& record = lane.stream->record();
  const BatchHeader& batch = lane.stream->batch();
  RecordContext context;
  context.topic = lane.topic;
  context.partition = lane.place.partition.value();
  context.record = &record;
  context.leader_epoch = batch.leader_epoch.value();
  context.producer_id = batch.producer_id;
  context.producer_epoch = batch.producer_epoch;
  context.attributes = static_cast<std::int16_t>(batch.attributes);
  context.log_start = lane.view.log_start.value();
  context.last_stable = lane.stable.value();
  context.high_watermark = lane.view.log_end.value();
  context.number = number;
  return context;
}

bool print_record(const Lane& lane, std::int64_t number, const Printer& printer, Output& output) {
  const RecordView& record = lane.stream->record();
  const RecordContext context = record_context(lane, number);
  if (record.value && record.value->size() > kLargeValue && printer.value_as_it_stands() &&
      !output.escapes()) {
    printer.print_before_value(context, output.text());
    if (!output.write_through(*record.value)) return false;
    printer.print_after_value(output.text());
  } else {
    printer.print(context, output.text());
  }
  return true;
}

}  // namespace spool
