// What a profile needs of a machine: whether it is there, and how to get what is missing.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/profiling/request.h"
#include "base/result.h"
#include "protocol/failure_kind.h"
#include "protocol/worker_messages.h"
#include "report/checks.h"
#include "worker/interpreter.h"
#include "worker/run.h"

namespace ridgeline::app {

/// An interpreter that was looked for and started once: what the checks are of.
struct FirstStart {
  std::string project_root;
  worker::Interpreter interpreter;
  base::Result<std::string> cache = std::string();
  std::optional<worker::Finished> warmed;  ///< absent: not tried, for want of an interpreter or a cache
  bool built = false;                      ///< the agent was built just now

  const protocol::Failure* failure() const {
    return warmed.has_value() ? std::get_if<protocol::Failure>(&warmed->outcome) : nullptr;
  }
  bool failed_with(protocol::FailureKind kind) const { return failure() != nullptr && failure()->kind == kind; }
  /// What the interpreter said of itself; null when it did not come to that.
  const protocol::WorkerEnvironment* environment() const {
    return warmed.has_value() && warmed->environment.has_value() ? &*warmed->environment : nullptr;
  }
  bool agent_loaded() const { return warmed.has_value() && failure() == nullptr; }
};

/// In the order in which one needs the other. Reads files, runs the compiler for its version and `echo` in
/// the guard of scripts; writes a file into the cache folder and removes it.
std::vector<report::Check> check_environment(const FirstStart& found, const ProfileRequest& request);

}  // namespace ridgeline::app
