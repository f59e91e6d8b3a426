#include "app/predict_changes.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "operations/table/time_csv.h"
#include "step/changes/calibration.h"
#include "step/changes/change_table.h"

namespace ridgeline::app {

namespace {

using protocol::Captured;
using protocol::ChangeRequest;
using Done = base::Result<void, RunFailure>;

constexpr double kLeastSeconds = 1;  ///< for timing operations, also where all that was given is spent

/// One answer, as its parts come. Used on the loop, and off it only while the task waits.
struct Prediction {
  PredictedStep step;
  std::vector<ChangeRequest> requests;  ///< those that the runner makes a part of
  ShowFirst show;
  bool needs_reserved = false;  ///< of the step's device
  std::vector<Captured> captured{};
  double taken_s = 0;  ///< of timing
  bool is_whole = true;

  /// On the host, for the device. Steps of a script are listed where they run.
  bool lists_elsewhere() const { return needs_reserved && !step.base->is_script; }
};
using Shared = std::shared_ptr<Prediction>;

const Captured* find(const Prediction& prediction, std::size_t change) {
  const auto found = std::ranges::find(prediction.captured, static_cast<int>(change), &Captured::change);
  return found == prediction.captured.end() ? nullptr : &*found;
}

/// Requests that change optimizers alone come first, and are listed apart: their first answer is soon there. Not of a
/// script, which would run once more for it.
std::vector<std::vector<std::size_t>> in_groups(const Prediction& prediction) {
  std::vector<std::size_t> optimizers;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < prediction.requests.size(); ++i) {
    const bool is_apart =
        prediction.show && !prediction.step.base->is_script && step::kind_of(prediction.requests[i]) == "optimizer";
    (is_apart ? optimizers : others).push_back(i);
  }
  std::vector<std::vector<std::size_t>> groups;
  for (auto* group : {&optimizers, &others}) {
    if (!group->empty()) {
      groups.push_back(std::move(*group));
    }
  }
  return groups;
}

/// Has the runner list the operations of the unchanged step and of a group of changed ones.
base::Task<Done> list(ExperimentRunner& runner, Shared prediction, std::vector<std::size_t> group) {
  std::vector<ChangeRequest> by_runner;
  for (const std::size_t i : group) {
    by_runner.push_back(step::parts_of(prediction->requests[i]).runner);
  }
  const bool elsewhere = prediction->lists_elsewhere();
  auto capturing = runner.run({.kind = protocol::Experiment::Kind::kCapture,
                               .changes = std::move(by_runner),
                               .for_cuda = elsewhere,
                               .on_host = elsewhere});
  ExperimentOutcome findings = co_await std::move(capturing);
  if (!findings) {
    co_return findings.error();
  }
  prediction->is_whole = prediction->is_whole && !findings->ended_early.has_value();
  for (Captured& each : findings->captured) {
    if (elsewhere && each.step.has_value()) {
      std::ranges::transform(each.step->keys, each.step->keys.begin(),
                             [](const std::string& key) { return operations::key_on(key, "cuda"); });
    }
    if (each.change > 0 && static_cast<std::size_t>(each.change) <= group.size()) {
      each.change = static_cast<int>(group[static_cast<std::size_t>(each.change) - 1]) + 1;
    }
    std::erase_if(prediction->captured, [&](const Captured& known) { return known.change == each.change; });
    prediction->captured.push_back(std::move(each));
  }
  co_return Done();
}

base::Task<Done> time(ExperimentRunner& runner, Shared prediction, std::vector<std::string> keys) {
  const auto begin = std::chrono::steady_clock::now();
  const double seconds = std::max(kLeastSeconds, prediction->step.measure_seconds - prediction->taken_s);
  auto collecting = collect_times(runner, prediction->step.times, std::move(keys), seconds);
  Done collected = co_await std::move(collecting);
  prediction->taken_s += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  co_return collected;
}

/// What the recording alone says of `requests`.
base::Task<void> show_from_recording(ExperimentRunner& runner, Shared prediction, std::vector<ChangeRequest> requests) {
  std::erase_if(requests, [&](const ChangeRequest& request) {
    return !step::is_possible_on_graph(request, prediction->step.user);
  });
  auto rows = std::make_shared<std::vector<analysis::ChangeAnswer>>();
  auto answering = runner.off_loop([prediction, requests, rows] {
    *rows = answers_on_graph(*prediction->step.base, requests, prediction->step.user);
  });
  co_await std::move(answering);
  for (analysis::ChangeAnswer& row : *rows) {
    if (row.predicted.has_value()) {
      row.can_be_tried = step::parts_of(row.change).graph.empty();
      prediction->show(row);
    }
  }
}

/// The answer to the request at `index` from what differs, timed.
analysis::ChangeAnswer first_answer(const Prediction& prediction, std::size_t index) {
  std::vector<Captured> both = {*find(prediction, 0), *find(prediction, index + 1)};
  both.back().change = 1;
  analysis::WhatIf first = answer_what_if(*prediction.step.base, {prediction.requests[index]}, both,
                                          prediction.step.times->timed.known, prediction.step.user);
  judge_predictions(first);
  return first.changes.front();
}

/// First answers of a group, those that need least first.
base::Task<Done> show_group(ExperimentRunner& runner, Shared prediction, std::vector<std::size_t> group) {
  std::vector<std::pair<std::vector<std::string>, std::size_t>> needed;
  const Captured* const unchanged = find(*prediction, 0);
  for (const std::size_t i : group) {
    const Captured* const changed = find(*prediction, i + 1);
    if (unchanged != nullptr && unchanged->step && changed != nullptr && changed->step) {
      auto keys = operations_that_differ(*unchanged->step, *changed->step);
      if (!keys.empty()) {
        needed.emplace_back(std::move(keys), i);
      }
    }
  }
  std::ranges::stable_sort(needed, {}, [](const auto& each) { return each.first.size(); });
  for (auto& [keys, i] : needed) {
    auto timing = time(runner, prediction, std::move(keys));
    if (const Done timed = co_await std::move(timing); !timed) {
      co_return timed.error();
    }
    auto row = std::make_shared<analysis::ChangeAnswer>();
    auto answering = runner.off_loop([prediction, index = i, row] { *row = first_answer(*prediction, index); });
    co_await std::move(answering);
    prediction->show(*row);
  }
  co_return Done();
}

std::string disturbed_text(int disturbed, int measured) {
  return fmt::format(
      "Other processes ran while {} of {} operations were timed: predictions are less certain, and these times are not "
      "kept. Ask again on a quiet machine.",
      disturbed, measured);
}

/// The whole answer, with the rows that need nothing of the runner.
analysis::WhatIf whole_answer(const Prediction& prediction, const ChangeQuestion& on_graph) {
  const PredictedStep& step = prediction.step;
  const TimesForAnswer& timed = step.times->timed;
  analysis::WhatIf answer = step.base->answer;
  if (!prediction.requests.empty()) {
    answer = answer_what_if(*step.base, prediction.requests, prediction.captured, timed.known, step.user);
    if (step.is_judged) {
      judge_predictions(answer);
    }
  }
  answer.operations_measured = timed.measured;
  for (analysis::ChangeAnswer& row : answers_on_graph(*step.base, on_graph.requests, step.user)) {
    answer.changes.push_back(std::move(row));
  }
  for (analysis::ChangeAnswer& row : answers_on_graph(*step.base, on_graph.where_possible, step.user)) {
    if (row.reason.empty()) {
      answer.changes.push_back(std::move(row));
    }
  }
  answer.warnings.insert(answer.warnings.end(), step.times->warnings.begin(), step.times->warnings.end());
  for (analysis::ChangeAnswer& row : answer.changes) {
    if (prediction.needs_reserved && row.predicted.has_value() && !row.predicted->reserved_bytes.has_value()) {
      row.predicted->peak_bytes.reset();  // it would be taken for what has to fit
    }
  }
  if (timed.disturbed > 0) {
    answer.warnings.push_back(disturbed_text(timed.disturbed, timed.measured));
  }
  sort_by_gain(answer);
  return answer;
}

}  // namespace

std::shared_ptr<CollectedTimes> no_times(const analysis::Environment& environment) {
  return std::make_shared<CollectedTimes>(CollectedTimes{conditions_of(environment, environment.threads)});
}

ChangeQuestion usual_question() {
  ChangeQuestion question{step::usual_changes()};
  for (ChangeRequest& request : step::usual_changes_on_traces()) {
    if (step::is_on_graph_only(request, {})) {
      question.where_possible.push_back(std::move(request));
    }
  }
  return question;
}

base::Task<base::Result<PredictedChanges, RunFailure>> predict_changes(ExperimentRunner& runner, PredictedStep step,
                                                                       ChangeQuestion question, ShowFirst show) {
  const bool needs_reserved = question.reserves && !step.base->on_host;
  auto prediction = std::make_shared<Prediction>(Prediction{std::move(step), {}, std::move(show), needs_reserved});
  ChangeQuestion on_graph{{}, question.where_possible};
  for (const ChangeRequest& request : question.requests) {
    (step::parts_of(request).runner.empty() ? on_graph.requests : prediction->requests).push_back(request);
  }
  if (prediction->show) {
    std::vector<ChangeRequest> all = std::move(question.requests);
    all.insert(all.end(), question.where_possible.begin(), question.where_possible.end());
    auto showing = show_from_recording(runner, prediction, std::move(all));
    co_await std::move(showing);
  }
  for (const std::vector<std::size_t>& group : in_groups(*prediction)) {
    auto listing = list(runner, prediction, group);
    if (const Done listed = co_await std::move(listing); !listed) {
      co_return listed.error();
    }
    if (prediction->show) {
      auto showing = show_group(runner, prediction, group);
      if (const Done shown = co_await std::move(showing); !shown) {
        co_return shown.error();
      }
    }
  }
  auto timing = time(runner, prediction, operations_of(prediction->captured));
  if (const Done timed = co_await std::move(timing); !timed) {
    co_return timed.error();
  }
  auto found = std::make_shared<PredictedChanges>();
  auto answering =
      runner.off_loop([prediction, on_graph, found] { found->answer = whole_answer(*prediction, on_graph); });
  co_await std::move(answering);
  found->is_whole = prediction->is_whole;
  found->captured = std::move(prediction->captured);
  co_return std::move(*found);
}

}  // namespace ridgeline::app
