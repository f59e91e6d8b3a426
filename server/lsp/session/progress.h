// Work-done progress: the bar that an editor shows while something goes on.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/callback.h"
#include "protocol/json_rpc.h"
#include "protocol/lsp.h"

namespace ridgeline::lsp {

class Session;

/// One progress, from begin to end. Shown under the request's own token when it has one, else under one that we ask the
/// client to create, else not at all; the caller need not know which. Destroying it ends it. It may outlive its
/// session. Loop thread only.
class Progress {
 public:
  struct State;  ///< progress_state.h: the session's and ours

  Progress() = default;  ///< shown nowhere
  /// `request_params`: of the request that this answers; null when there is none. `on_cancel` is called at most once,
  /// when the user cancels; only where `begin.cancellable`.
  Progress(Session& session, const protocol::Json& request_params, protocol::WorkDoneProgressBegin begin,
           base::Callback on_cancel = {});
  Progress(Progress&&) noexcept;
  Progress& operator=(Progress&&) noexcept;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  void report(protocol::WorkDoneProgressReport report);
  void end(const std::string& message = {});

 private:
  std::shared_ptr<State> state_;
};

/// Sends parts of a request's result as $/progress, where its params have a partialResultToken; empty where they have
/// none. May be called when the session has ended.
std::function<void(protocol::Json part)> partial_results(Session& session, const protocol::Json& request_params);

}  // namespace ridgeline::lsp
