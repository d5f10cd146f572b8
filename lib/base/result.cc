#include "base/result.h"

#include <cerrno>
#include <system_error>

namespace spool {

std::string Error::message() const {
  if (sys_errno == 0) return context;
  return context + ": " + std::generic_category().message(sys_errno);
}

Error system_error(int sys_errno, std::string context) {
  Errc code = Errc::kIo;
  switch (sys_errno) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      code = Errc::kNoSpace;
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      code = Errc::kDenied;
      break;
    case ENOENT:
    case ENOTDIR:
      code = Errc::kNotFound;
      break;
    case EEXIST:
      code = Errc::kExists;
      break;
    default:
      break;
  }
  return Error{code, sys_errno, std::move(context)};
}

}  // namespace spool
