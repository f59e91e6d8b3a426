#include "methods/trial_decision.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "analysis/prediction/predictor.h"
#include "analysis/prediction/trial.h"
#include "methods/batch_size.h"

namespace ridgeline::methods {

namespace {

using Kind = TrialDecision::Kind;

/// The figures are of this text, but for its batch size.
bool is_what_was_profiled(const TrialQuestion& question, const Figures& figures) {
  const Entry& entry = *question.entry;
  const FileFigures* file = figures.file(entry.path);
  const bool others_changed =
      std::ranges::any_of(entry.changed, [&](const std::string& path) { return path != entry.path; });
  return !others_changed && !entry.failed.has_value() && file != nullptr && file->text != nullptr &&
         question.entry_point->batch_size.can_be_edited() &&
         differs_in_batch_size_only(*file->text, question.text, question.entry_point->batch_size.literal);
}

}  // namespace

bool differs_in_batch_size_only(const std::string& profiled, const std::string& now, const source::Span& literal) {
  const std::string_view text = now;
  if (literal.begin > literal.end || literal.end > text.size()) {
    return false;
  }
  const std::string_view before = text.substr(0, literal.begin);
  const std::string_view after = text.substr(literal.end);
  const std::string_view was = profiled;
  if (was.size() <= before.size() + after.size() || !was.starts_with(before) || !was.ends_with(after)) {
    return false;
  }
  const std::string_view value = was.substr(before.size(), was.size() - before.size() - after.size());
  return std::ranges::all_of(value, [](char letter) {
    return letter == '_' || (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
           (letter >= 'A' && letter <= 'Z');
  });
}

TrialDecision decide_trial(const TrialQuestion& question) {
  if (!question.settings.tries_batch_sizes()) {
    return {};
  }
  if (question.is_busy) {
    return {Kind::kLater};
  }
  const Entry* entry = question.entry;
  if (entry == nullptr || entry->figures == nullptr || question.entry_point == nullptr) {
    return {};
  }
  const Figures& figures = *entry->figures;
  const std::optional<int> size = batch_size_in_code(*question.entry_point);
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
  if (!is_what_was_profiled(question, figures)) {
    decision.kind = Kind::kRefused;
    decision.why = "batch size " + std::to_string(*size) + " is not tried: other code has changed since the profile";
    return decision;
  }
  analysis::add_reserved(figures.predictor(), batch);
  if (auto why = analysis::why_not_tried(figures.profile(), batch, question.available_bytes)) {
    decision.kind = Kind::kRefused;
    decision.why = std::move(*why);
  } else if (question.has_consent()) {
    decision.kind = Kind::kTry;
  }
  return decision;
}

}  // namespace ridgeline::methods
