// Plans in the order of their predicted times.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace ridgeline::operations {

template <typename Plan>
struct Ranked {
  std::vector<Plan> plans;     ///< the best predicted first
  std::size_t considered = 0;  ///< programs whose time was predicted
};

/// The best `top`.
template <typename Plan>
Ranked<Plan> ranked(std::vector<Plan> plans, std::size_t top) {
  const std::size_t considered = plans.size();
  std::ranges::stable_sort(plans, {}, &Plan::ns);
  plans.resize(std::min(top, considered));
  return {std::move(plans), considered};
}

}  // namespace ridgeline::operations
