// Which modules to checkpoint or to offload so that a step fits: a knapsack over what each saves and costs. Pure.
//
// What backward needs of a module's forward may be kept on the device, computed again in whole or in part
// (checkpointing, selective checkpointing), or kept in the host's memory (offload). What is saved adds up, as does the
// time that it takes; the cheapest choice that saves enough is found by dynamic programming over the modules, which
// keeps for each number of saved bytes the cheapest choice alone.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protocol/experiment.h"

namespace ridgeline::app {

/// A change that can be made to a module, and what that brings.
struct ModuleOption {
  std::string change;      ///< by its name: "checkpoint", "selective-checkpoint", "offload"
  double saved_bytes = 0;  ///< between forward and backward
  double ms = 0;           ///< that the step takes longer
};

struct PlannedModule {
  std::string name;  ///< dotted, without the model's class
  std::vector<ModuleOption> options;
};

/// One option of each module that is changed.
struct ModulePlan {
  std::vector<std::optional<std::size_t>> option;  ///< by module; absent: it is left as it is
  double saved_bytes = 0;
  double ms = 0;
};

/// A step in which all modules that can be are changed in one way.
struct ChangedStep {
  std::string change;
  const protocol::Captured* captured = nullptr;
  double more_ms = 0;          ///< than the step without
  bool is_of_copying = false;  ///< more_ms goes with the bytes that are saved, not with the time of forward
};

/// What each of the changed modules would save and cost, in the order of forward: the bytes that are alive behind it
/// less those before it, compared between the steps, and its part of the time. `time_of`: of an operation, by key.
/// Empty where that was not observed, or the steps do not change the same modules.
std::vector<PlannedModule> planned_modules(const protocol::Captured& unchanged, std::span<const ChangedStep> steps,
                                           const std::function<double(const std::string& key)>& time_of);

/// The plan that costs least of those that save at least `bytes`; of equal ones the one with the earlier modules, which
/// backward reaches last. Nothing where all of them together save less.
std::optional<ModulePlan> cheapest_plan(std::span<const PlannedModule> modules, double bytes);

/// `plan` with one module left as it is, or with a cheaper option of it: at most `most` of them, those that gain most
/// time first; of equal ones that of the later module, which saves least.
std::vector<ModulePlan> cheaper_by_one(std::span<const PlannedModule> modules, const ModulePlan& plan,
                                       std::size_t most);

/// As it is asked for: "checkpoint:h.0..3,h.7", one request for each option that the plan has.
protocol::ChangeRequest request_of(std::span<const PlannedModule> modules, const ModulePlan& plan);

}  // namespace ridgeline::app
