// The changes that can be asked about: what each is, and what it takes to make it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "step/changes/graph_change.h"

namespace ridgeline::step {

struct ChangeKind {
  std::string_view name;      ///< as it is asked for
  std::string_view argument;  ///< what follows a colon: "K", "[MODULE]"; empty: nothing does
  std::string_view title;
  std::string_view takes;  ///< what the user writes for it
  /// The requests that are made when the user names no change; empty: only on request.
  std::string_view usual;
  bool predictable = true;       ///< its operations are known before it runs
  bool on_step = true;           ///< the runner makes it: it can be captured and tried on an entry point
  bool keeps_parameters = true;  ///< the step trains the same parameters
  /// The change as a function of the graph alone; null: none. Of one that the runner makes, too, this is for traces.
  GraphFunction on_graph = nullptr;
  std::string_view usual_on_traces{};  ///< as `usual`, for traces
  std::string_view section{};          ///< of a paper whose rule it follows
};

/// First those that the runner makes, in the order of profiler/runner/ridgeline_runner/changes/built_in.py.
std::span<const ChangeKind> change_table();

/// The kind of a request, `NAME` or `NAME:ARGUMENT`; null: there is none.
const ChangeKind* find_change(std::string_view request);

/// A request by who makes its changes: the runner, which comes first, then functions of the graph. In order.
struct RequestParts {
  std::vector<std::string> runner;
  std::vector<std::string> graph;
};
RequestParts parts_of(const std::vector<std::string>& requests);

/// What follows the colon of a request; empty: nothing.
std::string_view argument_of(std::string_view request);

/// The requests that are made when the user names none.
std::vector<std::vector<std::string>> usual_changes();
std::vector<std::vector<std::string>> usual_changes_on_traces();

/// The title, and what has to be done, of changes that are made together.
std::string title_of(const std::vector<std::string>& requests);
std::string takes_of(const std::vector<std::string>& requests);

}  // namespace ridgeline::step
