// What is known of the unchanged step's operations, prepared once for all changes of an answer.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "protocol/experiment.h"
#include "step/changes/host_time.h"
#include "step/graph/graph.h"

namespace ridgeline::step {

/// The time of an operation that was run alone, outside of the step.
struct StandaloneTime {
  double ns = 0;
  bool is_disturbed = false;  ///< other processes ran while it was timed, which only ever adds
};

/// By the operation's key; nothing where it was not measured.
using StandaloneTimes = base::FunctionRef<std::optional<StandaloneTime>(const std::string& key)>;

/// The key of an operation of the step; null where its arguments cannot be described.
const std::string* key_of(const protocol::CapturedStep& step, const protocol::CapturedOperation& operation);
const std::string& name_of(const protocol::CapturedStep& step, const protocol::CapturedOperation& operation);

/// What the kernel takes to give operation `i` memory, ns; 0 where that was not observed.
double page_fault_ns(const protocol::CapturedStep& step, std::size_t i);

/// The tasks of a step's graph by captured operation, and the Python before each.
struct Places {
  std::vector<std::vector<TaskId>> tasks;   ///< on the host and on devices
  std::vector<std::vector<TaskId>> python;  ///< between the operation before and this one, on its thread
  std::vector<double> ns;                   ///< of `tasks`: on devices where there are any, else on hosts
  std::vector<double> launch_ns;            ///< of `tasks` on hosts, where there are some on devices; else 0
  std::vector<double> python_ns;
  /// `ns` without page faults, which depend on what memory is free where the operation runs: a time alone has none.
  std::vector<double> computing_ns;
};

/// Finds the operations of `step` in the graph, which was recorded of the same step.
Places places_of(const Graph& graph, const protocol::CapturedStep& step);

/// The time in the step, without page faults, over the time alone: of operations of each name, and of all. Without
/// those that other processes disturbed.
struct Ratios {
  std::map<std::string, double> by_name;
  double usual = 1;
  /// How far the ratio of an operation is from that of its name, typically: 0.1 means 10 %. Weighted by time.
  double spread = 1;

  double of(const std::string& name) const;
};

/// A sum of times and their number.
struct Times {
  double ns = 0;
  int count = 0;
  double mean_ns() const { return ns / count; }  ///< needs one time
};

/// What hosts take for operations that devices compute, ns: medians.
struct LaunchTimes {
  std::unordered_map<std::string, double> by_key;
  std::unordered_map<std::string, double> by_name;
  std::unordered_set<std::string> on_hosts;  ///< names of operations that hosts computed, and no device
  double usual = 0;

  /// The host's time for the same operation, else for those of its name, else for any. `key` may be null.
  double of(const std::string* key, const std::string& name) const;
};

/// The unchanged step. `graph` and `step` belong to the caller and outlive it.
struct UnchangedStep {
  const Graph& graph;
  const protocol::CapturedStep& step;
  Places places;
  Ratios ratios;
  std::unordered_map<std::string, Times> in_step;  ///< by key; without page faults
  LaunchTimes launches;
  HostTime host;
};

/// Finds the operations of `step` in the graph, which was recorded of the same step.
UnchangedStep unchanged_step(const Graph& graph, const protocol::CapturedStep& step, StandaloneTimes times);

}  // namespace ridgeline::step
