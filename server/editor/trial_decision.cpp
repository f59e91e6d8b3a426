#include "editor/trial_decision.h"

#include <optional>

#include "analysis/prediction/predictor.h"
#include "analysis/prediction/trial.h"
#include "editor/batch_size_method.h"

namespace ridgeline::editor {

namespace {

using Kind = TrialDecision::Kind;

}  // namespace

TrialDecision decide_trial(const TrialConditions& conditions, base::FunctionRef<bool()> has_consent) {
  if (!conditions.settings.tries_batch_sizes()) {
    return {};
  }
  if (conditions.is_busy) {
    return {Kind::kLater};
  }
  const Entry* entry = conditions.entry;
  if (entry == nullptr || entry->figures == nullptr || conditions.source == nullptr) {
    return {};
  }
  const Figures& figures = *entry->figures;
  const std::optional<int> size = batch_size_in_code(*conditions.source, entry);
  TrialDecision decision{Kind::kNothing, size.value_or(0), "", figures.profile().id};
  if (!size.has_value()) {
    return decision;
  }
  if (entry->active.has_value()) {
    decision.kind = Kind::kLater;
    return decision;
  }
  analysis::BatchPrediction batch = analysis::predict_batch(figures.predictor(), *size);
  if (batch.measured.has_value() || batch.failed.has_value()) {
    return decision;
  }
  if (entry->is_stale() || !figures.differs_in_batch_size_only(entry->path, conditions.text)) {
    decision.kind = Kind::kRefused;
    decision.why = "batch size " + std::to_string(*size) + " is not tried: other code has changed since the profile";
    return decision;
  }
  analysis::add_reserved(figures.predictor(), batch);
  if (auto why = analysis::why_not_tried(figures.profile(), batch, conditions.available_bytes)) {
    decision.kind = Kind::kRefused;
    decision.why = std::move(*why);
  } else if (has_consent()) {
    decision.kind = Kind::kTry;
  }
  return decision;
}

}  // namespace ridgeline::editor
