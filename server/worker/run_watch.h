// What the system says of a run's process: whether it can still go on.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "protocol/worker_messages.h"

namespace ridgeline::worker {

/// Between two looks: an end is named after two of them.
inline constexpr std::chrono::milliseconds kWatchInterval{300};

/// Looks at a process, from outside, in /proc. Two small files; it costs the process nothing.
class RunWatch {
 public:
  /// `parent` forked the process, or will: as long as the two run the same program their images are the same.
  explicit RunWatch(pid_t parent);

  /// Why the process will never tell of an end, when two calls in a row found the same: a failure without a stage, of
  /// kind kProcessReplaced, kProcessStopped, kMainThreadEnded or, when `channel_open` is false,
  /// `channel-broken`. Nothing for a process that is ending or gone: its parent tells that.
  std::optional<protocol::Failure> look(pid_t process, bool channel_open);

 private:
  std::string image_;                           ///< of the parent; empty: unknown
  std::optional<protocol::FailureKind> found_;  ///< at the last look
};

}  // namespace ridgeline::worker
