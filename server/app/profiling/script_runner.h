// What the profile of a script asks of who runs its command, as EntryRunner is asked for entry points.
#pragma once

#include <memory>
#include <string>

#include "app/profiling/off_loop.h"
#include "base/result.h"
#include "base/task.h"
#include "worker/job.h"

namespace ridgeline::app {

class ScriptRunner : public OffLoop {
 public:
  /// Runs the job to its end. A job that was cancelled, also before it began, is a failure: nothing follows it.
  virtual base::Task<base::Result<std::shared_ptr<worker::JobEnd>, protocol::Failure>> run(
      worker::JobOptions options) = 0;
  /// Tells the user what is done next.
  virtual void announce(const std::string& text) = 0;
};

}  // namespace ridgeline::app
