// One profile from start to end: worker, analysis, and the words for what went wrong.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "analysis/profile.h"
#include "protocol/worker_messages.h"
#include "worker/interpreter.h"

namespace ridgeline::commands {

struct ProfileRequest {
  std::string entry;             ///< as the user wrote it
  std::vector<int> batch_sizes;  ///< empty: chosen
  std::vector<int> check_sizes;  ///< run too, and kept out of the models
  std::string device;            ///< "cpu": also where the code asks for CUDA; empty: what the code asks for
  std::string python;            ///< empty: found
  std::string project_root;      ///< empty: found
  double time_budget_seconds = 10;
  std::chrono::seconds time_limit{600};
  std::uint64_t memory_limit_bytes = 0;  ///< 0: what is available
};

/// Where a request leads on this machine.
struct Target {
  std::string entry;         ///< real path
  std::string project_root;  ///< real path
  worker::Interpreter interpreter;
  std::string cache;   ///< the user's cache folder
  std::string device;  ///< that the step runs on: "cpu", "cpu in place of cuda"
};

/// Why the file cannot be an entry point, in a sentence; empty when it can.
std::string entry_problem(const std::string& path);

/// A failure, with what the profiled process wrote last.
struct RunFailure {
  protocol::Failure failure;
  std::string output;
};

/// A profile, and what tells later whether it still holds.
struct ProfileRun {
  analysis::Profile profile;
  std::chrono::system_clock::time_point began;  ///< before anything of the user's was read
  std::vector<std::string> imported_files;      ///< as protocol::RunResult has them
  bool imported_files_complete = false;
};

/// The entry file, the project, the interpreter and the cache; or which of them is missing. Starts nothing.
std::variant<Target, RunFailure> find_target(const ProfileRequest& request);

/// Runs to the end on a loop of its own; SIGINT and SIGTERM cancel.
std::variant<ProfileRun, RunFailure> run_profile(const ProfileRequest& request, const Target& target,
                                                 const std::function<void(const protocol::Progress&)>& progress);

}  // namespace ridgeline::commands
