// Starting a process that we can always end: its own group, no inherited descriptors, dead when we are.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ridgeline::worker {

/// A file descriptor that is closed with its owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

struct SpawnOptions {
  std::vector<std::string> arguments;            ///< [0] is the program, looked up on PATH
  std::string folder;                            ///< working directory; empty: ours
  std::vector<std::pair<int, int>> descriptors;  ///< (ours, theirs); 0, 1, 2: else /dev/null; the rest is closed
  std::vector<std::string> environment{};        ///< "NAME=value"; empty: ours
};

/// Lets this process have as many descriptors as it may. What spawn() starts gets the limit that we were started with.
/// Call before other threads run.
void raise_descriptor_limit();

/// The texts as exec takes them, which does not change them: with a null at the end.
std::vector<char*> pointers_to(const std::vector<std::string>& texts);

/// Starts the program in a process group of its own. It gets SIGKILL when the calling thread ends: call it from the
/// thread that lives as long as the daemon.
base::Result<pid_t> spawn(const SpawnOptions& options);

/// Starts the user's own command as a shell would: in our process group, with our folder, descriptors and standard
/// streams, or with /dev/null for these. It gets SIGTERM when the calling thread ends: nobody would know of it then. An
/// error is the system's reason alone.
base::Result<pid_t> spawn_in_foreground(const std::vector<std::string>& arguments,
                                        const std::vector<std::string>& environment, bool discards_output);

/// A connected pair of stream sockets, or a pipe (read end first), close-on-exec. Empty descriptors on failure.
std::pair<Descriptor, Descriptor> socket_pair();
std::pair<Descriptor, Descriptor> pipe_pair();

/// Writes a message with descriptors attached, at most four, on a socket of socket_pair(). Returns how many bytes its
/// buffer took, with which the descriptors went; 0 when the other end is gone.
std::size_t send_with_descriptors(int socket, const std::string& message, const std::vector<int>& descriptors);

/// How a process ended, in words, from its wait(2) status: "was ended by signal 9 (Killed)".
std::string describe_end(int status);

/// Waits for the end of a child, at most so long; whether it came. The child is still to be reaped.
bool ends_within(pid_t child, std::chrono::milliseconds patience);

/// Sends a signal to every process of a group that spawn() made. Never to ourselves.
void signal_group(pid_t group, int signal);

/// Told the wait status of a process that has ended.
using ExitHandler = std::function<void(int status)>;

/// Reaps children. One per io_context, and it outlives the loop's last run; its handlers run on the loop.
class Reaper {
 public:
  explicit Reaper(boost::asio::io_context& loop);
  /// Calls `handler` once with the wait status when `child` has ended; a second call replaces the handler.
  void watch(pid_t child, ExitHandler handler);
  /// Stops listening for ends, so that the loop can run out of work.
  void close();

 private:
  void wait_for_signal();
  void reap();

  boost::asio::signal_set signals_;
  std::map<pid_t, ExitHandler> handlers_;
};

}  // namespace ridgeline::worker
