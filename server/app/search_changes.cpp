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

/// What has to fit, into what.
struct Limit {
  Memory memory_bytes;  ///< absent: anything fits
  bool on_host = true;  ///< there, memory that is not known is not held against a change
};

bool fits(const ChangeAnswer& row, Limit limit) {
  const Memory needed = row.predicted.has_value() ? needed_bytes(*row.predicted) : row.peak_bytes;
  return !limit.memory_bytes.has_value() || (needed.has_value() ? *needed <= *limit.memory_bytes : limit.on_host);
}

/// The fastest of those that fit; where none fits, the one that needs the least memory.
std::optional<ChangeAnswer> best_of(const std::vector<ChangeAnswer>& rows, Limit limit) {
  std::optional<ChangeAnswer> best;
  const auto rank = [&](const ChangeAnswer& row) {
    const bool fit = fits(row, limit);
    return std::pair(
        fit, fit ? row.predicted->speed_up.value : -static_cast<double>(needed_bytes(*row.predicted).value_or(0)));
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

bool is_better(const ChangeAnswer& combined, const ChangeAnswer& best, Limit limit) {
  return !fits(best, limit) || combined.predicted->speed_up.value > best.predicted->speed_up.value;
}

}  // namespace

base::Task<base::Result<analysis::WhatIf, RunFailure>> search_changes(ExperimentRunner& runner, PredictedStep step,
                                                                      ChangeQuestion question, Memory memory_bytes,
                                                                      ShowFirst show) {
  const Limit limit{memory_bytes, step.base->on_host};
  question.reserves = memory_bytes.has_value();
  auto predicting = predict_changes(runner, step, std::move(question), std::move(show));
  auto predicted = co_await std::move(predicting);
  if (!predicted) {
    co_return predicted.error();
  }
  analysis::WhatIf answer = std::move(predicted->answer);
  std::vector<ChangeAnswer> alone = answer.changes;
  std::erase_if(alone, [](const ChangeAnswer& row) { return !step::parts_of(row.change).graph.empty(); });
  std::optional<ChangeAnswer> best = best_of(alone, limit);
  while (best.has_value() && best->change.size() < kMostCombined) {
    std::vector<ChangeRequest> more = with_one_more(*best, alone);
    if (more.empty()) {
      break;
    }
    auto combining = predict_changes(runner, step, {std::move(more), {}, memory_bytes.has_value()}, {});
    auto combined = co_await std::move(combining);
    if (!combined) {
      co_return combined.error();
    }
    const std::vector<ChangeAnswer>& rows = combined->answer.changes;
    answer.changes.insert(answer.changes.end(), rows.begin(), rows.end());
    answer.operations = std::max(answer.operations, combined->answer.operations);
    answer.operations_measured = combined->answer.operations_measured;
    answer.warnings = combined->answer.warnings;  // of all that was timed so far
    std::optional<ChangeAnswer> better = best_of(rows, limit);
    if (!better.has_value() || !is_better(*better, *best, limit)) {
      break;
    }
    best = std::move(better);
  }
  std::erase_if(answer.changes, [&](const ChangeAnswer& row) { return !fits(row, limit); });
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
