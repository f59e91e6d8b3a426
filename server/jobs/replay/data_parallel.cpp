#include "jobs/replay/data_parallel.h"

#include <limits>
#include <utility>

namespace ridgeline::jobs {

using step::kNoTask;
using step::TaskId;

std::vector<std::size_t> bucket_sizes(const std::vector<std::uint64_t>& gradient_bytes, const BucketRule& rule) {
  std::vector<std::size_t> sizes;
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  for (const std::uint64_t gradient : gradient_bytes) {
    ++count;
    bytes += gradient;
    if (bytes < (sizes.empty() ? rule.first_bytes : rule.cap_bytes)) {
      continue;
    }
    sizes.push_back(count);
    count = 0;
    bytes = 0;
  }
  if (count > 0) {
    sizes.push_back(count);
  }
  return sizes;
}

base::Result<EqualRanks> data_parallel(step::Graph graph, std::vector<int> ranks,
                                       const std::vector<Gradient>& gradients, TaskId waits, const BucketRule& rule) {
  const std::size_t tasks = graph.tasks.size();
  if (gradients.empty()) {
    return base::error("no gradients were found: the step has no backward to make parallel");
  }
  if (waits >= tasks) {
    return base::error("no task waits for the gradients");
  }
  if (graph.resources.size() >= std::numeric_limits<std::uint16_t>::max()) {
    return base::error("the graph has no room for a link");
  }
  std::vector<std::uint64_t> bytes;
  for (const Gradient& gradient : gradients) {
    if (gradient.ready >= tasks) {
      return base::error("a gradient is of a task that the graph does not have");
    }
    bytes.push_back(gradient.bytes);
  }
  graph.resources.push_back({"collectives", step::Resource::Type::kLink});
  EqualRanks made{std::move(ranks), {}, {}};
  std::size_t next = 0;
  TaskId before = kNoTask;
  for (const std::size_t size : bucket_sizes(bytes, rule)) {
    step::Task task;
    task.resource = static_cast<std::uint16_t>(graph.resources.size() - 1);
    task.kind = step::Kind::kCommunication;
    const auto call = static_cast<TaskId>(graph.tasks.size());
    graph.tasks.push_back(task);
    if (before != kNoTask) {
      graph.tasks[before].next = call;
    }
    before = call;
    const std::size_t bucket = made.calls.size();
    made.calls.push_back({call, CollectiveKind::kAllReduce, bucket, 0, static_cast<int>(bucket)});
    for (const std::size_t end = next + size; next < end; ++next) {
      graph.dependencies.push_back({gradients[next].ready, call, 0});
      made.calls.back().bytes += static_cast<double>(bytes[next]);
    }
  }
  graph.dependencies.push_back({before, waits, 0});
  made.graph = std::move(graph);
  return made;
}

}  // namespace ridgeline::jobs
