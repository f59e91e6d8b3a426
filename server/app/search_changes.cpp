#include "app/search_changes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "step/changes/change_table.h"

namespace ridgeline::app {

namespace {

using analysis::ChangeAnswer;
using protocol::ChangeRequest;
using Memory = std::optional<std::uint64_t>;

constexpr std::size_t kMostCombined = 4;  ///< changes

bool is_predicted(const ChangeAnswer& row) { return row.reason.empty() && row.predicted.has_value(); }

/// A peak that is not known is not held against a change.
bool fits(const ChangeAnswer& row, Memory memory_bytes) {
  const Memory peak_bytes = row.predicted.has_value() ? row.predicted->peak_bytes : row.peak_bytes;
  return !memory_bytes.has_value() || !peak_bytes.has_value() || *peak_bytes <= *memory_bytes;
}

/// The fastest of those that fit; where none fits, the one that needs the least memory.
std::optional<ChangeAnswer> best_of(const std::vector<ChangeAnswer>& rows, Memory memory_bytes) {
  std::optional<ChangeAnswer> best;
  const auto rank = [&](const ChangeAnswer& row) {
    const bool fit = fits(row, memory_bytes);
    return std::pair(fit,
                     fit ? row.predicted->speed_up.value : -static_cast<double>(row.predicted->peak_bytes.value_or(0)));
  };
  for (const ChangeAnswer& row : rows) {
    if (is_predicted(row) && (!best.has_value() || rank(row) > rank(*best))) {
      best = row;
    }
  }
  return best;
}

/// `best` with each other predicted change besides.
std::vector<ChangeRequest> with_one_more(const ChangeAnswer& best, const std::vector<ChangeAnswer>& alone) {
  std::vector<ChangeRequest> more;
  for (const ChangeAnswer& row : alone) {
    if (is_predicted(row) && std::ranges::find(best.change, row.change.front()) == best.change.end()) {
      more.push_back(best.change);
      more.back().push_back(row.change.front());
    }
  }
  return more;
}

bool is_better(const ChangeAnswer& combined, const ChangeAnswer& best, Memory memory_bytes) {
  return !fits(best, memory_bytes) || combined.predicted->speed_up.value > best.predicted->speed_up.value;
}

}  // namespace

base::Task<base::Result<analysis::WhatIf, RunFailure>> search_changes(ExperimentRunner& runner, PredictedStep step,
                                                                      ChangeQuestion question, Memory memory_bytes,
                                                                      ShowFirst show) {
  auto predicting = predict_changes(runner, step, std::move(question), std::move(show));
  auto predicted = co_await std::move(predicting);
  if (!predicted) {
    co_return predicted.error();
  }
  analysis::WhatIf answer = std::move(predicted->answer);
  std::vector<ChangeAnswer> alone = answer.changes;
  std::erase_if(alone, [](const ChangeAnswer& row) { return !step::parts_of(row.change).graph.empty(); });
  std::optional<ChangeAnswer> best = best_of(alone, memory_bytes);
  while (best.has_value() && best->change.size() < kMostCombined) {
    std::vector<ChangeRequest> more = with_one_more(*best, alone);
    if (more.empty()) {
      break;
    }
    auto combining = predict_changes(runner, step, {std::move(more)}, {});
    auto combined = co_await std::move(combining);
    if (!combined) {
      co_return combined.error();
    }
    const std::vector<ChangeAnswer>& rows = combined->answer.changes;
    answer.changes.insert(answer.changes.end(), rows.begin(), rows.end());
    answer.operations = std::max(answer.operations, combined->answer.operations);
    answer.operations_measured = combined->answer.operations_measured;
    answer.warnings = combined->answer.warnings;  // of all that was timed so far
    std::optional<ChangeAnswer> better = best_of(rows, memory_bytes);
    if (!better.has_value() || !is_better(*better, *best, memory_bytes)) {
      break;
    }
    best = std::move(better);
  }
  std::erase_if(answer.changes, [&](const ChangeAnswer& row) { return !fits(row, memory_bytes); });
  sort_by_gain(answer);
  co_return answer;
}

base::Task<base::Result<analysis::WhatIf, RunFailure>> try_changes(ExperimentRunner& runner, analysis::WhatIf answer,
                                                                   std::size_t most, double seconds) {
  std::vector<ChangeRequest> requests;
  for (const ChangeAnswer& row : answer.changes) {
    if (row.reason.empty() && row.can_be_tried && requests.size() < most) {
      requests.push_back(row.change);
    }
  }
  if (requests.empty()) {
    co_return answer;
  }
  auto trying = try_these(runner, std::move(answer), std::move(requests), seconds);
  co_return co_await std::move(trying);
}

base::Task<base::Result<analysis::WhatIf, RunFailure>> try_these(ExperimentRunner& runner, analysis::WhatIf answer,
                                                                 std::vector<ChangeRequest> changes, double seconds) {
  auto trying = runner.run({.kind = protocol::Experiment::Kind::kTry, .changes = changes, .seconds = seconds});
  const ExperimentOutcome findings = co_await std::move(trying);
  if (!findings) {
    co_return findings.error();
  }
  const auto is_tried = [&](const ChangeAnswer& row) {
    return std::ranges::find(changes, row.change) != changes.end();
  };
  for (ChangeAnswer& row : answer.changes) {
    if (is_tried(row)) {
      row.tried.reset();
      row.not_tried.clear();
    }
  }
  add_trials(answer, changes, findings->tried);
  for (ChangeAnswer& row : answer.changes) {
    if (is_tried(row) && !row.tried.has_value() && row.not_tried.empty()) {
      row.not_tried = findings->ended_early.has_value() ? findings->ended_early->message : "it did not come to its end";
    }
  }
  co_return answer;
}

}  // namespace ridgeline::app
