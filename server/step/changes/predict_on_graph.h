// What changes of the graph alone bring.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/what_if.h"
#include "base/result.h"
#include "step/changes/change_file.h"
#include "step/changes/graph_change.h"
#include "step/changes/predict_change.h"

namespace ridgeline::step {

/// A step whose graph is changed, and what every change of it is compared with, made once. `graph` outlives it.
struct GraphBasis {
  const Graph& graph;
  double step_ms = 0;  ///< of the unchanged step, measured
  StepFacts facts{};
  std::optional<std::uint64_t> peak_bytes{};  ///< measured, where it is known
  /// How far another recording of the same code may be off, over `step_ms`: of steps that vary much, much.
  double noise = 0;
  /// Whether iterations that follow each other are simulated: not where the recording's do not repeat like that.
  bool repeats = false;
  double ms_per_ns = 0;                            ///< measured, over simulated
  std::optional<std::int64_t> graph_peak_bytes{};  ///< of Graph::memory
  /// The step of `graph`, where the runner changed it already.
  struct Start {
    double step_ms = 0;   ///< predicted
    double error_ms = 0;  ///< of it
    double samples = 1;   ///< over those of the unchanged step
    double measured_share = 0;
    bool memory_changed = false;  ///< and Graph::memory does not show that
    std::string largest_error{};  ///< PredictedChange::largest_error
  };
  std::optional<Start> start{};
  /// Other recorded steps of the same code, where they differ: the interval has what the change brings in them.
  std::vector<GraphBasis> others{};
};

/// An error when the graph cannot be simulated, or takes no time. `step_ms` is positive.
base::Result<GraphBasis> graph_basis(const Graph& graph, double step_ms, const StepFacts& facts,
                                     std::optional<std::uint64_t> peak_bytes);

/// The changes of the graph come after those that the runner makes: the basis for the graph of `changed`, which
/// outlives it. `unchanged` is of the unchanged step. Facts about parameters hold where the changes keep them.
GraphBasis after_runner(const GraphBasis& unchanged, const PredictedStep& changed, bool keeps_parameters);

/// Makes the changes in order, with their guesses at the middle and at both ends, and simulates each: the interval is
/// between the ends, and wider by what a prediction misses anyway and by what the changes bring in `others`. It ends
/// where the step would be shorter than without what the changes touch, or than its kernels alone, or longer than with
/// what they touch and add a second time; then it is wider by the noise. An error says why one does not apply.
base::Result<analysis::PredictedChange> predict_on_graph(const GraphBasis& basis,
                                                         const std::vector<std::string>& requests,
                                                         const UserChanges& user = {});

/// The row of an answer for the requests.
analysis::ChangeAnswer answer_on_graph(const GraphBasis& basis, const std::vector<std::string>& requests,
                                       const UserChanges& user = {});

/// Whether all of them are functions of the graph that need no captured operations.
bool is_on_graph_only(const std::vector<std::string>& requests, const UserChanges& user);

/// Whether all of them can be made on the graph of a trace.
bool is_possible_on_graph(const std::vector<std::string>& requests, const UserChanges& user);

}  // namespace ridgeline::step
