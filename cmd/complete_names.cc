#include "complete_names.h"

#include <memory>

#include "context.h"
#include "group_view.h"

namespace spool {

namespace {

/// nullptr when there is no directory to look at.
std::unique_ptr<Store> open_quietly(const NamePlace& place) {
  std::vector<std::string> args{"--quiet"};
  if (place.dir) args.push_back("--dir=" + *place.dir);
  const auto parsed = parse_options(CommandDef{}, args);
  if (!parsed) return nullptr;
  const auto common = read_common(*parsed);
  if (!common) return nullptr;
  auto store = Store::open(store_options(*common), common->dir);
  return store ? std::move(*store) : nullptr;
}

}  // namespace

std::vector<std::string> DirectoryNames::topics(const NamePlace& place) {
  std::vector<std::string> out;
  const auto store = open_quietly(place);
  if (store == nullptr) return out;
  auto topics = store->list_topics();
  if (!topics) return out;
  for (TopicInfo& t : *topics)
    out.push_back(std::move(t.name));
  return out;
}

std::vector<std::int32_t> DirectoryNames::partitions(const NamePlace& place,
                                                     const std::string& topic) {
  std::vector<std::int32_t> out;
  const auto store = open_quietly(place);
  if (store == nullptr) return out;
  const auto found = store->find_topic(topic);
  if (!found) return out;
  for (const PartitionId p : found->partitions)
    out.push_back(p.value());
  return out;
}

std::vector<std::string> DirectoryNames::groups(const NamePlace& place) {
  std::vector<std::string> out;
  const auto store = open_quietly(place);
  if (store == nullptr) return out;
  OffsetStore offsets(*store);
  const auto groups = view_groups(*store, offsets);
  if (!groups) return out;
  for (const auto& [name, group] : *groups)
    out.push_back(name);
  return out;
}

}  // namespace spool
