// The one table of changes, whatever they are of: what each is, what it fits, and what it takes to make it.
//
// A change is written `NAME`, `NAME:ARGUMENT` or `NAME:ARGUMENT=VALUE`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "step/changes/graph_change.h"

namespace ridgeline::step {

/// What a change is made of.
enum class Subject : std::uint8_t {
  kStep,     ///< of an entry point
  kTrace,    ///< a step that another profiler recorded
  kJob,      ///< a recorded job, replayed
  kSearch,   ///< a recorded job whose fastest strategy is searched
  kCluster,  ///< a job that was not run, predicted from one process
};
inline constexpr std::size_t kSubjectCount = 5;

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
  bool is_research = false;            ///< of a paper: nobody can install it
  /// For jobs, which have functions for their changes of their own (jobs/).
  bool fits_job = false;
  bool fits_search = false;
  bool fits_cluster = false;

  bool fits(Subject subject) const;
};

/// First those that the runner makes, in the order of profiler/runner/ridgeline_runner/changes/built_in.py; at
/// last those of jobs alone.
std::span<const ChangeKind> change_table();

/// The kind of a request, by its name; null: there is none.
const ChangeKind* find_change(std::string_view request);

/// The kind of a request for the subject, not null. The error, which has the request, says that there is none, or that
/// it does not fit.
base::Result<const ChangeKind*> find_change_of(Subject subject, std::string_view request);

/// `NAME:ARGUMENT` as the table has it.
std::string usage_of(const ChangeKind& kind);

/// Those that fit the subject, for people: "faster:FILE:LINE=K, zero:STAGE or no-overlap".
std::string changes_of(Subject subject);

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
