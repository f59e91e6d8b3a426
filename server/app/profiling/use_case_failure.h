// Why a use case has no answer: for a command a message and an exit code, for an editor an error response.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "app/profiling/request.h"
#include "base/result.h"

namespace ridgeline::app {

enum class Cause : std::uint8_t {
  kRequest,  ///< what was asked for: an option, a name, a file that is not there
  kInput,    ///< what a file or the user's code contains
  kMachine,  ///< the interpreter, the compiler, the cache folder
};

/// What cannot be done, though no run failed.
struct Refusal {
  Cause cause = Cause::kRequest;
  std::string message;  ///< for the user
};

inline Refusal refusal(Cause cause, std::string message) { return {cause, std::move(message)}; }
inline Refusal refusal(Cause cause, const base::Error& error) { return {cause, error.message()}; }

/// A run that failed, and the root of its project: paths are shown relative to it.
struct FailedProjectRun {
  RunFailure failure;
  std::string project_root;
};

using UseCaseFailure = std::variant<Refusal, FailedProjectRun>;

template <typename T>
using Answer = base::Result<T, UseCaseFailure>;

}  // namespace ridgeline::app
