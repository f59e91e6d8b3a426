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
  std::uint64_t peak_bytes = 0;
  const Node* costliest = nullptr;  ///< the instance with most time; of several without any, with most memory
};

/// The nodes without children, by name: together they are `root`. Most time first, then most memory.
std::vector<Total> operation_totals(const Node& root);

/// The modules with everything inside, by class; an instance inside of another one of its class is part of that.
/// Together they are more than `root`, since modules contain each other. Ordered as operation_totals().
std::vector<Total> module_type_totals(const Node& root);

enum class Resource : std::uint8_t { kTime, kMemory };

/// From `node` down, always into the child that takes most, until one has no children; without `node`. Empty where no
/// child takes anything.
std::vector<const Node*> costliest_path(const Node& node, Resource resource);

}  // namespace ridgeline::analysis
