#pragma once
/// Signals that end a command: noticed, not obeyed at once, so that what was read is flushed; and
/// within a second, whoever is stopped on the other side.

#include <cstddef>
#include <cstdint>

namespace spool {

/// INT, TERM and HUP. The first one makes signal_fd() readable and interrupts blocking calls of the
/// main thread, and of those that have a NudgedThread, every 50 ms until the process ends; the
/// second one ends it on the spot. For the main thread.
void install_signals();
[[nodiscard]] int signal_fd();
/// The signal that came, or 0.
[[nodiscard]] int pending_signal();
/// How long ago it came; 0 when none did.
[[nodiscard]] std::int64_t ms_since_signal();
/// Whether a signal came so long ago that nobody else is waited for any more: no lock that another
/// process holds, no reader that takes nothing.
[[nodiscard]] bool signal_overdue();
inline constexpr std::int64_t kSignalGraceMs = 1000;

/// Ends as a process does that the signal killed, so that the caller sees 128+n and no message.
/// Does not return.
[[noreturn]] void die_of(int signal);

/// While it lives, blocking calls of the thread that made it return with EINTR once a signal came.
/// The thread must be joined by the main thread.
class NudgedThread {
 public:
  NudgedThread();
  ~NudgedThread();
  NudgedThread(const NudgedThread&) = delete;
  NudgedThread& operator=(const NudgedThread&) = delete;

 private:
  std::size_t slot_;
};

}  // namespace spool
