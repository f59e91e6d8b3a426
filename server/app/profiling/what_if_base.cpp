#include "app/profiling/what_if_base.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "analysis/attribution/compiled_regions.h"
#include "analysis/memory/allocator_replay.h"
#include "analysis/memory/listed_requests.h"
#include "analysis/memory/step_replay.h"
#include "analysis/time/models.h"
#include "operations/device/operation_work.h"
#include "step/changes/calibration.h"
#include "step/changes/change_table.h"
#include "step/changes/predict_change.h"
#include "step/graph/from_recording.h"

namespace ridgeline::app {

namespace {

constexpr double kNsPerMs = 1e6;
constexpr const char* kNoTime = "there was no time left";
/// The least share of what changes that has to be measured for a prediction.
constexpr double kLeastMeasured = 0.5;
/// High end over low end: an interval that is wider says nothing.
constexpr double kWidestInterval = 10;
// As trial.py has them.
constexpr double kTrialRound = 0.05;  ///< seconds
constexpr double kFewestTrialRounds = 3;
constexpr double kTrialRounds = 12;
constexpr double kTrialSteps = 8;  ///< for memory and losses, and to warm up
/// Seconds to build a step anew: measured on small models.
constexpr double kBuildSeconds = 0.3;

/// From the middle of the step's interval to its ends.
double noise_of(const analysis::Measured& step) { return step.low > 0 ? std::sqrt(step.high / step.low) - 1 : 0; }

const protocol::Captured* find(const std::vector<protocol::Captured>& captured, std::size_t change) {
  const auto found = std::ranges::find(captured, static_cast<int>(change), &protocol::Captured::change);
  return found == captured.end() ? nullptr : &*found;
}

constexpr std::size_t kLeastReferences = 3;  ///< that tell the machine's speed
constexpr std::size_t kFewReferences = 4;    ///< to measure again beside few unknown operations
constexpr std::size_t kMostReferences = 16;

/// Those that are not known, at the speed at which those that are were measured.
void at_known_speed(std::vector<operations::OperationTime>& found, const KnownTimes& known) {
  std::vector<double> slower;
  for (const operations::OperationTime& time : found) {
    const auto before = known.find(time.key);
    if (before != known.end() && time.reason.empty() && !time.disturbed) {
      slower.push_back(time.ns / before->second.ns);
    }
  }
  if (slower.size() < kLeastReferences) {
    return;
  }
  std::ranges::sort(slower);
  const double middle = analysis::median(slower);
  const double low = slower[slower.size() / 4];
  const double high = slower[slower.size() - 1 - slower.size() / 4];
  for (operations::OperationTime& time : found) {
    time.ns /= middle;
    time.low /= high;
    time.high /= low;
  }
}

double gain(const analysis::ChangeAnswer& answer) {
  if (answer.tried.has_value()) {
    return answer.tried->speed_up.value;
  }
  if (!answer.predicted.has_value()) {
    return 0;
  }
  const analysis::SpeedUp& predicted = answer.predicted->speed_up;
  return analysis::direction_of(predicted) == analysis::Direction::kUnclear ? 1 : predicted.value;
}

analysis::ChangeAnswer row_of(const protocol::ChangeRequest& change) {
  return {.change = change,
          .title = step::title_of(change),
          .takes = step::takes_of(change),
          .reason = {},
          .can_be_tried = step::parts_of(change).graph.empty()};
}

base::Result<step::GraphBasis> basis_on_graph(const WhatIfBase& base) {
  const auto peak = base.peak_known ? std::optional(base.answer.peak_bytes) : std::nullopt;
  auto basis = step::graph_basis(base.graph, base.step_ms, base.facts, peak);
  if (basis) {
    basis->noise = base.noise;
    for (const step::Graph& other : base.other_steps) {
      const double ms = static_cast<double>(other.recorded_ns) / kNsPerMs;
      if (auto step = step::graph_basis(other, ms, base.facts, std::nullopt); step && ms > 0) {
        basis->others.push_back(std::move(*step));
      }
    }
  }
  return basis;
}

/// `unchanged` and `known` outlive it; null: it was not captured.
base::Result<step::ChangeBasis> basis_of(const WhatIfBase& base, const protocol::Captured* unchanged,
                                         step::StandaloneTimes times, const KnownTimes& known) {
  if (unchanged == nullptr || !unchanged->step.has_value()) {
    return base::error("its operations are not known");
  }
  step::Baseline baseline{base.step_ms,           base.answer.peak_bytes,  {},
                          base.answer.batch_size, standalone_peaks(known), base.noise};
  if (memory_problem(base).empty()) {
    baseline.captured_peak_bytes = step::peaks_of(*unchanged, baseline.standalone_peaks);
  }
  return step::change_basis(base.graph, *unchanged->step, baseline, times);
}

/// What the runner changes, and then, where there is a `graph`, the changes of the graph.
base::Result<analysis::PredictedChange> predict(const step::ChangeBasis& basis, const step::GraphBasis* graph,
                                                const protocol::ChangeRequest& change,
                                                const protocol::Captured& captured, step::StandaloneTimes times,
                                                const step::UserChanges& user) {
  const auto step = step::predict_step(basis, captured, times);
  if (!step) {
    return step.error();
  }
  if (graph == nullptr) {
    return step->predicted;
  }
  const step::RequestParts parts = step::parts_of(change);
  const bool keeps_parameters = std::ranges::all_of(
      parts.runner, [](const std::string& one) { return step::find_change(one)->keeps_parameters; });
  return step::predict_on_graph(step::after_runner(*graph, *step, keeps_parameters), parts.graph, user);
}

std::optional<step::StandaloneTime> time_alone(const KnownTimes& known, const std::string& key) {
  const auto found = known.find(key);
  return found != known.end() && found->second.reason.empty()
             ? std::optional(step::StandaloneTime{likely_ns(found->second), found->second.disturbed})
             : std::nullopt;
}

/// Whether both steps run operations of the same names, in the same order.
bool has_same_operations(const protocol::CapturedStep& a, const protocol::CapturedStep& b) {
  return std::ranges::equal(a.operations, b.operations, [&](const auto& one, const auto& other) {
    return a.names[static_cast<std::size_t>(one.name)] == b.names[static_cast<std::size_t>(other.name)];
  });
}

/// The type that most arithmetic of matrices in a step has; empty where there is none.
std::string matrix_type_of(const protocol::CapturedStep& step) {
  std::map<std::string, double> flops_by_type;
  for (const protocol::CapturedOperation& operation : step.operations) {
    const auto work =
        operation.key < 0 ? std::nullopt : operations::work_of(step.keys.at(static_cast<std::size_t>(operation.key)));
    if (work && work->kind == operations::OperationKind::kMatrix) {
      flops_by_type[work->dtype] += work->flops;
    }
  }
  const auto most = std::ranges::max_element(flops_by_type, {}, [](const auto& one) { return one.second; });
  return most == flops_by_type.end() ? "" : most->first;
}

/// Why a request has nothing to change: mixed precision of a step that computes in that type; mostly empty.
std::string done_already(const protocol::ChangeRequest& request, const std::string& matrix_type) {
  for (const auto& [change, type] : {std::pair("bf16-autocast", "bfloat16"), std::pair("fp16-autocast", "float16")}) {
    if (matrix_type == type && std::ranges::find(request, change) != request.end()) {
      return fmt::format("the step computes in {} already", type);
    }
  }
  return {};
}

/// What a step's requests reserve on the device of the unchanged one, by a replay; nothing where they are not known.
std::optional<std::int64_t> replayed_bytes(const WhatIfBase& base, const protocol::Captured* step) {
  if (!base.reserved || step == nullptr || step->requests.empty()) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(
      analysis::reserved_bytes(step->requests, analysis::kMatrixWorkspace, base.reserved->settings));
}

/// The recorded reserved bytes, changed by as much as both replays differ.
std::optional<std::uint64_t> changed_reserved(const WhatIfBase& base, std::optional<std::int64_t> unchanged,
                                              std::optional<std::int64_t> changed) {
  if (!unchanged || !changed) {
    return std::nullopt;
  }
  const std::int64_t bytes = static_cast<std::int64_t>(base.reserved->bytes) + *changed - *unchanged;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, bytes));
}

/// What makes the times of a trial uncertain.
void warn_of_trial(analysis::WhatIf& answer, const std::string& title, const protocol::Tried& trial) {
  if (!trial.together_because.empty()) {
    answer.warnings.push_back(title +
                              " was tried in one process, where a step reuses memory that it would otherwise get "
                              "from the system: in a process of its own, " +
                              trial.together_because + ".");
  }
  const auto warn_of_unsettled = [&](const std::string& step, int steps) {
    if (steps > 0) {
      answer.warnings.push_back(
          fmt::format("{}: torch.compile had not settled after {} of the {}: it was still compiling, and the times "
                      "that were tried include that. TORCH_LOGS=recompiles says why it compiles again.",
                      title, steps == 1 ? "1 step" : std::to_string(steps) + " steps", step));
    }
  };
  warn_of_unsettled("unchanged step", trial.unchanged_unsettled_steps);
  warn_of_unsettled("changed step", trial.changed_unsettled_steps);
}

}  // namespace

step::StandalonePeaks standalone_peaks(const KnownTimes& known) {
  const auto lacks_memory = [](const auto& one) {
    const operations::OperationTime& time = one.second;
    return !time.peak_bytes.has_value() && (time.reason.empty() || time.reason == kNoTime);
  };
  if (std::ranges::any_of(known, lacks_memory)) {
    return {};
  }
  return [&known](const std::string& key) {
    const auto found = known.find(key);
    return found == known.end() ? std::nullopt : found->second.peak_bytes;
  };
}

PlannedRun plan_experiment(const ProfileRequest& request, const Target& target, protocol::Experiment experiment) {
  PlannedRun plan = plan_run(request, target);
  if (experiment.on_host) {
    plan.spec.device = "cpu";
  }
  plan.spec.experiment = std::move(experiment);
  return plan;
}

ExperimentOutcome findings_of(worker::Finished finished) {
  if (auto* findings = std::get_if<worker::ExperimentFindings>(&finished.outcome)) {
    return std::move(*findings);
  }
  if (auto* failed = std::get_if<protocol::Failure>(&finished.outcome)) {
    return RunFailure{std::move(*failed), std::move(finished.output)};
  }
  return RunFailure{protocol::failure_of(protocol::FailureKind::kWorkerProtocol, "what-if",
                                         "The worker profiled instead of what it was asked for."),
                    std::move(finished.output)};
}

std::string operation_table_path(const std::string& cache) { return cache + "/operations.sqlite"; }

operations::Conditions conditions_of(const analysis::Environment& environment, int threads) {
  return {environment.device_name, threads, environment.torch};
}

std::vector<std::string> operations_of(const std::vector<protocol::Captured>& captured) {
  std::set<std::string> keys;
  for (const protocol::Captured& each : captured) {
    if (each.step.has_value()) {
      keys.insert(each.step->keys.begin(), each.step->keys.end());
    }
  }
  return {keys.begin(), keys.end()};
}

std::vector<std::string> operations_that_differ(const protocol::CapturedStep& unchanged,
                                                const protocol::CapturedStep& changed) {
  std::map<std::string_view, int> more;  // by key
  const auto count = [&](const protocol::CapturedStep& step, int by) {
    for (const protocol::CapturedOperation& operation : step.operations) {
      if (operation.key >= 0) {
        more[step.keys[static_cast<std::size_t>(operation.key)]] += by;
      }
    }
  };
  count(changed, 1);
  count(unchanged, -1);
  std::set<std::string> keys;
  std::set<std::string_view> names;
  const auto each = [](const protocol::CapturedStep& step, const auto& visit) {
    for (const protocol::CapturedOperation& operation : step.operations) {
      if (operation.key >= 0) {
        visit(step.keys[static_cast<std::size_t>(operation.key)], step.names[static_cast<std::size_t>(operation.name)]);
      }
    }
  };
  for (const protocol::CapturedStep* step : {&unchanged, &changed}) {
    each(*step, [&](const std::string& key, const std::string& name) {
      if (more[key] != 0) {
        keys.insert(key);
        names.insert(name);
      }
    });
  }
  each(unchanged, [&](const std::string& key, const std::string& name) {
    if (names.contains(name)) {
      keys.insert(key);
    }
  });
  return {keys.begin(), keys.end()};
}

base::Result<std::vector<std::string>> unknown_operations(operations::OperationTable& table,
                                                          const operations::Conditions& conditions,
                                                          const std::vector<std::string>& keys, KnownTimes& known) {
  auto found = table.find(conditions, keys);
  if (!found) {
    return found.error();
  }
  std::vector<std::string> unknown;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if ((*found)[i].has_value()) {
      known[keys[i]] = std::move(*(*found)[i]);
    } else {
      unknown.push_back(keys[i]);
    }
  }
  return unknown;
}

std::vector<operations::OperationTime> times_of(const std::vector<std::string>& keys,
                                                const worker::ExperimentFindings& findings) {
  std::vector<operations::OperationTime> times;
  for (const protocol::OperationTimed& timed : findings.times) {
    if (static_cast<std::size_t>(timed.operation) >= keys.size()) {
      continue;
    }
    const std::string& key = keys[static_cast<std::size_t>(timed.operation)];
    times.push_back(timed.samples_ns.empty() ? operations::OperationTime{.key = key, .reason = timed.reason}
                                             : operations::time_of(key, timed.samples_ns));
    times.back().disturbed = timed.disturbed;
    times.back().peak_bytes = timed.peak_bytes;
  }
  if (findings.fatal_operation.has_value() && static_cast<std::size_t>(*findings.fatal_operation) < keys.size()) {
    times.push_back({.key = keys[static_cast<std::size_t>(*findings.fatal_operation)],
                     .reason = "the process ended while it ran alone"});
  }
  return times;
}

std::vector<std::string> with_references(const std::vector<std::string>& unknown, const KnownTimes& known) {
  std::vector<const operations::OperationTime*> longest;
  for (const auto& [key, time] : known) {
    if (time.reason.empty() && !time.disturbed && time.ns > 0) {
      longest.push_back(&time);
    }
  }
  std::ranges::sort(longest,
                    [](const auto* a, const auto* b) { return std::tie(b->ns, a->key) < std::tie(a->ns, b->key); });
  const std::size_t count = std::min(longest.size(), std::clamp(unknown.size() / 4, kFewReferences, kMostReferences));
  std::vector<std::string> asked;
  std::size_t next = 0;
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    asked.push_back(unknown[i]);
    while (next * unknown.size() < (i + 1) * count) {
      asked.push_back(longest[next++]->key);
    }
  }
  return asked;
}

std::vector<operations::OperationTime> take_times(const worker::ExperimentFindings& findings, TimesForAnswer& times,
                                                  const std::vector<std::string>& asked,
                                                  std::vector<std::string>& unknown) {
  std::vector<operations::OperationTime> found = times_of(asked, findings);
  at_known_speed(found, times.known);
  std::erase_if(found, [&](const operations::OperationTime& time) { return times.known.contains(time.key); });
  for (const operations::OperationTime& time : found) {
    times.measured += time.reason.empty() ? 1 : 0;
    times.disturbed += time.disturbed ? 1 : 0;
    times.known[time.key] = time;
  }
  if (findings.threads > 0) {
    unknown.clear();
  }
  std::erase_if(unknown, [&](const std::string& key) { return times.known.contains(key); });
  std::erase_if(found, [](const operations::OperationTime& time) { return !is_lasting(time); });
  return found;
}

double likely_ns(const operations::OperationTime& time) { return time.disturbed ? time.low : time.ns; }

bool is_lasting(const operations::OperationTime& time) { return time.reason != kNoTime && !time.disturbed; }

WhatIfBase what_if_base(const ProfileRun& run) {
  const recording::Recording& recording = run.recorded.run.recording;
  WhatIfBase base = what_if_base(run.profile, recording, run.recorded.scope);
  base.is_script = run.profile.script.has_value();
  base.is_compiled = analysis::has_compiled_regions(recording);
  if (const auto reserved = analysis::peak_reserved(recording); reserved && !base.on_host) {
    const auto& allocator = run.profile.allocator;
    base.reserved = ReservedStep{*reserved, allocator != nullptr ? analysis::settings_of(allocator->setup)
                                                                 : analysis::CachingAllocatorSettings{}};
  }
  if (base.is_compiled) {
    base.answer.warnings.emplace_back(
        "torch.compile compiles parts of the step, and what it makes of a changed step is only known once that runs: "
        "its time is predicted as if these parts were not compiled, and its memory is not predicted. Try the changes.");
  }
  return base;
}

std::string_view memory_problem(const WhatIfBase& base) {
  return base.is_compiled ? "how much memory a changed step takes once torch.compile has compiled it is not predicted"
                          : "";
}

std::string_view fit_problem(const WhatIfBase& base) {
  const std::string_view problem = memory_problem(base);
  if (!problem.empty() || base.on_host) {
    return problem;
  }
  return base.reserved.has_value() ? "" : "what the device's caching allocator reserved was not recorded";
}

WhatIfBase what_if_base(const analysis::Profile& profile, const recording::Recording& recording,
                        const analysis::SourceScope& scope) {
  WhatIfBase base;
  base.step_ms = profile.iteration.ms.value;
  base.noise = noise_of(profile.iteration.ms);
  base.graph = step::graph_of(recording, scope, base.step_ms * kNsPerMs);
  base.peak_known = profile.peak_known && profile.peak_bytes > 0;
  if (base.peak_known) {
    const auto bytes = [&](analysis::Category category) {
      const std::uint64_t alive = profile.by_category[static_cast<std::size_t>(category)];
      return alive > 0 ? std::optional(static_cast<double>(alive)) : std::nullopt;
    };
    // There is a gradient for each weight; at the peak some of them may not be there yet.
    base.facts = {bytes(analysis::Category::kWeights), bytes(analysis::Category::kOptimizerState)};
  }
  base.answer.entry_path = profile.entry_path;
  base.answer.project_root = profile.project_root;
  base.answer.batch_size = profile.batch_size;
  base.answer.step_ms = base.step_ms;
  base.answer.peak_bytes = profile.peak_bytes;
  base.answer.device = profile.environment.device_name;
  base.on_host = profile.environment.device == "cpu";
  return base;
}

analysis::WhatIf answer_what_if(const WhatIfBase& base, const std::vector<protocol::ChangeRequest>& changes,
                                const std::vector<protocol::Captured>& captured, const KnownTimes& known,
                                const step::UserChanges& user) {
  analysis::WhatIf answer = base.answer;
  const auto times = [&](const std::string& key) { return time_alone(known, key); };
  const auto basis = basis_of(base, find(captured, 0), times, known);
  const auto graph = basis_on_graph(base);
  const protocol::Captured* unchanged = find(captured, 0);
  const auto unchanged_bytes = replayed_bytes(base, unchanged);
  const std::string matrix_type =
      unchanged != nullptr && unchanged->step.has_value() ? matrix_type_of(*unchanged->step) : "";
  for (std::size_t i = 0; i < changes.size(); ++i) {
    analysis::ChangeAnswer row = row_of(changes[i]);
    const protocol::Captured* changed = find(captured, i + 1);
    const bool by_rule = !step::parts_of(changes[i]).graph.empty();
    if (std::string done = done_already(changes[i], matrix_type); !done.empty()) {
      row.reason = std::move(done);
    } else if (changed == nullptr || !basis || (by_rule && !graph)) {
      row.reason = !basis ? basis.error().message() : !graph ? graph.error().message() : "its operations are not known";
    } else if (!changed->reason.empty()) {
      row.reason = changed->reason;
    } else if (changed->step.has_value() || by_rule) {
      const auto predicted = predict(*basis, by_rule ? &*graph : nullptr, changes[i], *changed, times, user);
      if (predicted) {
        row.predicted = *predicted;
        if (!by_rule) {
          row.predicted->reserved_bytes = changed_reserved(base, unchanged_bytes, replayed_bytes(base, changed));
        }
      } else {
        row.reason = predicted.error().message();
      }
    } else {
      row.not_predicted = "what it does is not known before it runs";
    }
    answer.changes.push_back(std::move(row));
  }
  answer.operations = static_cast<int>(operations_of(captured).size());
  sort_by_gain(answer);
  return answer;
}

std::optional<WhatIfBase> base_at(const WhatIfBase& base, const protocol::Captured& unchanged,
                                  const protocol::Captured& at_size, const KnownTimes& known) {
  const auto times = [&](const std::string& key) { return time_alone(known, key); };
  const auto basis = basis_of(base, &unchanged, times, known);
  if (!basis || !at_size.step.has_value() || !has_same_operations(*unchanged.step, *at_size.step)) {
    return std::nullopt;
  }
  auto step = step::predict_step(*basis, at_size, times);
  if (!step) {
    return std::nullopt;
  }
  WhatIfBase at = base;
  at.graph = std::move(step->graph);
  at.step_ms = at.answer.step_ms = step->predicted.step_ms;
  at.answer.batch_size = at_size.batch_size;
  at.answer.peak_bytes = step->predicted.peak_bytes.value_or(0);
  at.peak_known = step->predicted.peak_bytes.has_value();
  at.other_steps.clear();
  return at;
}

std::vector<analysis::ChangeAnswer> answers_on_graph(const WhatIfBase& base,
                                                     const std::vector<protocol::ChangeRequest>& changes,
                                                     const step::UserChanges& user) {
  const auto basis = basis_on_graph(base);
  std::vector<analysis::ChangeAnswer> answers;
  for (const protocol::ChangeRequest& change : changes) {
    answers.push_back(basis ? step::answer_on_graph(*basis, change, user) : row_of(change));
    if (!basis) {
      answers.back().reason = basis.error().message();
    }
  }
  return answers;
}

void judge_predictions(analysis::WhatIf& answer) {
  for (analysis::ChangeAnswer& row : answer.changes) {
    const step::RequestParts parts = step::parts_of(row.change);
    if (!row.predicted.has_value() || parts.runner.empty()) {
      continue;
    }
    analysis::PredictedChange& predicted = *row.predicted;
    predicted.uncalibrated = predicted.speed_up;
    predicted.speed_up = step::calibrated(predicted.speed_up, parts.runner, predicted.measured_share);
    const auto [value, low, high] = predicted.speed_up;
    if (high / low > std::pow(predicted.uncalibrated->high / predicted.uncalibrated->low, 2)) {
      predicted.largest_error = "predictions of such changes missed by as much on other models";
    }
    if (predicted.measured_share < kLeastMeasured) {
      row.not_predicted = fmt::format("{:.0f} % of the changed time is of operations that could not be timed alone",
                                      100 * (1 - predicted.measured_share));
    } else if (high > kWidestInterval * low) {
      row.not_predicted = fmt::format("what was recorded and timed varies too much: {:.2f}× to {:.2f}×", low, high);
    } else {
      answer.calibration_models = step::calibration_models();
      answer.calibration_level = step::calibrated_level();
      continue;
    }
    row.peak_bytes = predicted.peak_bytes;
    row.predicted.reset();
  }
  sort_by_gain(answer);
}

std::optional<double> seconds_to_try(const analysis::WhatIf& answer, double seconds) {
  const double step = answer.step_ms / 1e3;
  const auto to_try = std::ranges::count_if(answer.changes, [](const analysis::ChangeAnswer& row) {
    return row.reason.empty() && row.can_be_tried && !row.tried.has_value() && row.not_tried.empty();
  });
  if (to_try == 0) {
    return std::nullopt;
  }
  // For each side a round has one untimed iteration, and timed ones for kTrialRound, at least one.
  const double round = 2 * (step + std::max(kTrialRound, step));
  const double rounds = std::clamp(seconds / round, kFewestTrialRounds, kTrialRounds);
  return static_cast<double>(to_try) * (kTrialSteps * step + rounds * round + kBuildSeconds) + 2 * kTrialSteps * step +
         kBuildSeconds;
}

void add_trials(analysis::WhatIf& answer, const std::vector<protocol::ChangeRequest>& changes,
                const std::vector<protocol::Tried>& tried) {
  for (const protocol::Tried& trial : tried) {
    if (static_cast<std::size_t>(trial.change) >= changes.size()) {
      continue;
    }
    const auto row = std::ranges::find(answer.changes, changes[static_cast<std::size_t>(trial.change)],
                                       &analysis::ChangeAnswer::change);
    if (row == answer.changes.end()) {
      continue;
    }
    if (trial.reason.empty()) {
      row->tried = step::describe_trial(trial);
      warn_of_trial(answer, row->title, trial);
    } else {
      row->not_tried = trial.reason;
    }
  }
  sort_by_gain(answer);
}

void sort_by_gain(analysis::WhatIf& answer) {
  std::ranges::stable_sort(answer.changes, [](const analysis::ChangeAnswer& a, const analysis::ChangeAnswer& b) {
    return std::pair(!a.reason.empty(), -gain(a)) < std::pair(!b.reason.empty(), -gain(b));
  });
}

}  // namespace ridgeline::app
