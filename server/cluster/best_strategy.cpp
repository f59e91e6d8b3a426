#include "cluster/best_strategy.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "analysis/time/models.h"
#include "cluster/changed_step.h"
#include "cluster/data_parallel.h"
#include "cluster/fused_operations.h"
#include "cluster/job_changes.h"
#include "cluster/transfer_time.h"

namespace ridgeline::cluster {

namespace {

using graph::TaskId;

constexpr std::size_t kMostKeptTasks = 10'000'000;  ///< of the jobs of candidates, about 70 bytes each

bool is_of_thread(const graph::Task& task) { return task.resource == 0; }

/// How long the thread has worked at the end of each of its tasks, without waiting.
std::vector<std::int64_t> worked_ns(const graph::Graph& graph) {
  std::vector<std::int64_t> worked(graph.tasks.size());
  std::int64_t sum = 0;
  std::int64_t gap = 0;
  for (std::size_t task = 0; task < worked.size(); ++task) {
    if (!is_of_thread(graph.tasks[task])) continue;
    sum += gap + graph.tasks[task].duration_ns;
    gap = graph.tasks[task].gap_ns;
    worked[task] = sum;
  }
  return worked;
}

/// What the buckets' calls wait for, and what waits for them, of a rank.
struct Ends {
  std::unordered_map<TaskId, TaskId> host;
  std::unordered_map<TaskId, TaskId> last_result;
};

Ends ends_of(const EqualRanks& rank, const std::vector<RecordedBuckets>& steps) {
  std::set<TaskId> calls;
  for (const RecordedBuckets& step : steps) {
    for (const std::size_t call : step.calls) calls.insert(rank.calls[call].task);
  }
  Ends ends{callers(rank.graph), {}};
  for (const graph::Dependency& one : rank.graph.dependencies) {
    if (calls.contains(one.from) && is_of_thread(rank.graph.tasks[one.to])) {
      TaskId& last = ends.last_result.try_emplace(one.from, one.to).first->second;
      last = std::max(last, one.to);
    }
  }
  return ends;
}

double least_step_ns(const EqualRanks& rank, const RecordedBuckets& step, const Ends& ends,
                     const std::vector<std::int64_t>& worked, std::int64_t begin, TaskId end) {
  const auto until = [&](TaskId task) { return static_cast<double>(worked[task] - begin); };
  double over = 0;
  double least = until(end);
  for (const std::size_t place : step.calls) {
    const Call& call = rank.calls[place];
    over = std::max(over, until(ends.host.at(call.task))) + call.recorded->cost_ns;
    const auto result = ends.last_result.find(call.task);
    if (result == ends.last_result.end()) continue;
    const graph::Task& waits = rank.graph.tasks[result->second];
    least = std::max(least, over + until(end) - until(result->second) + static_cast<double>(waits.duration_ns));
  }
  return least;
}

struct Candidate {
  Strategy strategy;
  double least_ms = 0;
  std::optional<RecordedJob> job{};  ///< nothing where it would take too much memory until it is replayed
};

std::size_t tasks_of(const RecordedJob& job) {
  std::size_t tasks = 0;
  for (const EqualRanks& rank : job.ranks) tasks += rank.graph.tasks.size();
  return tasks;
}

class Search {
 public:
  Search(const RecordedJob& job, const StrategySpace& space) : job_(job), space_(space) {}

  base::Result<BestStrategy> run(const std::function<bool(std::size_t, std::size_t)>& go_on) {
    if (const auto problem = prepare()) return *problem;
    auto candidates = all_candidates();
    if (!candidates) return candidates.error();
    BestStrategy best;
    best.strategies = (space_.bucket_bytes.size() + 1) * (space_.compression.size() + 1) *
                      (space_.accumulate.size() + 1) * std::max<std::size_t>(1, space_.recompute.size()) *
                      (space_.fuse ? 2 : 1);
    double fastest_ms = 0;
    for (Candidate& candidate : *candidates) {
      if (!best.replayed.empty() && candidate.least_ms >= fastest_ms) break;
      best.is_complete = best.replayed.empty() || go_on(best.replayed.size(), candidates->size());
      if (!best.is_complete) break;
      const auto ms = add(std::move(candidate), best);
      if (!ms) return ms.error();
      fastest_ms = best.replayed.size() == 1 ? *ms : std::min(fastest_ms, *ms);
    }
    std::ranges::stable_sort(best.replayed, {}, [](const ReplayedStrategy& one) { return one.step.step_ms.value; });
    return best;
  }

 private:
  /// The job as it is, replayed, and what all strategies are made of: with fused operations the middle of what these
  /// may take, and both ends.
  std::optional<base::Error> prepare() {
    const auto as_recorded = with_recorded_buckets(job_);
    if (!as_recorded) return as_recorded.error();
    auto unchanged = replay(*as_recorded);
    if (!unchanged) return unchanged.error();
    unchanged_ = std::move(*unchanged);
    if (!space_.fuse) return std::nullopt;
    for (const double share : {0.5, 0.0, 1.0}) {
      auto fused = with_fused_operations(job_, share);
      if (!fused) return fused.error();
      fused_.push_back(std::move(*fused));
    }
    return std::nullopt;
  }

  /// `base`: job_, or one of fused_.
  static base::Result<RecordedJob> changed(const RecordedJob& base, const Strategy& strategy) {
    auto job = strategy.bucket_bytes.has_value() ? with_bucket_size(base, *strategy.bucket_bytes, Unsplit::kTransfer)
                                                 : with_recorded_buckets(base);
    if (job && strategy.compression != 1) {
      job = with_compression(std::move(*job), strategy.compression, Unsplit::kTransfer);
    }
    return job && !strategy.recompute.empty() ? with_recomputation(std::move(*job), strategy.recompute) : job;
  }

  const RecordedJob& likely() const { return fused_.empty() ? job_ : fused_.front(); }

  /// By their bounds.
  base::Result<std::vector<Candidate>> all_candidates() const {
    std::vector<Candidate> candidates;
    std::size_t kept = 0;
    for (Strategy& strategy : all_strategies()) {
      auto job = changed(likely(), strategy);
      if (!job) return job.error();
      Candidate& candidate = candidates.emplace_back(Candidate{std::move(strategy), least_step_ms(*job)});
      kept += tasks_of(*job);
      if (kept <= kMostKeptTasks) candidate.job = std::move(*job);
    }
    std::ranges::stable_sort(candidates, {}, &Candidate::least_ms);
    return candidates;
  }

  /// Bucket sizes that make the same buckets are one, the smallest.
  std::vector<Strategy> all_strategies() const {
    std::vector<Strategy> strategies = {{}};
    std::set<std::vector<std::size_t>> seen = {job_.bucket_gradients};
    std::vector<std::uint64_t> caps = space_.bucket_bytes;
    std::ranges::sort(caps);
    for (const std::uint64_t cap : caps) {
      if (seen.insert(bucket_sizes(job_.gradient_bytes, {cap, cap})).second) strategies.push_back({cap, 1, 1});
    }
    for (std::size_t i = 0, count = strategies.size(); i < count; ++i) {
      for (const double times : space_.compression) strategies.push_back({strategies[i].bucket_bytes, times, 1});
    }
    for (Strategy& strategy : strategies) strategy.fuse = space_.fuse;
    return space_.recompute.empty() ? strategies : with_each_recomputation(strategies);
  }

  std::vector<Strategy> with_each_recomputation(const std::vector<Strategy>& strategies) const {
    std::vector<Strategy> all;
    for (const Strategy& strategy : strategies) {
      for (const std::vector<std::string>& modules : space_.recompute) {
        all.push_back(strategy);
        all.back().recompute = modules;
      }
    }
    return all;
  }

  /// Replays it with the most micro-batches: whatever the buckets, these are the fastest for each, as no step that
  /// sends is shorter than one that does not. The step that sends, in ms.
  base::Result<double> add(Candidate candidate, BestStrategy& best) const {
    Strategy& strategy = candidate.strategy;
    for (const int count : space_.accumulate) strategy.accumulate = std::max(strategy.accumulate, count);
    std::vector<Replay> replays;
    double ms = 0;
    for (std::size_t i = 0; i < std::max<std::size_t>(1, fused_.size()); ++i) {
      auto job = i == 0 && candidate.job.has_value() ? base::Result<RecordedJob>(std::move(*candidate.job))
                                                     : changed(fused_.empty() ? job_ : fused_[i], strategy);
      if (!job) return job.error();
      auto replayed = replay(*job);
      if (!replayed) return replayed.error();
      if (i == 0) ms = median_step_ms(replayed->step_ns);
      replayed->step_ns = accumulated_ns(*job, *replayed, strategy.accumulate);
      replays.push_back(std::move(*replayed));
    }
    best.replayed.push_back({std::move(strategy), changed_step(job_, unchanged_, replays)});
    return ms;
  }

  const RecordedJob& job_;
  const StrategySpace& space_;
  Replay unchanged_;
  std::vector<RecordedJob> fused_;  ///< empty: operations are not fused
};

}  // namespace

std::vector<std::vector<std::int64_t>> accumulated_ns(const RecordedJob& job, const Replay& replay, int accumulate) {
  std::vector<std::vector<std::int64_t>> all = replay.step_ns;
  for (std::size_t step = 0; step < job.steps.size(); ++step) {
    std::int64_t silent = 0;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      const TaskId first = replay.graph.parts[rank].first;
      const std::int64_t end = replay.schedule.end[first + job.step_ends[rank][step]];
      const std::int64_t backward = replay.schedule.end[first + job.buckets[rank][step].ready.back()];
      silent = std::max(silent, replay.step_ns[rank][step] - (end - backward));
    }
    for (auto& rank : all) rank[step] = (silent * (accumulate - 1) + rank[step]) / accumulate;
  }
  return all;
}

double least_step_ms(const RecordedJob& job) {
  std::vector<double> all;
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    const std::vector<std::int64_t> worked = worked_ns(job.ranks[rank].graph);
    const Ends ends = ends_of(job.ranks[rank], job.buckets[rank]);
    std::int64_t begin = job.ranks[rank].graph.tasks.front().gap_ns;
    for (std::size_t step = 0; step < job.steps.size(); ++step) {
      const TaskId end = job.step_ends[rank][step];
      all.push_back(least_step_ns(job.ranks[rank], job.buckets[rank][step], ends, worked, begin, end) / 1e6);
      begin = worked[end];
    }
  }
  return analysis::median(all);
}

base::Result<BestStrategy> best_strategy(const RecordedJob& job, const StrategySpace& space,
                                         const std::function<bool(std::size_t done, std::size_t most)>& go_on) {
  const bool counts = std::ranges::all_of(space.accumulate, [](int count) { return count >= 1; });
  const bool times = std::ranges::all_of(space.compression, [](double one) { return one >= 1; });
  if (!counts || !times) return base::error("compression and counts of micro-batches are 1 or more");
  if (auto unknown = unknown_gradients(job)) return *unknown;
  auto recorded = transfer_times(job, Unsplit::kTransfer);
  if (!recorded[communication::Kind::kAllReduce].is_split) {
    return base::error(
        "its all-reduces have one size or were all on their way at once, which does not tell their latency from their "
        "transfer: name what `ridgeline network` measured with --network, or record the job with another "
        "bucket_cap_mb");
  }
  return Search(job, space).run(go_on);
}

}  // namespace ridgeline::cluster
