#include "jobs/predict/ready_gradients.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace ridgeline::jobs {

using step::Graph;
using step::kNoTask;
using step::TaskId;

namespace {

constexpr std::string_view kAccumulate = "torch::autograd::AccumulateGrad";

/// By operation: which accumulation it is or is in, from 1; 0: none.
std::vector<std::uint32_t> accumulation_of(const Graph& graph, std::size_t& count) {
  std::vector<std::uint32_t> of(graph.operations.size());
  count = 0;
  for (std::size_t i = 1; i < of.size(); ++i) {
    const step::Operation& operation = graph.operations[i];
    if (graph.names[operation.name] == kAccumulate) {
      of[i] = static_cast<std::uint32_t>(++count);
    } else if (operation.parent != 0) {
      of[i] = of[operation.parent];
    }
  }
  return of;
}

bool is_host(const Graph& graph, TaskId id) {
  return graph.resources[graph.tasks[id].resource].type == step::Resource::Type::kHost;
}

}  // namespace

std::optional<base::Error> unmodelled_gradients(const std::vector<protocol::ReadyGradient>& gradients) {
  std::set<std::string> names;
  for (const protocol::ReadyGradient& gradient : gradients) {
    if (!names.insert(gradient.name).second) {
      return base::error("the step runs backward several times for " + gradient.name +
                         ": training that accumulates gradients is not modelled");
    }
    if (gradient.dtype != gradients.front().dtype) {
      return base::error("its gradients have several types: their buckets are not modelled");
    }
  }
  return gradients.empty() ? std::optional(base::error("the step has no gradients")) : std::nullopt;
}

base::Result<std::vector<TaskId>> accumulations(const Graph& graph, std::size_t count) {
  std::size_t found = 0;
  const std::vector<std::uint32_t> of = accumulation_of(graph, found);
  if (found != count) {
    return base::error("the recording shows " + std::to_string(found) +
                       " accumulations of gradients, and the step has " + std::to_string(count) +
                       ": when its gradients are ready is not known");
  }
  std::vector<TaskId> ready(count, kNoTask);
  for (TaskId id = 0; id < graph.tasks.size(); ++id) {
    const std::uint32_t which = is_host(graph, id) ? of[graph.tasks[id].operation] : 0;
    if (which > 0) {
      ready[which - 1] = id;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (ready[i] == kNoTask && i > 0) {
      ready[i] = ready[i - 1];  // too short for a task of its own
    }
    if (ready[i] == kNoTask) {
      return base::error("the recording does not show when the first gradient is ready");
    }
  }
  return ready;
}

std::vector<TaskId> last_launched(const Graph& graph, const step::Schedule& schedule,
                                  const std::vector<TaskId>& hosts) {
  struct Launch {
    std::int64_t ns;
    TaskId task;
  };
  std::vector<Launch> launches;
  for (const step::Dependency& one : graph.dependencies) {
    const bool launches_it = graph.tasks[one.to].kind == step::Kind::kKernel && is_host(graph, one.from);
    if (launches_it) {
      launches.push_back({schedule.start[one.from], one.to});
    }
  }
  std::ranges::sort(launches, [](const Launch& a, const Launch& b) { return a.ns < b.ns; });
  std::vector<TaskId> last;
  for (const TaskId host : hosts) {
    const auto after = std::ranges::upper_bound(launches, schedule.end[host], {}, &Launch::ns);
    last.push_back(after == launches.begin() ? kNoTask : std::prev(after)->task);
  }
  return last;
}

}  // namespace ridgeline::jobs
