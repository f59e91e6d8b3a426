#include "lsp/session/cancel.h"

#include <atomic>
#include <utility>
#include <vector>

namespace ridgeline::lsp {

struct CancelToken::State {
  std::atomic<bool> cancelled = false;
  bool released = false;
  std::vector<std::function<void()>> handlers;
};

bool CancelToken::cancelled() const { return state_ != nullptr && state_->cancelled.load(std::memory_order_relaxed); }

void CancelToken::on_cancel(std::function<void()> handler) const {
  if (state_ == nullptr || state_->released) {
    return;
  }
  if (cancelled()) {
    handler();
  } else {
    state_->handlers.push_back(std::move(handler));
  }
}

CancelSource::CancelSource() : state_(std::make_shared<CancelToken::State>()) {}

CancelToken CancelSource::token() const {
  CancelToken token;
  token.state_ = state_;
  return token;
}

void CancelSource::cancel() {
  if (state_->released || state_->cancelled.exchange(true)) {
    return;
  }
  for (const auto& handler : std::exchange(state_->handlers, {})) {
    handler();
  }
}

void CancelSource::release() {
  state_->released = true;
  // A handler may hold the last reference to what runs now: let it go after the list is empty.
  const auto dropped = std::exchange(state_->handlers, {});
}

}  // namespace ridgeline::lsp
