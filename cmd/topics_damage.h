#pragma once
/// What the damage tools of `spool topics` share.

#include <string>
#include <vector>

#include "store/verify_dir.h"
#include "topics_actions.h"

namespace spool {

/// "3-7", "3", "3-" where the end is not known, "-" for none.
[[nodiscard]] std::string offsets_text(Offset first, Offset last);

/// The topics that the words choose, all of them, internal ones too, where there are none. Works
/// where the list of topics is damaged. Errc::kNotFound for a name that is not there.
[[nodiscard]] Result<std::vector<TopicInfo>> choose_damaged(Store& store,
                                                            const DirectoryCheck& directory,
                                                            const TopicsCall& call);

}  // namespace spool
