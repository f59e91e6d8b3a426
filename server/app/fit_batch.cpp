#include "app/fit_batch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/profiling/batch_changes.h"
#include "app/profiling/module_plan.h"

namespace ridgeline::app {

namespace {

using analysis::ChangeAnswer;
using protocol::Captured;
using protocol::ChangeRequest;

constexpr int kMostPlans = 6;                  ///< that are listed in search of one that fits
constexpr std::size_t kMostCheaperPlans = 12;  ///< that are listed at once, to leave out what is too much
constexpr int kMostTurns = 8;                  ///< of these
constexpr std::string_view kOffload = "offload";
constexpr std::array<std::string_view, 3> kWays = {"checkpoint", "selective-checkpoint", kOffload};

/// What was asked, and what is known of it so far.
struct Fitting {
  FitQuestion question;
  std::vector<ChangeRequest> requests;
  std::vector<Captured> captured;
  analysis::WhatIf answer;
  std::vector<analysis::ChangeAnswer> over_batch{};
  double above = 0;  ///< of the fitted peak, over that of the operations
};

ChangeRequest combined(ChangeRequest request, const ChangeRequest& more) {
  request.insert(request.end(), more.begin(), more.end());
  return request;
}

/// A question about these, and what they reserve.
ChangeQuestion with_memory(std::vector<ChangeRequest> requests) { return {std::move(requests), {}, true}; }

const ChangeAnswer* row_of(const Fitting& fitting, const ChangeRequest& request) {
  const auto& rows = fitting.answer.changes;
  const auto found = std::ranges::find(rows, request, &ChangeAnswer::change);
  const bool is_known =
      found != rows.end() && found->predicted.has_value() && needed_bytes(*found->predicted).has_value();
  return is_known ? &*found : nullptr;
}

/// `captured` is of `requests`, by index + 1.
const Captured* captured_of(const std::vector<ChangeRequest>& requests, const std::vector<Captured>& captured,
                            const ChangeRequest& request) {
  const auto index = std::ranges::find(requests, request) - requests.begin();
  const auto found = std::ranges::find(captured, static_cast<int>(index) + 1, &Captured::change);
  return found == captured.end() ? nullptr : &*found;
}

/// Above 0: bytes that are lacking; below 0: that are left.
double lacking_bytes(const Fitting& fitting, const ChangeAnswer& row) {
  return static_cast<double>(*needed_bytes(*row.predicted)) + fitting.above -
         static_cast<double>(fitting.question.limit_bytes);
}

/// The modules that `request` can have checkpointed or offloaded; empty where that would not help, or is not needed.
std::vector<PlannedModule> modules_of(const Fitting& fitting, const ChangeRequest& request, const KnownTimes& known) {
  const ChangeAnswer* const without = row_of(fitting, request);
  const Captured* const unchanged = captured_of(fitting.requests, fitting.captured, request);
  if (without == nullptr || unchanged == nullptr || lacking_bytes(fitting, *without) <= 0) {
    return {};
  }
  std::vector<ChangedStep> steps;
  bool may_fit = false;
  for (const std::string_view way : kWays) {
    const ChangeRequest all = combined(request, {std::string(way)});
    const ChangeAnswer* const row = row_of(fitting, all);
    const Captured* const captured = captured_of(fitting.requests, fitting.captured, all);
    if (row != nullptr && captured != nullptr) {
      const double more_ms = row->predicted->step_ms - without->predicted->step_ms;
      steps.push_back({std::string(way), captured, more_ms, way == kOffload});
      may_fit = may_fit || lacking_bytes(fitting, *row) <= 0;
    }
  }
  const auto time_of = [&](const std::string& key) {
    const auto found = known.find(key);
    return found == known.end() ? 0 : likely_ns(found->second);
  };
  return may_fit ? planned_modules(*unchanged, steps, time_of) : std::vector<PlannedModule>();
}

struct FittingPlan {
  ModulePlan plan;
  ChangeAnswer row;
  Captured captured;  ///< of it
};

bool is_faster(const ChangeAnswer& row, const std::optional<FittingPlan>& best) {
  return !best.has_value() || row.predicted->speed_up.value > best->row.predicted->speed_up.value;
}

/// Takes modules out of `best`, or changes them in a cheaper way, one at a time, while the listed step still fits: what
/// modules save is estimated by sums, which may take one too many.
base::Task<base::Result<FittingPlan, RunFailure>> without_surplus(ExperimentRunner& runner, PredictedStep step,
                                                                  std::shared_ptr<Fitting> fitting,
                                                                  ChangeRequest request,
                                                                  std::vector<PlannedModule> modules,
                                                                  FittingPlan best) {
  for (int turn = 0; turn < kMostTurns; ++turn) {
    const std::vector<ModulePlan> plans = cheaper_by_one(modules, best.plan, kMostCheaperPlans);
    ChangeQuestion question = with_memory({});
    for (const ModulePlan& plan : plans) {
      if (std::ranges::any_of(plan.option, &std::optional<std::size_t>::has_value)) {
        question.requests.push_back(combined(request, request_of(modules, plan)));
      }
    }
    if (question.requests.empty()) {
      break;
    }
    auto predicting = predict_changes(runner, step, question, {});
    const auto predicted = co_await std::move(predicting);
    if (!predicted) {
      co_return predicted.error();
    }
    std::optional<FittingPlan> cheaper;
    for (const ChangeAnswer& row : predicted->answer.changes) {
      const bool is_known = row.predicted.has_value() && needed_bytes(*row.predicted).has_value();
      const auto plan = std::ranges::find_if(
          plans, [&](const ModulePlan& each) { return combined(request, request_of(modules, each)) == row.change; });
      if (is_known && plan != plans.end() && lacking_bytes(*fitting, row) <= 0 && is_faster(row, cheaper)) {
        cheaper = FittingPlan{*plan, row, *captured_of(question.requests, predicted->captured, row.change)};
      }
    }
    if (!cheaper.has_value()) {
      break;
    }
    best = *std::move(cheaper);
  }
  co_return std::move(best);
}

/// Adds the best plan for `request` to the answer. What a plan saves by its parts is where the search begins: how much
/// it has to save follows from what the listed steps of plans lack.
base::Task<base::Result<void, RunFailure>> add_plan(ExperimentRunner& runner, PredictedStep step,
                                                    std::shared_ptr<Fitting> fitting, ChangeRequest request) {
  const std::vector<PlannedModule> modules = modules_of(*fitting, request, step.times->timed.known);
  if (modules.empty()) {
    co_return base::Result<void, RunFailure>();
  }
  double wanted = lacking_bytes(*fitting, *row_of(*fitting, request));
  double too_little = 0;
  std::vector<ChangeRequest> asked;
  std::optional<FittingPlan> best;
  while (asked.size() < kMostPlans) {
    const auto plan = cheapest_plan(modules, wanted);
    if (!plan.has_value()) {
      break;
    }
    ChangeRequest planned = combined(request, request_of(modules, *plan));
    if (std::ranges::find(asked, planned) != asked.end()) {
      break;
    }
    asked.push_back(planned);
    auto predicting = predict_changes(runner, step, with_memory({planned}), {});
    auto predicted = co_await std::move(predicting);
    if (!predicted) {
      co_return predicted.error();
    }
    const ChangeAnswer& row = predicted->answer.changes.front();
    if (!row.predicted.has_value() || !needed_bytes(*row.predicted).has_value()) {
      break;
    }
    const double lacking = lacking_bytes(*fitting, row);
    if (lacking > 0) {
      too_little = std::max(too_little, wanted);
      wanted += lacking;
    } else {
      if (is_faster(row, best)) {
        best = FittingPlan{*plan, row, *captured_of({planned}, predicted->captured, planned)};
      }
      wanted = std::max(plan->saved_bytes + lacking, std::nextafter(too_little, wanted));
    }
  }
  if (best.has_value()) {
    auto leaving_out = without_surplus(runner, step, fitting, request, modules, *std::move(best));
    auto cheapest = co_await std::move(leaving_out);
    if (!cheapest) {
      co_return cheapest.error();
    }
    fitting->requests.push_back(cheapest->row.change);
    cheapest->captured.change = static_cast<int>(fitting->requests.size());
    fitting->captured.push_back(std::move(cheapest->captured));
    fitting->answer.changes.push_back(std::move(cheapest->row));
  }
  co_return base::Result<void, RunFailure>();
}

/// What each change brings over the batch size alone, whose operations are the first ones that were captured with it.
void predict_over_batch(const PredictedStep& step, Fitting& fitting) {
  const auto unchanged = std::ranges::find(fitting.captured, 0, &Captured::change);
  const Captured* const alone = captured_of(fitting.requests, fitting.captured, fitting.requests.front());
  const auto base = unchanged != fitting.captured.end() && alone != nullptr
                        ? base_at(*step.base, *unchanged, *alone, step.times->timed.known)
                        : std::nullopt;
  if (!base.has_value()) {
    return;
  }
  std::vector<ChangeRequest> requests;
  std::vector<Captured> captured = {*alone};
  captured.front().change = 0;
  for (const ChangeRequest& request : fitting.requests) {
    const Captured* const found = captured_of(fitting.requests, fitting.captured, request);
    if (request.size() > 1 && found != nullptr) {
      requests.emplace_back(request.begin() + 1, request.end());
      captured.push_back(*found);
      captured.back().change = static_cast<int>(requests.size());
    }
  }
  analysis::WhatIf answer = answer_what_if(*base, requests, captured, step.times->timed.known, step.user);
  judge_predictions(answer);
  fitting.over_batch = std::move(answer.changes);
}

}  // namespace

base::Task<base::Result<FittingAnswer, RunFailure>> predict_fitting(ExperimentRunner& runner, PredictedStep step,
                                                                    FitQuestion question) {
  const ChangeRequest alone = batch_size_change(question.batch_size);
  auto fitting =
      std::make_shared<Fitting>(Fitting{question, fitting_requests(question.batch_size, step.base->on_host), {}, {}});
  auto predicting = predict_changes(runner, step, with_memory(fitting->requests), {});
  auto predicted = co_await std::move(predicting);
  if (!predicted) {
    co_return predicted.error();
  }
  fitting->captured = std::move(predicted->captured);
  fitting->answer = std::move(predicted->answer);
  if (const ChangeAnswer* const row = row_of(*fitting, alone); row != nullptr) {
    const auto captured = static_cast<double>(*needed_bytes(*row->predicted));
    fitting->above = question.fitted_peak_bytes.value_or(captured) - captured;
  }
  for (const ChangeRequest& request : {alone, combined(alone, {"bf16-autocast"})}) {
    auto adding = add_plan(runner, step, fitting, request);
    if (const auto added = co_await std::move(adding); !added) {
      co_return added.error();
    }
  }
  auto predicting_over = runner.off_loop([step, fitting] { predict_over_batch(step, *fitting); });
  co_await std::move(predicting_over);
  co_return FittingAnswer{std::move(fitting->answer), std::move(fitting->over_batch)};
}

}  // namespace ridgeline::app
