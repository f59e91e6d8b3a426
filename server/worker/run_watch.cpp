#include "worker/run_watch.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>

#include "worker/run_inbox.h"

namespace ridgeline::worker {

namespace {

namespace fs = std::filesystem;

constexpr unsigned long kExiting = 0x4;  ///< PF_EXITING of the kernel's include/linux/sched.h

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

fs::path folder_of(pid_t process) { return "/proc/" + std::to_string(process); }

/// What the kernel passed to the program when it began: a fork has its parent's, an exec makes another, since the
/// addresses in it are random. Empty when it may not be read.
std::string image_of(pid_t process) { return content(folder_of(process) / "auxv"); }

struct ThreadState {
  char state = 'X';  ///< as in /proc: R, S, T, Z ...; X when there is none
  bool exiting = false;
};

/// proc(5): pid (name) state ppid pgrp session tty tpgid flags ...; the name may hold anything.
ThreadState state_in(const fs::path& folder) {
  const std::string stat = content(folder / "stat");
  const std::size_t name_end = stat.rfind(')');
  ThreadState thread;
  if (name_end != std::string::npos) {
    std::istringstream fields(stat.substr(name_end + 1));
    std::string skipped;
    unsigned long flags = 0;
    fields >> thread.state >> skipped >> skipped >> skipped >> skipped >> skipped >> flags;
    thread.exiting = (flags & kExiting) != 0;
  }
  return thread;
}

/// Whether a thread of a process whose main thread has ended goes on.
bool has_running_thread(pid_t process) {
  std::error_code problem;
  for (const fs::directory_entry& thread : fs::directory_iterator(folder_of(process) / "task", problem)) {
    const ThreadState state = state_in(thread.path());
    if (state.state != 'X' && !state.exiting) {
      return true;
    }
  }
  return false;
}

std::string program_of(pid_t process) {
  std::error_code problem;
  const fs::path program = fs::read_symlink(folder_of(process) / "exe", problem);
  return problem ? "another program" : program.string();
}

std::optional<protocol::Failure> end_of(pid_t process, const std::string& image, bool channel_open) {
  const ThreadState main = state_in(folder_of(process));
  if (main.state == 'X') {
    return std::nullopt;
  }
  if (main.exiting || main.state == 'Z') {
    if (!has_running_thread(process)) {
      return std::nullopt;
    }
    return protocol::failure_of(
        protocol::FailureKind::kMainThreadEnded, "",
        "The main thread of the profiled process ended while other threads go on: the step cannot be "
        "continued. Look for pthread_exit() in native code.");
  }
  if (main.state == 'T') {
    return protocol::failure_of(
        protocol::FailureKind::kProcessStopped, "",
        "The profiled process was stopped by a signal (SIGSTOP, SIGTSTP, or SIGTTIN and SIGTTOU for the use "
        "of a terminal) and does not go on. A profile has no terminal and nobody who continues it: remove "
        "what stops it.");
  }
  const std::string now = image_of(process);
  if (!now.empty() && !image.empty() && now != image) {
    return protocol::failure_of(protocol::FailureKind::kProcessReplaced, "",
                                "The profiled process replaced itself by " + program_of(process) +
                                    " (os.execv or the like). Start another program as a process of its own "
                                    "(subprocess), or guard the call with `if __name__ == '__main__':`.");
  }
  return channel_open ? std::nullopt : std::optional(channel_broken("it was closed"));
}

}  // namespace

RunWatch::RunWatch(pid_t parent) : image_(image_of(parent)) {}

std::optional<protocol::Failure> RunWatch::look(pid_t process, bool channel_open) {
  std::optional<protocol::Failure> end = end_of(process, image_, channel_open);
  const auto before = std::exchange(found_, end.has_value() ? std::optional(end->kind) : std::nullopt);
  return end.has_value() && before == end->kind ? end : std::nullopt;
}

}  // namespace ridgeline::worker
