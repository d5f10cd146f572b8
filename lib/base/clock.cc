#include "base/clock.h"

#include <chrono>

namespace spool {

TimestampMs SystemClock::now() {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::system_clock;
  return TimestampMs(duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count());
}

}  // namespace spool
