#pragma once
/// What `groups` shows: committed offsets beside the ends of the partitions, and who reads them.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "group/membership.h"
#include "group/offset_store.h"
#include "store/store.h"

namespace spool {

/// `T`, `T:P` or `T:0,2,4-7`.
struct TopicChoice {
  std::string topic;
  std::optional<std::vector<PartitionId>> partitions;
};
/// Errc::kUsage.
[[nodiscard]] Result<std::vector<TopicChoice>> parse_topic_choices(
    const std::vector<std::string>& texts);
/// Without choices everything is chosen.
[[nodiscard]] bool is_chosen(const std::vector<TopicChoice>& choices, const TopicPartition& at);

struct OffsetRow {
  TopicPartition at;
  std::optional<Offset> committed;
  std::optional<Offset> log_start;  ///< unset: the topic is not there any more
  std::optional<Offset> log_end;
  std::optional<std::int64_t> lag;
  const LiveMember* member = nullptr;
};

struct GroupView {
  std::string name;
  GroupRecord record;
  std::vector<LiveMember> members;  ///< one for each topic that a process reads
  [[nodiscard]] std::size_t member_count() const;
  /// Kafka's names: Stable with members, Empty without.
  [[nodiscard]] std::string state() const { return members.empty() ? "Empty" : "Stable"; }
};

/// "CLIENT-PID", as members are named in messages and columns.
[[nodiscard]] std::string member_name(const MemberRecord& record);
/// "spool-123, spool-124", each process once.
[[nodiscard]] std::string member_names(const std::vector<LiveMember>& members);

/// All groups that have an offset, a group record or a member, by name.
[[nodiscard]] Result<std::map<std::string, GroupView>> view_groups(Store& store,
                                                                   OffsetStore& offsets);
/// One; nullopt when there is none of this name.
[[nodiscard]] Result<std::optional<GroupView>> view_group(Store& store, OffsetStore& offsets,
                                                          const std::string& name);

/// Ends of partitions, each looked at once.
class LogEnds {
 public:
  explicit LogEnds(Store& store) : store_(store) {}
  struct Ends {
    Offset start;
    Offset end;
  };
  /// nullopt when the topic or partition is not there.
  [[nodiscard]] Result<std::optional<Ends>> of(const TopicPartition& at);
  /// nullptr when it is not there.
  [[nodiscard]] Result<const TopicInfo*> topic(const std::string& name);

 private:
  Store& store_;
  std::map<std::string, std::optional<TopicInfo>> topics_;
  std::map<TopicPartition, std::optional<Ends>> ends_;
};

/// The partitions that a group has an offset of or reads. The rows borrow `group`.
[[nodiscard]] Result<std::vector<OffsetRow>> offset_rows(LogEnds& ends, const GroupView& group,
                                                         const std::vector<TopicChoice>& choices);

}  // namespace spool
