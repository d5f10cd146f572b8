#include "store/internal_topics.h"

#include <fmt/format.h>

namespace spool {

namespace {

struct StateTopic {
  std::string_view name;
  std::string_view what;
};

constexpr StateTopic kStateTopics[] = {
    {kMetadataTopic, "the broker's record of its topics, which only it may change"},
    {"__consumer_offsets",
     "where groups keep their offsets: change those with 'spool reset-offsets' or 'spool groups'"},
    {"__transaction_state", "the broker's record of transactions, which only it may change"},
    {"__share_group_state", "the broker's record of share groups, which only it may change"},
};

}  // namespace

Result<void> check_not_state(std::string_view topic) {
  for (const StateTopic& t : kStateTopics)
    if (t.name == topic)
      return fail(Errc::kConflict, fmt::format("topic '{}' is {}", t.name, t.what));
  return {};
}

Result<void> check_creatable(std::string_view topic) {
  if (topic != kMetadataTopic) return {};
  return fail(Errc::kConflict,
              fmt::format("'{}' is the name of a broker's record of its topics, and no topic's",
                          kMetadataTopic));
}

}  // namespace spool
