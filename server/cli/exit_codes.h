// Exit codes of all commands: docs/user/errors.md.
#pragma once

#include <concepts>

namespace ridgeline::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitEntryFailed = 1;  ///< the user's code
inline constexpr int kExitOverBudget = 1;   ///< `check`: a budget is exceeded
inline constexpr int kExitUsage = 2;
inline constexpr int kExitEnvironment = 3;  ///< the interpreter, torch, the compiler, the cache
inline constexpr int kExitUndecided = 4;    ///< `check`: the noise allows no answer
inline constexpr int kExitCancelled = 130;

/// Why a command ends early; the reason has been written to stderr.
struct ExitCode {
  int value = kExitOk;
  /// To what a command returns, and nothing else: a result's value may be made from a number.
  template <std::same_as<int> Returned>
  operator Returned() const {  // NOLINT(google-explicit-constructor)
    return value;
  }
};

}  // namespace ridgeline::cli
