// Which recorded operation each captured one is, and which operations of a changed step are those of the unchanged one.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/experiment.h"
#include "step/graph/graph.h"

namespace ridgeline::step {

/// Whether operations of this name take no time in a step: `aten::detach`. Autograd saves tensors without it, but a
/// dispatch mode sees it there, so lists have more of them than steps do.
bool is_free(std::string_view name);

/// By captured operation of the unchanged step: its index in Graph::operations; 0 where it was not recorded.
/// The order of both is the same; an operation inside one that was found is not another one.
/// Where they differ by thousands, free operations are left out.
std::vector<std::uint32_t> find_recorded(const Graph& graph, const protocol::CapturedStep& step);

/// Operations of two steps that stand for each other: the same operation in the same part of the step, in the same
/// order. Pairs of indices, both ascending.
std::vector<std::pair<std::size_t, std::size_t>> match_operations(const protocol::CapturedStep& unchanged,
                                                                  const protocol::CapturedStep& changed);

}  // namespace ridgeline::step
