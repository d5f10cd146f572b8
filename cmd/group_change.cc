#include "group_change.h"

#include <algorithm>
#include <cerrno>
#include <unistd.h>

#include <fmt/format.h>

#include "context.h"

namespace spool {

Result<void> without_members(Store& store, OffsetStore& offsets, const std::string& name,
                             const std::vector<TopicChoice>& topics, bool force,
                             const std::function<Result<void>()>& change) {
  TRY_ASSIGN(const auto byte, store.env().locks.lock_byte(group_byte(name)));
  TRY_ASSIGN(auto group, view_group(store, offsets, name));
  if (group && !force) {
    std::erase_if(group->members, [&](const LiveMember& m) {
      return !topics.empty() && std::none_of(topics.begin(), topics.end(), [&](const auto& c) {
        return c.topic == m.record.topic;
      });
    });
    if (!group->members.empty())
      return fail(Errc::kConflict,
                  fmt::format("group '{}' has living members ({}): nothing was changed", name,
                              member_names(group->members)));
  }
  return change();
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

int delete_groups(Store& store, OffsetStore& offsets, const std::vector<std::string>& names) {
  int result = status::kOk;
  for (const std::string& name : names) {
    const auto done = without_members(store, offsets, name, {}, false, [&]() -> Result<void> {
      TRY_ASSIGN(const auto group, offsets.group(name));
      if (!group) return fail(Errc::kNotFound, fmt::format("group '{}' does not exist", name));
      return offsets.remove(name);
    });
    if (done) continue;
    const int failed = report_error(done.error());
    // One of several: the others are still deleted.
    result = names.size() == 1 ? failed : status::kFailure;
  }
  return result;
}

int delete_offsets(Store& store, OffsetStore& offsets, const std::string& name,
                   const std::vector<TopicChoice>& topics) {
  const auto done = without_members(store, offsets, name, topics, false, [&]() -> Result<void> {
    TRY_ASSIGN(const auto group, offsets.group(name));
    if (!group) return fail(Errc::kNotFound, fmt::format("group '{}' does not exist", name));
    std::vector<OffsetChange> changes;
    for (const auto& [at, value] : group->offsets)
      if (is_chosen(topics, at)) changes.push_back({at, std::nullopt, ""});
    if (changes.empty())
      return fail(Errc::kNotFound, fmt::format("group '{}' has no offset of these", name));
    TRY(offsets.change(name, changes, false));
    return {};
  });
  return done ? status::kOk : report_error(done.error());
}

int export_group(OffsetStore& offsets, const std::string& name,
                 const std::vector<TopicChoice>& topics) {
  const auto group = offsets.group(name);
  if (!group) return report_error(group.error());
  if (!*group)
    return report_error(Error{Errc::kNotFound, 0, fmt::format("group '{}' does not exist", name)});
  std::string out;
  for (const auto& [at, value] : (*group)->offsets)
    if (is_chosen(topics, at))
      out += fmt::format("{},{},{}\n", at.topic, at.partition.value(), value.offset.value());
  if (write_all(STDOUT_FILENO, out)) return status::kOk;
  return report_error(system_error(errno, "cannot write to stdout"));
}

int copy_group(Store& store, OffsetStore& offsets, const std::string& from, const std::string& to,
               const std::vector<TopicChoice>& topics) {
  if (from == to) {
    say(fmt::format("group '{}' cannot be copied to itself", from));
    return status::kUsage;
  }
  const auto done = without_members(store, offsets, to, {}, false, [&]() -> Result<void> {
    TRY_ASSIGN(const auto group, offsets.group(from));
    if (!group) return fail(Errc::kNotFound, fmt::format("group '{}' does not exist", from));
    std::vector<OffsetChange> changes;
    for (const auto& [at, value] : group->offsets)
      if (is_chosen(topics, at)) changes.push_back({at, value.offset, value.metadata});
    TRY(offsets.change(to, changes, false));
    return {};
  });
  return done ? status::kOk : report_error(done.error());
}

}  // namespace spool
