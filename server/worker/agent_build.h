// The agent of one (torch version, C++ ABI, Python ABI): found in the cache, or built there once.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "protocol/worker_messages.h"
#include "worker/process.h"

namespace ridgeline::worker {

/// Where the agent for an environment lies: in the cache; else in the folder that RIDGELINE_AGENTS names, or beside the
/// program, in ../lib/ridgeline/agents; else where it would be built in the cache. With flags of RIDGELINE_AGENT_FLAGS
/// it is one of the cache's.
std::string agent_path(const std::string& cache, const protocol::WorkerEnvironment& environment);

/// An agent that is there.
struct KnownAgent {
  std::string path;
  std::string built_for;  ///< "torch-2.13-cpython-311-x86_64-linux-gnu-abi1"
  bool is_bundled = false;
  bool is_of_version = false;  ///< of this version of Ridgeline: others are not used
};

/// Those of the cache and the bundled ones, by path.
std::vector<KnownAgent> known_agents(const std::string& cache);

/// Whether an agent came with the program, and is not this one's to replace.
bool is_bundled(const std::string& cache, const std::string& agent);

/// Whether that agent is there and is what the compiler made: it has the size and the hash that were written beside it.
/// A damaged one, which would end the process that loads it, counts as none.
bool has_agent(const std::string& cache, const protocol::WorkerEnvironment& environment);

/// Writes the size and the hash of an agent beside it, as has_agent() expects them, and both files to the disk.
std::error_code write_identity(const std::string& agent);

/// The C++ compiler that would build an agent: CXX, c++, g++ or clang++, as found on PATH. Empty when there is none.
std::string find_compiler();

/// Told how a build goes, from within the builder's calls and on the loop.
class AgentBuildListener {
 public:
  virtual ~AgentBuildListener() = default;
  virtual void on_build_progress(double fraction) = 0;
  /// Called once for each build that was not cancelled, with nothing on success.
  virtual void on_build_end(const std::optional<protocol::Failure>& failure) = 0;
};

/// Builds an agent with the user's compiler, one process per source file, as many at once as there are processors.
/// Lives on the loop; one build at a time.
class AgentBuilder {
 public:
  /// The listener outlives the builder.
  AgentBuilder(Reaper& reaper, AgentBuildListener& listener) : reaper_(reaper), listener_(listener) {}
  ~AgentBuilder() { cancel(); }
  AgentBuilder(const AgentBuilder&) = delete;
  AgentBuilder& operator=(const AgentBuilder&) = delete;

  /// `sources` is the folder that unpack_sources() gave.
  void start(const protocol::WorkerEnvironment& environment, const std::string& sources, const std::string& cache);
  /// Ends the compilers; the listener is not told. Safe at any time.
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
  AgentBuildListener& listener_;
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
