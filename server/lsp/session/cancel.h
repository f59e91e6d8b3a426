// Cancels work that nobody waits for any more.
#pragma once

#include <memory>

#include "base/callback.h"

namespace ridgeline::lsp {

/// Checked by a handler and by the work that it started. Copies share their state; a default-constructed token is never
/// cancelled.
class CancelToken {
 public:
  CancelToken() = default;

  /// Any thread.
  bool cancelled() const;
  /// `handler` is called once, on the loop, when the token is cancelled; at once if it already is. Several are called
  /// in their order. Dropped uncalled when the request is answered. Loop thread only.
  void on_cancel(base::Callback handler) const;

 private:
  friend class CancelSource;
  struct State;
  std::shared_ptr<State> state_;
};

/// Cancels the tokens that it made, or releases them. Loop thread only.
class CancelSource {
 public:
  CancelSource();
  CancelToken token() const;
  void cancel();
  /// The work is done: handlers are dropped, and nothing cancels the token any more.
  void release();

 private:
  std::shared_ptr<CancelToken::State> state_;
};

}  // namespace ridgeline::lsp
