// The steps of a what-if answer: what the worker is to run, and what follows from what it found. Runs nothing itself.
//
// profile → capture (operations of the unchanged and of the changed steps) → measure (operations that the table does
// not have) → answer; and try (changed steps timed in turns with the unchanged one).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/allocator/caching_allocator_settings.h"
#include "analysis/values/what_if.h"
#include "app/profiling/profile_run.h"
#include "app/profiling/request.h"
#include "base/result.h"
#include "operations/table/operation_table.h"
#include "protocol/experiment.h"
#include "step/changes/predict_change.h"
#include "step/changes/predict_on_graph.h"
#include "step/graph/graph.h"
#include "worker/run_inbox.h"

namespace ridgeline::app {

/// The spec of an experiment on the entry point of a profile.
PlannedRun plan_experiment(const ProfileRequest& request, const Target& target, protocol::Experiment experiment);

/// What an experiment found; the failure where it found nothing.
using ExperimentOutcome = base::Result<worker::ExperimentFindings, RunFailure>;
ExperimentOutcome findings_of(worker::Finished finished);

/// The table of operation times in the cache folder.
std::string operation_table_path(const std::string& cache);

/// What a step's operations are timed under.
operations::Conditions conditions_of(const analysis::Environment& environment, int threads);

/// Times by key. An operation that cannot be measured has none.
using KnownTimes = std::map<std::string, operations::OperationTime, std::less<>>;

/// `known` outlives it. Empty where operations that can be run alone come without memory, as in tables of others or
/// where the time for measuring did not suffice: one step's operations would be compared with another's.
step::StandalonePeaks standalone_peaks(const KnownTimes& known);

/// The operations of captured steps, each once.
std::vector<std::string> operations_of(const std::vector<protocol::Captured>& captured);

/// Those that a first prediction of a changed step needs: what only one of both steps has, or has more often, and what
/// the unchanged step has of the same names.
std::vector<std::string> operations_that_differ(const protocol::CapturedStep& unchanged,
                                                const protocol::CapturedStep& changed);

/// Those of `keys` that the table does not know; the others are added to `known`.
base::Result<std::vector<std::string>> unknown_operations(operations::OperationTable& table,
                                                          const operations::Conditions& conditions,
                                                          const std::vector<std::string>& keys, KnownTimes& known);

/// What a measurement found of `keys`. An operation that ended the process cannot be measured; those that were not
/// reached are left out.
std::vector<operations::OperationTime> times_of(const std::vector<std::string>& keys,
                                                const worker::ExperimentFindings& findings);

/// Measurements of one answer at most, each after an operation that ended the process of the one before.
inline constexpr int kMostMeasurements = 4;

/// The times for one answer.
struct TimesForAnswer {
  KnownTimes known{};
  int measured = 0;   ///< just now, not from the table
  int disturbed = 0;  ///< of those, by other processes: not kept
};

/// What to measure for `unknown`: these and, among them, some of those known as references, the longest ones. A machine
/// is faster at one time than at another, and a step's operations are compared with those of another step.
std::vector<std::string> with_references(const std::vector<std::string>& unknown, const KnownTimes& known);

/// Adds what a measurement of `asked` found, and leaves in `unknown` what is to be measured again: nothing when it came
/// to its end. Times are given at the speed at which the references among `asked` were known, from three of them on;
/// their samples are farther apart by what these differ. Those that the table should keep.
std::vector<operations::OperationTime> take_times(const worker::ExperimentFindings& findings, TimesForAnswer& times,
                                                  const std::vector<std::string>& asked,
                                                  std::vector<std::string>& unknown);

/// What a prediction takes for it: the median or, where other processes disturbed it, the shortest sample, as they only
/// ever add.
double likely_ns(const operations::OperationTime& time);

/// Whether a time, or why there is none, is worth keeping: nothing disturbed it, and it would be the same again.
bool is_lasting(const operations::OperationTime& time);

/// What a device's caching allocator reserved for a step, at most, and how it was set up.
struct ReservedStep {
  std::uint64_t bytes = 0;
  analysis::CachingAllocatorSettings settings{};
};

/// The unchanged step, for predictions: from a profile that was made just now.
struct WhatIfBase {
  analysis::WhatIf answer;  ///< without changes
  step::Graph graph;
  double step_ms = 0;
  bool on_host = true;                     ///< the step, and so its memory, which no allocator reserves in advance
  std::optional<ReservedStep> reserved{};  ///< on a device; absent: not recorded
  step::StepFacts facts{};
  bool peak_known = true;
  bool is_script = false;                  ///< each experiment runs the script from its beginning
  bool is_compiled = false;                ///< in parts, by torch.compile: memory of a changed step is not predicted
  double noise = 0;                        ///< step::Baseline::noise, GraphBasis::noise
  std::vector<step::Graph> other_steps{};  ///< as recorded: step::GraphBasis::others
};
WhatIfBase what_if_base(const ProfileRun& run);

/// Why the memory of changed steps is not predicted, as a clause; empty where it is.
std::string_view memory_problem(const WhatIfBase& base);

/// Why it is not predicted whether changed steps fit into a number of bytes, as a clause; empty where it is.
std::string_view fit_problem(const WhatIfBase& base);

/// The unchanged step of any recording: `profile` was made of it.
WhatIfBase what_if_base(const analysis::Profile& profile, const recording::Recording& recording,
                        const analysis::SourceScope& scope);

/// Answers that need the graph alone (step::is_possible_on_graph).
std::vector<analysis::ChangeAnswer> answers_on_graph(const WhatIfBase& base,
                                                     const std::vector<protocol::ChangeRequest>& changes,
                                                     const step::UserChanges& user);

/// Predicts each of `changes` (protocol::Captured::change is one more than its index; what was captured is the changes
/// that the runner makes, step::parts_of). Those of the graph come after these. Where requests of memory were captured,
/// also what the device's caching allocator reserves, by how much their replays differ. Those that apply come first,
/// most speed-up first.
analysis::WhatIf answer_what_if(const WhatIfBase& base, const std::vector<protocol::ChangeRequest>& changes,
                                const std::vector<protocol::Captured>& captured, const KnownTimes& known,
                                const step::UserChanges& user = {});

/// The base at another batch size, as it is predicted: for what changes of that step bring, whose errors are of what
/// these change alone. Nothing where the step runs other operations at that size. `unchanged` and `at_size`: as they
/// were captured.
std::optional<WhatIfBase> base_at(const WhatIfBase& base, const protocol::Captured& unchanged,
                                  const protocol::Captured& at_size, const KnownTimes& known);

/// What a what-if answer shows of its predictions: intervals are widened by what predictions of other models missed
/// (step::calibrated), and a change of which more than half was not measured has none, nor one whose interval says
/// nothing.
void judge_predictions(analysis::WhatIf& answer);

/// Seconds that trying those of `answer` is likely to take that can be tried and were not, but for what torch.compile
/// takes to compile; absent: there is none. `seconds`: Experiment::seconds. See trial.py.
std::optional<double> seconds_to_try(const analysis::WhatIf& answer, double seconds);

/// Adds to the answers of `changes`, by request, what trying them found (protocol::Tried::change is the index).
void add_trials(analysis::WhatIf& answer, const std::vector<protocol::ChangeRequest>& changes,
                const std::vector<protocol::Tried>& tried);

/// Those that apply first; by what was tried, else by what is predicted, where unclear counts as no change. Those of
/// which nothing is known come last.
void sort_by_gain(analysis::WhatIf& answer);

}  // namespace ridgeline::app
