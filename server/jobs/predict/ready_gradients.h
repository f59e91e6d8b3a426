// Where a step's graph has its gradients ready.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/result.h"
#include "protocol/experiment.h"
#include "step/graph/graph.h"
#include "step/simulate/simulate.h"

namespace ridgeline::jobs {

/// Why data-parallel training with these is not modelled; nothing: it is.
std::optional<base::Error> unmodelled_gradients(const std::vector<protocol::ReadyGradient>& gradients);

/// By gradient in the order of accumulation: the task of a host at whose end AccumulateGrad is over. An error when the
/// graph does not show `count` accumulations.
base::Result<std::vector<step::TaskId>> accumulations(const step::Graph& graph, std::size_t count);

/// By task of `hosts`: the last task of a device that was launched until its end; kNoTask: none. `schedule` is of the
/// graph; of tasks that a device has no work for, the host itself decides.
std::vector<step::TaskId> last_launched(const step::Graph& graph, const step::Schedule& schedule,
                                        const std::vector<step::TaskId>& hosts);

}  // namespace ridgeline::jobs
