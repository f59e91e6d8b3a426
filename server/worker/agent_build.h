// The agent of one (torch version, C++ ABI, Python ABI): found in the cache, or built there once.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "protocol/worker_messages.h"
#include "worker/process.h"

namespace ridgeline::worker {

/// Where the agent for an environment, built with the flags of RIDGELINE_AGENT_FLAGS, lies or would lie.
std::string agent_path(const std::string& cache, const protocol::WorkerEnvironment& environment);

/// Whether that agent is there and is what the compiler made: it has the size and the hash that were written beside it.
/// A damaged one, which would end the process that loads it, counts as none.
bool has_agent(const std::string& cache, const protocol::WorkerEnvironment& environment);

/// Writes the size and the hash of an agent beside it, as has_agent() expects them, and both files to the disk.
std::error_code write_identity(const std::string& agent);

/// The C++ compiler that would build an agent: CXX, c++, g++ or clang++, as found on PATH. Empty when there is none.
std::string find_compiler();

/// Builds an agent with the user's compiler, one process per source file, as many at once as there are processors.
/// Lives on the loop; one build at a time.
class AgentBuilder {
 public:
  struct Handlers {
    std::function<void(double fraction)> progress;
    /// Called once, with nothing on success.
    std::function<void(const std::optional<protocol::Failure>& failure)> done;
  };

  explicit AgentBuilder(Reaper& reaper) : reaper_(reaper) {}
  ~AgentBuilder() { cancel(); }
  AgentBuilder(const AgentBuilder&) = delete;
  AgentBuilder& operator=(const AgentBuilder&) = delete;

  /// `sources` is the folder that unpack_sources() gave.
  void start(const protocol::WorkerEnvironment& environment, const std::string& sources, const std::string& cache,
             Handlers handlers);
  /// Ends the compilers; `done` is not called. Safe at any time.
  void cancel();

 private:
  struct Job {
    std::vector<std::string> command;
    std::string log;
  };

  bool prepare(const protocol::WorkerEnvironment& environment, const std::string& sources, const std::string& cache);
  void start_jobs();
  void start_job(const Job& job);
  void job_ended(pid_t process, const std::string& log, int status);
  void publish();
  void fail(protocol::FailureKind kind, const std::string& message);

  Reaper& reaper_;
  Handlers handlers_;
  std::vector<Job> waiting_;
  Job link_;
  std::map<pid_t, std::string> running_;
  std::size_t total_ = 0;
  bool linking_ = false;
  std::string target_;     ///< the agent's path
  std::string temporary_;  ///< folder of the build
  std::string build_failed_text_;
};

}  // namespace ridgeline::worker
