// The progress of a run, as an editor shows it.
#pragma once

#include <cstdint>
#include <string>

#include "base/callback.h"
#include "lsp/session/progress.h"
#include "protocol/worker_messages.h"

namespace ridgeline::editor {

/// Never goes back, and has no percentage until the duration can be estimated.
class ProgressBar {
 public:
  ProgressBar(lsp::Session& session, const protocol::Json& params, std::string title, base::Callback on_cancel);

  void show(const protocol::Progress& step);
  /// Steps of another run of the same work: the percentage begins anew.
  void restart() { percentage_ = 0; }
  void end(const std::string& message) { progress_.end(message); }

 private:
  lsp::Progress progress_;
  std::uint32_t percentage_ = 0;
  std::uint32_t shown_ = 0;
  std::string message_;
};

}  // namespace ridgeline::editor
