// Exit codes of all commands: docs/user/errors.md.
#pragma once

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
};

}  // namespace ridgeline::cli
