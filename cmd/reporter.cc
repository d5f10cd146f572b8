#include "reporter.h"

#include <cerrno>
#include <unistd.h>

#include <fmt/format.h>

#include "context.h"

namespace spool {

namespace {

constexpr std::size_t kReportBytes = std::size_t{64} << 10;

}  // namespace

Result<std::unique_ptr<Reporter>> Reporter::make(std::string format) {
  if (!format.ends_with('\n') && !format.ends_with("\\n")) format += "\\n";
  auto reporter = std::make_unique<Reporter>();
  reporter->simple_ = format == "%p %o\\n";
  TRY_ASSIGN(reporter->format_, OutputFormat::compile(format, ""));
  return reporter;
}

void Reporter::on_stored(const StoredRecord* stored) {
  if (stored == nullptr) return flush();
  ++in_out_;
  if (simple_) {
    fmt::format_to(std::back_inserter(out_), "{} {}\n", stored->partition.value(),
                   stored->offset.value());
  } else {
    RecordContext context;
    context.topic = stored->topic;
    context.partition = stored->partition.value();
    context.record = stored->record;
    context.leader_epoch = stored->leader_epoch.value();
    context.attributes = stored->attributes;
    context.number = ++number_;
    format_->append(context, out_);
  }
  if (out_.size() >= kReportBytes) flush();
}

void Reporter::flush() {
  if (!failed() && !out_.empty() && !write_all(STDOUT_FILENO, out_)) problem_ = errno;
  if (failed()) lost_ += in_out_;
  in_out_ = 0;
  out_.clear();
}

}  // namespace spool
