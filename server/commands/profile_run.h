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

namespace ridgeline::commands {

struct ProfileRequest {
  std::string entry;             ///< as the user wrote it
  std::vector<int> batch_sizes;  ///< empty: chosen
  std::string device;            ///< "cpu": also where the code asks for CUDA; empty: what the code asks for
  std::string python;            ///< empty: found
  std::string project_root;      ///< empty: found
  double time_budget_seconds = 10;
  std::chrono::seconds time_limit{600};
  std::uint64_t memory_limit_bytes = 0;  ///< 0: what is available
};

/// A failure, with what the profiled process wrote last.
struct RunFailure {
  protocol::Failure failure;
  std::string output;
};

/// Runs to the end on a loop of its own; SIGINT and SIGTERM cancel.
std::variant<analysis::Profile, RunFailure> run_profile(const ProfileRequest& request,
                                                        const std::function<void(const protocol::Progress&)>& progress);

}  // namespace ridgeline::commands
