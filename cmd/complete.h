#pragma once
/// What a shell's completion offers, made from the table of options and from the directory that the
/// line is about. The scripts in completions/ call
///
///   spool __complete prefix|all WORD... CURRENT
///
/// with the unquoted words before the cursor, the name of the program apart, and the part of the
/// current word in front of the cursor, which may be empty. Printed is, a line each,
///
///   :prefix TEXT         first: CURRENT begins with TEXT, which stays; the rest is completed
///   :files or :dirs      paths fit here, besides the candidates
///   VALUE[TAB NOTE]      a candidate for what is behind TEXT; one that ends in '=' is not followed
///                        by a blank
///
/// `prefix` prints only the candidates that begin with what is typed, `all` leaves the choice to
/// the shell. Whatever is wrong, nothing is printed on stderr, nothing is made or locked, and the
/// status is 0.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spool {

/// The log that names are looked up in.
struct NamePlace {
  std::optional<std::string> dir;  ///< as --dir gave it
};

/// Where names come from. No failure: what cannot be read has no names.
class LiveNames {
 public:
  virtual ~LiveNames() = default;
  /// Ascending, internal ones too.
  virtual std::vector<std::string> topics(const NamePlace& place) = 0;
  virtual std::vector<std::int32_t> partitions(const NamePlace& place,
                                               const std::string& topic) = 0;
  virtual std::vector<std::string> groups(const NamePlace& place) = 0;
};

struct Candidate {
  std::string value;
  std::string note;
  bool operator==(const Candidate&) const = default;
};

struct Completion {
  enum class Paths { kNone, kFiles, kDirs };
  std::string prefix;  ///< of the current word; what the candidates go behind
  std::vector<Candidate> candidates;
  Paths paths = Paths::kNone;
};

/// Not narrowed to what was typed, but for two: another name of an option is offered only when no
/// option's own name fits, and an internal topic only behind an underscore.
[[nodiscard]] Completion complete(const std::vector<std::string>& words, const std::string& current,
                                  LiveNames& names);

/// The lines above. `typed`: only candidates that fit.
[[nodiscard]] std::string format_completion(const Completion& completion,
                                            const std::string& current, bool only_fitting);

/// What follows `__complete` on the command line; gives the exit status.
[[nodiscard]] int run_complete(const std::vector<std::string>& args);

}  // namespace spool
