#include "store/gaps.h"

#include <fmt/format.h>

#include "store/catalogue.h"

namespace spool {

Result<TopicInfo> allow_gaps(Store& store, const TopicInfo& topic) {
  TopicInfo changed = topic;
  changed.dense = false;
  if (!topic.dense) return changed;
  const LogEnv& env = store.env();
  TRY_ASSIGN(const auto operation, env.locks.begin());
  TRY_ASSIGN(const auto byte, env.locks.lock_byte("topics"));
  TRY_ASSIGN(auto catalogue, read_catalogue(env.fs, env.root));
  for (CatalogueEntry& e : catalogue.topics) {
    if (e.name != topic.name || e.id != topic.id) continue;
    if (e.dense) {
      e.dense = false;
      TRY(write_catalogue(env.fs, env.root, catalogue, env.file_mode));
    }
    return changed;
  }
  return fail(Errc::kDeleted, fmt::format("topic '{}' was deleted", topic.name));
}

}  // namespace spool
