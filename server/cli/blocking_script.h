// The runs of a script or command that a command makes, and waits for.
#pragma once

#include <memory>
#include <string>

#include "app/profiling/script_runner.h"
#include "base/callback.h"
#include "base/result.h"
#include "base/task.h"
#include "worker/job.h"

namespace ridgeline::cli {

/// For use cases: each run goes on in the foreground. Interrupts are the script's: the terminal sends them to it, too.
class BlockingScript final : public app::ScriptRunner {
 public:
  base::Task<base::Result<std::shared_ptr<worker::JobEnd>, protocol::Failure>> run(worker::JobOptions options) override;
  void announce(const std::string& text) override;
  base::Task<void> off_loop(base::Callback work) override;
};

}  // namespace ridgeline::cli
