#include "exec.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace spool {

namespace {

void close_fd(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

/// The shell gets the signals as a program usually has them, whatever we do with ours.
Result<int> spawn_shell(const std::string& command, int input) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  sigset_t usual;
  sigset_t none;
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  sigemptyset(&none);
  ::posix_spawnattr_setsigdefault(&attributes, &usual);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  std::string shell = "sh";
  std::string option = "-c";
  std::string text = command;
  const std::array<char*, 4> argv{shell.data(), option.data(), text.data(), nullptr};
  pid_t pid = -1;
  const int problem = ::posix_spawn(&pid, "/bin/sh", &actions, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) return fail(system_error(problem, "cannot start 'sh'"));
  return static_cast<int>(pid);
}

int shell_status(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

ExecPool::~ExecPool() {
  for (Running& r : running_) {
    close_fd(r.input_fd);
    close_fd(r.pid_fd);
  }
}

bool ExecPool::runs(int lane) const {
  return std::any_of(running_.begin(), running_.end(),
                     [&](const Running& r) { return r.lane == lane; });
}

Result<void> ExecPool::start(int lane, std::string input, Offset first, Offset next) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(system_error(errno, "cannot make a pipe"));
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);  // of our end alone: the command's stays as usual
  const auto pid = spawn_shell(command_, ends[0]);
  ::close(ends[0]);
  if (!pid) {
    ::close(ends[1]);
    return fail(pid.error());
  }
  Running r;
  r.lane = lane;
  r.first = first;
  r.next = next;
  r.pid = *pid;
  r.pid_fd = static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0));
  r.input_fd = ends[1];
  r.input = std::move(input);
  feed(r);
  running_.push_back(std::move(r));
  return {};
}

/// As much as the pipe takes. A command need not read all of its input: its status decides.
void ExecPool::feed(Running& r) {
  while (r.input_fd >= 0 && r.written < r.input.size()) {
    const ssize_t n = ::write(r.input_fd, r.input.data() + r.written, r.input.size() - r.written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) break;
    r.written += static_cast<std::size_t>(n);
  }
  close_fd(r.input_fd);
  std::string().swap(r.input);
}

void ExecPool::add_fds(std::vector<pollfd>& fds) const {
  for (const Running& r : running_) {
    if (r.pid_fd >= 0) fds.push_back({r.pid_fd, POLLIN, 0});
    if (r.input_fd >= 0) fds.push_back({r.input_fd, POLLOUT, 0});
  }
}

std::vector<ExecEnd> ExecPool::step() {
  std::vector<ExecEnd> out;
  for (auto r = running_.begin(); r != running_.end();) {
    feed(*r);
    int status = 0;
    const pid_t got = ::waitpid(r->pid, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR)) {
      ++r;
      continue;
    }
    close_fd(r->input_fd);
    close_fd(r->pid_fd);
    out.push_back({r->lane, r->first, r->next, got < 0 ? 127 : shell_status(status)});
    r = running_.erase(r);
  }
  return out;
}

}  // namespace spool
