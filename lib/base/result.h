#pragma once
/// Results by value: every call of lib that can fail returns Result<T>.

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace spool {

/// What went wrong, as far as a caller can act on it. The program maps each to one exit status.
enum class Errc {
  kIo,           ///< the system refused; sys_errno says why
  kNoSpace,      ///< ENOSPC, EDQUOT, EFBIG
  kDenied,       ///< EACCES, EPERM, EROFS
  kCorrupt,      ///< bytes on disk break the format and whole data follows them
  kNotFound,     ///< topic, partition or directory is not there
  kDeleted,      ///< it was there and was deleted, or made again under another id
  kExists,       ///< it is there already
  kConflict,     ///< owned by somebody else
  kOutOfRange,   ///< an offset outside the log
  kUnsupported,  ///< known, and not done here (file system, format version)
  kInvalid,      ///< input does not fit
  kTooLarge,     ///< a named limit is passed
  kTimeout,
  kCancelled,
  kUsage,  ///< the caller's options make no sense
};

/// One failure. `context` is a sentence part without a final stop; it names file and position.
struct Error {
  Errc code = Errc::kIo;
  int sys_errno = 0;
  std::string context;

  /// "CONTEXT: REASON" where there is a system error, else the context.
  [[nodiscard]] std::string message() const;
};

/// An Error for the current or the given errno; the code follows from it.
[[nodiscard]] Error system_error(int sys_errno, std::string context);

template <class T = void>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

[[nodiscard]] inline tl::unexpected<Error> fail(Errc code, std::string context) {
  return tl::unexpected<Error>(Error{code, 0, std::move(context)});
}
[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace spool

#define SPOOL_CONCAT_INNER(a, b) a##b
#define SPOOL_CONCAT(a, b) SPOOL_CONCAT_INNER(a, b)

/// Returns the error of `expr` from the enclosing function, or goes on.
#define TRY(expr)                                          \
  do {                                                     \
    if (auto try_result = (expr); !try_result)             \
      return ::spool::fail(std::move(try_result).error()); \
  } while (false)

/// `TRY_ASSIGN(auto x, f());` assigns the value, or returns the error.
#define TRY_ASSIGN(lhs, expr) TRY_ASSIGN_INNER(SPOOL_CONCAT(try_value_, __LINE__), lhs, expr)
#define TRY_ASSIGN_INNER(name, lhs, expr)                   \
  auto name = (expr);                                       \
  if (!name) return ::spool::fail(std::move(name).error()); \
  lhs = std::move(*name)
