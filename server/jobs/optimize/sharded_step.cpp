#include "jobs/optimize/sharded_step.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "jobs/optimize/job_changes.h"
#include "jobs/optimize/transfer_time.h"
#include "jobs/predict/sharded_collectives.h"
#include "jobs/predict/sharded_memory.h"
#include "step/graph/changes.h"

namespace ridgeline::jobs {

namespace {

using step::TaskId;

constexpr std::uint64_t kFirstGather = std::uint64_t{1} << 63U;

double at(const ShareOfAllReduce& share, step::Bound bound) {
  return bound == step::Bound::kMiddle ? share.middle : bound == step::Bound::kOptimistic ? share.low : share.high;
}

/// Whether its collectives are Gloo's, and not NCCL's.
bool is_on_host(const RecordedJob& job) {
  return std::ranges::none_of(job.ranks, [](const EqualRanks& rank) {
    return std::ranges::any_of(rank.graph.resources, [](const step::Resource& resource) {
      return resource.type == step::Resource::Type::kDevice;
    });
  });
}

/// The tasks of the optimizer on the thread of the steps, ascending.
step::Selection optimizer_of(const step::Graph& graph) {
  return step::select(graph, [](const step::Task& task) {
    return task.resource == 0 && task.phase == analysis::Phase::kOptimizer && task.kind != step::Kind::kMark;
  });
}

/// The last of `tasks` in each step; kNoTask: a step has none.
std::vector<TaskId> last_of_steps(const step::Selection& tasks, const std::vector<TaskId>& ends) {
  std::vector<TaskId> last(ends.size(), step::kNoTask);
  std::size_t step = 0;
  for (const TaskId task : tasks) {
    while (step < ends.size() && task > ends[step]) {
      ++step;
    }
    if (step < ends.size()) {
      last[step] = task;
    }
  }
  return last;
}

/// What the thread does behind `last` waits for the gather.
void add_gather(EqualRanks& rank, Call call, std::size_t step, TaskId last, double ns) {
  step::Task task = rank.graph.tasks[call.task];
  task.next = step::kNoTask;
  rank.graph.tasks.push_back(task);
  call.task = static_cast<TaskId>(rank.graph.tasks.size() - 1);
  call.kind = CollectiveKind::kAllGather;
  call.sequence = kFirstGather + step;
  call.bucket = -1;
  call.recorded->cost_ns = call.recorded->alone_ns = ns;
  call.recorded->overlaps = false;
  rank.graph.dependencies.push_back({last, call.task, 0});
  const TaskId next = rank.graph.tasks[last].next;
  if (next != step::kNoTask) {
    rank.graph.dependencies.push_back({call.task, next, 0});
  }
  rank.calls.push_back(call);
}

/// A binomial tree, from what the ring of an all-reduce takes at once and for the bytes.
double tree_broadcast_ns(double latency_ns, double ns, double ranks) {
  const double levels = std::ceil(std::log2(ranks));
  return levels * (latency_ns + ranks * ns) / (2 * (ranks - 1));
}

/// Nanoseconds to gather all weights that have gradients: as units at stage 2; as tensors at stage 1, which Gloo
/// broadcasts two at a time.
double gather_ns(const RecordedJob& job, int stage, step::Bound bound) {
  const TransferTime time = transfer_times(job, TransferAssumption::kTransfer)[CollectiveKind::kAllReduce];
  const auto bytes =
      static_cast<double>(std::accumulate(job.gradient_bytes.begin(), job.gradient_bytes.end(), std::uint64_t{0}));
  const auto ranks = static_cast<double>(job.ranks.size());
  const auto tensors = static_cast<double>(job.gradient_bytes.size());
  const auto units = static_cast<double>(job.bucket_gradients.size());
  const bool is_slow = bound == step::Bound::kPessimistic;
  if (!is_on_host(job)) {
    const double share = stage == 1 ? ring_broadcast_share(ranks) : kHalfRing.middle;
    return share * (time.latency_ns * (!is_slow ? 1 : stage == 1 ? tensors : units) + time.ns_per_byte * bytes);
  }
  if (stage > 1) {
    return at(kGlooGather, bound) * (time.latency_ns * units + time.ns_per_byte * bytes);
  }
  const double waits = is_slow ? tensors : bound == step::Bound::kMiddle ? tensors / 2 : 1;
  return tree_broadcast_ns(time.latency_ns * waits, time.ns_per_byte * bytes, ranks);
}

}  // namespace

double optimizer_share(const RecordedJob& job, int stage) {
  const auto ranks = static_cast<double>(job.ranks.size());
  return stage == 1 ? largest_share(job.gradient_bytes, ranks) : 1 / ranks;
}

base::Result<RecordedJob> with_sharding(RecordedJob job, int stage, step::Bound bound) {
  const bool waits = stage > 1 && is_on_host(job);
  if (waits) {
    auto behind = without_overlap(std::move(job));
    if (!behind) {
      return behind;
    }
    job = std::move(*behind);
  }
  const double reduced = at(waits ? kGlooScatter : kHalfRing, bound);
  const double gather = gather_ns(job, stage, bound);
  const double share = bound == step::Bound::kPessimistic ? 1 : optimizer_share(job, stage);
  for (std::size_t place = 0; place < job.ranks.size(); ++place) {
    EqualRanks& rank = job.ranks[place];
    const auto optimizer = optimizer_of(rank.graph);
    const auto last = last_of_steps(optimizer, job.step_ends[place]);
    rank.graph = step::scaled(std::move(rank.graph), optimizer, share);
    for (std::size_t step = 0; step < last.size(); ++step) {
      const auto& buckets = job.buckets[place][step].calls;
      if (last[step] == step::kNoTask || buckets.empty()) {
        return base::error("rank " + std::to_string(rank.ranks.front()) +
                           " has no optimizer or no buckets in a step, so that there is nothing to shard");
      }
      for (const std::size_t bucket : buckets) {
        if (stage < 2) {
          break;
        }
        rank.calls[bucket].recorded->cost_ns *= reduced;
        rank.calls[bucket].recorded->alone_ns *= reduced;
      }
      add_gather(rank, rank.calls[buckets.front()], step, last[step], gather);
    }
  }
  return job;
}

}  // namespace ridgeline::jobs
