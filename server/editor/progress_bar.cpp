#include "editor/progress_bar.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ridgeline::editor {

namespace {

protocol::WorkDoneProgressBegin begin_of(std::string title) {
  protocol::WorkDoneProgressBegin begin;
  begin.title = std::move(title);
  begin.percentage = 0;
  begin.cancellable = true;
  return begin;
}

}  // namespace

ProgressBar::ProgressBar(lsp::Session& session, const protocol::Json& params, std::string title,
                         std::function<void()> on_cancel)
    : progress_(session, params, begin_of(std::move(title)), std::move(on_cancel)) {}

void ProgressBar::show(const protocol::Progress& step) {
  protocol::WorkDoneProgressReport report;
  report.message = step.message;
  if (step.stage != "start" && step.stage != "build") {
    percentage_ =
        std::max(percentage_, static_cast<std::uint32_t>(std::lround(100 * std::clamp(step.fraction, 0.0, 1.0))));
  }
  report.percentage = percentage_;
  if (report.message != message_ || percentage_ != shown_) {
    message_ = report.message;
    shown_ = percentage_;
    progress_.report(std::move(report));
  }
}

}  // namespace ridgeline::editor
