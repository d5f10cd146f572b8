#pragma once
/// What `groups` changes.

#include <functional>
#include <string>
#include <vector>

#include "group_view.h"

namespace spool {

// Each gives the exit status.
[[nodiscard]] int delete_groups(Store& store, OffsetStore& offsets,
                                const std::vector<std::string>& names);
[[nodiscard]] int delete_offsets(Store& store, OffsetStore& offsets, const std::string& name,
                                 const std::vector<TopicChoice>& topics);
/// CSV lines `topic,partition,offset`.
[[nodiscard]] int export_group(OffsetStore& offsets, const std::string& name,
                               const std::vector<TopicChoice>& topics);
[[nodiscard]] int copy_group(Store& store, OffsetStore& offsets, const std::string& from,
                             const std::string& to, const std::vector<TopicChoice>& topics);

/// Runs `change` while nobody can join the group. Errc::kConflict, naming them, when members live
/// (of these topics, where some are given); with `force` they may.
[[nodiscard]] Result<void> without_members(Store& store, OffsetStore& offsets,
                                           const std::string& name,
                                           const std::vector<TopicChoice>& topics, bool force,
                                           const std::function<Result<void>()>& change);

/// A field of CSV, quoted where it has to be.
[[nodiscard]] std::string csv_field(const std::string& text);

}  // namespace spool
