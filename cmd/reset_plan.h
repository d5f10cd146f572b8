#pragma once
/// What reset-offsets is to do: its options, and for a group where each partition goes.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "group_view.h"
#include "offset_spec.h"
#include "options.h"

namespace spool {

struct ResetOptions {
  enum class Mode {
    kEarliest,
    kLatest,
    kCurrent,
    kOffset,
    kShift,
    kTime,
    kFile,
    kGroup,
    kBound,
    kUndo,
  };
  std::vector<std::string> groups;
  std::vector<TopicChoice> topics;
  bool all_topics = false;
  Mode mode = Mode::kCurrent;
  std::int64_t number = 0;  ///< offset, shift, or milliseconds
  std::optional<Bound> bound;
  std::string source;  ///< file, or group
  bool execute = false;
  bool export_csv = false;
  bool strict = false;
  bool force = false;
};

/// Errc::kUsage.
[[nodiscard]] Result<ResetOptions> read_reset_options(const Args& args, TimestampMs now);

/// By group ("" for all groups), then partition.
using FileOffsets = std::map<std::string, std::map<TopicPartition, Offset>>;
/// CSV `[GROUP,]TOPIC,PARTITION,OFFSET` with or without a line of names, lines `T P O`, or JSON:
/// kafka-consumer-groups's CSV, and what `groups` and reset-offsets print. Errc::kInvalid names the
/// line.
[[nodiscard]] Result<FileOffsets> parse_offsets_text(std::string_view text,
                                                     const std::string& name);

struct ResetRow {
  TopicPartition at;
  std::optional<Offset> before;
  std::optional<Offset> after;  ///< unset: the offset goes away, or the row is left out
  Offset log_end;
  std::string note;
  bool skipped = false;  ///< nothing can be done here; `note` says why
};

/// The plan for one group. `file` is for Mode::kFile. Errc::kNotFound for a topic or partition that
/// is not there, Errc::kOutOfRange with --strict.
[[nodiscard]] Result<std::vector<ResetRow>> plan_reset(Store& store, OffsetStore& offsets,
                                                       LogEnds& ends, const ResetOptions& options,
                                                       const std::string& group,
                                                       const FileOffsets& file);

}  // namespace spool
