// How long a run will go on, judging by the last one of its kind.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "app/profiling/request.h"
#include "protocol/worker_messages.h"

namespace ridgeline::app {

struct LastDuration {
  std::optional<double> seconds;  ///< nothing: it is unknown
  std::string warning;            ///< of the store; mostly empty
};

/// What the last run of the entry took which measured as much, on this machine with this interpreter. A store that
/// cannot be opened is left for keep_duration() to report. Reads the store; for a thread that may wait.
LastDuration last_duration(const ProfileRequest& request, const Target& target);

/// Remembers what a run took that has come to its end. Returns a warning, mostly empty. Writes the store.
[[nodiscard]] std::string keep_duration(const ProfileRequest& request, const Target& target,
                                        std::chrono::duration<double> took);

/// Progress with the time that is left, where that can be told. It counts from when the interpreter is ready: building
/// the agent and importing torch take their time once only.
class RemainingTime {
 public:
  using Clock = std::chrono::steady_clock;

  RemainingTime() = default;
  /// `expected`: as last_duration() has it.
  explicit RemainingTime(std::optional<double> expected) : expected_(expected) {}

  /// "Timing the bare step, about 12 s left": the fraction is that of the expected time. A run that takes longer than
  /// expected has no such words, and the fraction that it reports itself. The fraction never falls.
  protocol::Progress of(protocol::Progress step, Clock::time_point now);
  /// What the run took until now; nothing: it has not begun.
  std::optional<std::chrono::duration<double>> elapsed(Clock::time_point now) const;

 private:
  std::optional<double> expected_;
  std::optional<Clock::time_point> began_;
  double shown_ = 0;  ///< the last fraction
};

}  // namespace ridgeline::app
