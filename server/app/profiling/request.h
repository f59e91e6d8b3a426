// A request for a profile, and what it resolves to on this machine.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "protocol/worker_messages.h"
#include "worker/interpreter.h"

namespace ridgeline::store {
struct ProfileKey;
}  // namespace ridgeline::store

namespace ridgeline::app {

struct ProfileRequest {
  std::string entry;                ///< as the user wrote it
  std::vector<int> batch_sizes;     ///< empty: chosen
  std::vector<int> check_sizes;     ///< run too, and kept out of the models
  std::string device;               ///< "cpu": also where the code asks for CUDA; empty: what the code asks for
  std::string python;               ///< empty: found
  std::string project_root;         ///< empty: found
  std::vector<std::string> code{};  ///< packages whose lines have figures, too; see code_names.h
  double time_budget_seconds = 10;
  std::chrono::seconds time_limit{600};
  std::uint64_t memory_limit_bytes = 0;         ///< 0: what is available
  std::optional<double> co2_g_per_kwh{};        ///< of the electricity; absent: emissions are not shown
  std::vector<protocol::SourceText> overlay{};  ///< what editors hold that is not saved: run instead of the files
  /// In the cache, unless there is an overlay. One that is not kept is only compared: its operations are not listed.
  bool keep = true;
  /// For a profile that must not take long: what does not fit is left out, and the profile says so. Where one iteration
  /// takes longer, the run ends as "timeout", after at most twice this. 0: everything is measured.
  double finish_within_seconds = 0;
};

/// What a request resolves to on this machine.
struct Target {
  std::string entry;         ///< real path
  std::string project_root;  ///< real path
  worker::Interpreter interpreter;
  std::string cache;   ///< the user's cache folder
  std::string device;  ///< that the step runs on: "cpu", "cpu in place of cuda"
};

/// A failure, with what the profiled process wrote last.
struct RunFailure : protocol::Failure {
  std::string output;
  std::string interpreter{};  ///< of the project, which has the module that was missing; mostly empty
};

/// Makes it a request for the entry of a stored profile, with the options of that one where it has none of its own.
void request_again(ProfileRequest& request, const store::ProfileKey& stored);

/// Why the file cannot be an entry point, in a sentence; empty when it can.
std::string entry_problem(const std::string& path);

/// The entry file, the project, the interpreter and the cache; or which of them is missing. Starts nothing.
base::Result<Target, RunFailure> find_target(const ProfileRequest& request);

}  // namespace ridgeline::app
