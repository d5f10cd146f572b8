#include "group/data_sync.h"

#include <algorithm>

#include "log/segment.h"
#include "log/state_file.h"

namespace spool {

namespace {

/// Below it everything was on disk when somebody last looked; only believed where spool.state is of
/// this boot and this folder.
Result<Offset> recovery_point(const LogEnv& env, const PartitionPlace& place) {
  const auto state = read_state(env.fs, place.dir);
  if (!state || !*state || (*state)->suspect) return Offset(0);
  TRY_ASSIGN(const FileStat folder, env.fs.stat(place.dir));
  return (*state)->same_life(env.boot_id, folder) ? (*state)->recovery_point : Offset(0);
}

}  // namespace

Result<void> DataSync::sync(const PartitionPlace& place, Offset upto) {
  const std::lock_guard guard(mutex_);
  Known& known = known_[place.dir];
  if (known.failed) return fail(*known.failed);
  if (upto <= known.synced) return {};
  TRY_ASSIGN(const Offset point, recovery_point(env_, place));
  known.synced = std::max(known.synced, point);
  if (upto <= known.synced) return {};
  TRY_ASSIGN(const PartitionFiles files, list_partition(env_.fs, place.dir));
  for (auto base = files.segments.begin(); base != files.segments.end(); ++base) {
    const auto next = base + 1;
    if (*base >= upto || (next != files.segments.end() && *next <= known.synced)) continue;
    const auto file = env_.fs.open(segment_path(place.dir, *base, kLogSuffix), OpenMode::kRead, 0);
    if (!file && file.error().code == Errc::kNotFound) continue;  // trimmed: nobody can read it
    if (!file) return fail(file.error());
    if (auto synced = (*file)->sync(); !synced) {
      known.failed = synced.error();
      return synced;
    }
  }
  known.synced = upto;
  return {};
}

}  // namespace spool
