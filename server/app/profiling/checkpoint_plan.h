// Which modules to checkpoint so that a step fits: a knapsack over what each saves and costs. Pure.
//
// Each module's forward may be kept whole, in part (selective checkpointing) or not at all. What is saved adds up, as
// does the time to run the rest again; the cheapest choice that saves enough is found by dynamic programming over the
// modules, which keeps for each number of saved bytes the cheapest choice alone.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protocol/experiment.h"

namespace ridgeline::app {

/// How a module may be checkpointed, and what that brings.
struct CheckpointOption {
  std::string change;      ///< by its name: "checkpoint", "selective-checkpoint"
  double saved_bytes = 0;  ///< between forward and backward
  double ms = 0;           ///< to run it again
};

struct CheckpointedModule {
  std::string name;  ///< dotted, without the model's class
  std::vector<CheckpointOption> options;
};

/// One option of each module that is checkpointed.
struct CheckpointPlan {
  std::vector<std::optional<std::size_t>> option;  ///< by module; absent: it is left as it is
  double saved_bytes = 0;
  double ms = 0;
};

/// A step in which all modules that can be are checkpointed in one way.
struct CheckpointedStep {
  std::string change;
  const protocol::Captured* captured = nullptr;
  double more_ms = 0;  ///< than the step without
};

/// What each of the checkpointed modules would save and cost, in the order of forward: the bytes that are alive behind
/// it less those before it, compared between the steps, and its part of the time. `time_of`: of an operation, by key.
/// Empty where that was not observed, or the steps do not checkpoint the same modules.
std::vector<CheckpointedModule> checkpointed_modules(const protocol::Captured& unchanged,
                                                     std::span<const CheckpointedStep> steps,
                                                     const std::function<double(const std::string& key)>& time_of);

/// The plan that costs least of those that save at least `bytes`; of equal ones the one with the earlier modules, which
/// backward reaches last. Nothing where all of them together save less.
std::optional<CheckpointPlan> cheapest_plan(std::span<const CheckpointedModule> modules, double bytes);

/// `plan` with one module left as it is, or with a cheaper option of it: at most `most` of them, those that gain most
/// time first; of equal ones that of the later module, which saves least.
std::vector<CheckpointPlan> cheaper_by_one(std::span<const CheckpointedModule> modules, const CheckpointPlan& plan,
                                           std::size_t most);

/// As it is asked for: "checkpoint:h.0..3,h.7", one request for each option that the plan has.
protocol::ChangeRequest request_of(std::span<const CheckpointedModule> modules, const CheckpointPlan& plan);

}  // namespace ridgeline::app
