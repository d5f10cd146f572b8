#pragma once
/// One thing that a check of files has to say.

#include <cstdint>
#include <string>
#include <utility>

#include "base/ids.h"

namespace spool {

struct Finding {
  enum class Kind : std::uint8_t {
    kDamage,  ///< bytes that are not what was written, or contradict other files
    kTail,    ///< an end that holds no whole batch: torn by a crash, the next append cuts it
    kNote,    ///< worth knowing, and nothing is wrong: leftovers, unknown files
  };
  Kind kind = Kind::kDamage;
  std::string file;           ///< path
  std::int64_t position = 0;  ///< byte in the file
  Offset first{-1};           ///< first and last offset that it concerns; -1: none
  Offset last{-1};
  std::string what;

  [[nodiscard]] bool damage() const { return kind == Kind::kDamage; }
};

[[nodiscard]] inline Finding damage_at(std::string file, std::int64_t position, Offset first,
                                       Offset last, std::string what) {
  return {Finding::Kind::kDamage, std::move(file), position, first, last, std::move(what)};
}
/// Damage of a small file as a whole.
[[nodiscard]] inline Finding damage_in(std::string file, std::string what) {
  return {Finding::Kind::kDamage, std::move(file), 0, Offset(-1), Offset(-1), std::move(what)};
}
[[nodiscard]] inline Finding note_on(std::string file, std::string what) {
  return {Finding::Kind::kNote, std::move(file), 0, Offset(-1), Offset(-1), std::move(what)};
}

}  // namespace spool
