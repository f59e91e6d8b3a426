// The breakdown as flat lists: what all instances of an operation or of a module class cost together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/values/profile.h"

namespace ridgeline::analysis {

/// What goes by one name in the breakdown. Pointers are into it.
struct Total {
  std::string name;
  std::uint64_t calls = 0;
  double ms = 0;
  ByPhase by_phase{};  ///< sums to ms
  std::uint64_t peak_bytes = 0;
  const Node* costliest = nullptr;  ///< the instance with most time; of several without any, with most memory
};

/// The nodes without children, by name: together they are `root`. Most time first, then most memory.
std::vector<Total> operation_totals(const Node& root);

/// The modules with everything inside, by class; an instance inside of another one of its class is part of that.
/// Together they are more than `root`, since modules contain each other. Ordered as operation_totals().
std::vector<Total> module_type_totals(const Node& root);

enum class Resource : std::uint8_t { kTime, kMemory };

/// One of a path: nodes that are alike, and together take most.
struct CostliestStep {
  std::string label;           ///< "4 × Block" of the numbered modules of a class, else the name
  const Node* node = nullptr;  ///< that stands for them: inside of the one of the step before, where one is
};

/// From `node` down, always into the children that take most together, until they have no children; without `node`.
/// Alike are the numbered modules of a class, and what has the same name inside of nodes that are alike. Empty where no
/// child takes anything.
std::vector<CostliestStep> costliest_path(const Node& node, Resource resource);

}  // namespace ridgeline::analysis
