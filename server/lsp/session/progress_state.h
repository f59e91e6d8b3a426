// What a progress and its session share.
#pragma once

#include <memory>

#include "base/callback.h"
#include "lsp/session/progress.h"

namespace ridgeline::lsp {

struct Progress::State {
  enum class Stage : std::uint8_t { kAsked, kShown, kEnded };

  std::weak_ptr<Session> session;
  protocol::ProgressToken token;
  Stage stage = Stage::kAsked;
  protocol::WorkDoneProgressBegin begin;  ///< kept up to date: what is shown when the client allows it late
  base::Callback on_cancel;
};

}  // namespace ridgeline::lsp
