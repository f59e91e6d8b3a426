#include "jobs/optimize/strategy_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "analysis/time/models.h"
#include "jobs/optimize/changed_step.h"
#include "jobs/optimize/fused_operations.h"
#include "jobs/optimize/job_changes.h"
#include "jobs/optimize/own_change.h"
#include "jobs/optimize/sharded_step.h"
#include "jobs/optimize/transfer_time.h"
#include "jobs/replay/data_parallel.h"

namespace ridgeline::jobs {

namespace {

using step::Bound;
using step::TaskId;

constexpr std::array kBounds = {Bound::kMiddle, Bound::kOptimistic, Bound::kPessimistic};

constexpr std::size_t kMostKeptTasks = 10'000'000;  ///< of the jobs of candidates, about 70 bytes each

bool is_of_thread(const step::Task& task) { return task.resource == 0; }

/// How long the thread has worked at the end of each of its tasks, without waiting.
std::vector<std::int64_t> worked_ns(const step::Graph& graph) {
  std::vector<std::int64_t> worked(graph.tasks.size());
  std::int64_t sum = 0;
  std::int64_t gap = 0;
  for (std::size_t task = 0; task < worked.size(); ++task) {
    if (!is_of_thread(graph.tasks[task])) {
      continue;
    }
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
    for (const std::size_t call : step.calls) {
      calls.insert(rank.calls[call].task);
    }
  }
  Ends ends{callers(rank.graph), {}};
  for (const step::Dependency& one : rank.graph.dependencies) {
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
    if (result == ends.last_result.end()) {
      continue;
    }
    const step::Task& waits = rank.graph.tasks[result->second];
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
  for (const EqualRanks& rank : job.ranks) {
    tasks += rank.graph.tasks.size();
  }
  return tasks;
}

/// Whether its times are those of a guess: then it has both ends, too.
bool is_guessed(const Strategy& strategy) {
  return strategy.fuse || strategy.sharding > 0 || strategy.accumulate > 1 || !strategy.own.empty();
}

/// What collectives took of the cores of the ranks. Two threads that share one have half of it each.
double core_share(const RecordedJob& job, Bound bound) {
  constexpr double kMost = 0.5;
  return bound == Bound::kOptimistic ? kMost : bound == Bound::kMiddle ? std::min(kMost, job.core_share) : 0;
}

/// The share of what fused operations took besides the longest.
double fused_share(Bound bound) { return bound == Bound::kMiddle ? 0.5 : bound == Bound::kOptimistic ? 0 : 1; }

/// All strategies of a space, before bounds prune it. Bucket sizes that make the same buckets are one, the smallest.
class Strategies {
 public:
  Strategies(const RecordedJob& job, const StrategySpace& space) : job_(job), space_(space) {}

  std::vector<Strategy> all() const {
    const std::vector<Strategy> sized = with_each_size();
    std::vector<Strategy> strategies = with_each_recomputation(with_each_compression(sized));
    for (const int stage : space_.sharding) {
      for (const Strategy& one : sized) {
        strategies.push_back(one);
        strategies.back().sharding = stage;
      }
    }
    for (Strategy& strategy : strategies) {
      strategy.fuse = space_.fuse;
      strategy.accumulate = most_micro_batches(strategy);
    }
    strategies = with_own_changes(std::move(strategies));
    if (space_.fits) {
      std::erase_if(strategies, [&](const Strategy& one) { return !space_.fits(one); });
    }
    return strategies;
  }

  /// The number of strategies in the space, including those that bounds and facts prune.
  std::size_t count() const {
    const std::size_t sizes = space_.bucket_bytes.size() + 1;
    const std::size_t counts = space_.accumulate.size() + 1;
    std::size_t plain = sizes * (space_.compression.size() + 1) * counts;
    plain *= std::max<std::size_t>(1, space_.recompute.size());
    for (const int stage : space_.sharding) {
      plain += sizes * (stage == 1 ? counts : 1);
    }
    return plain * (space_.fuse ? 2 : 1) * (subsets().size() + 1);
  }

 private:
  std::vector<Strategy> with_each_size() const {
    std::vector<Strategy> strategies = {{}};
    std::set<std::vector<std::size_t>> seen = {job_.bucket_gradients};
    std::vector<std::uint64_t> caps = space_.bucket_bytes;
    std::ranges::sort(caps);
    for (const std::uint64_t cap : caps) {
      if (seen.insert(bucket_sizes(job_.gradient_bytes, {cap, cap})).second) {
        strategies.push_back({cap, 1, 1});
      }
    }
    return strategies;
  }

  std::vector<Strategy> with_each_compression(std::vector<Strategy> strategies) const {
    for (std::size_t i = 0, count = strategies.size(); i < count; ++i) {
      for (const double times : space_.compression) {
        strategies.push_back({strategies[i].bucket_bytes, times, 1});
      }
    }
    return strategies;
  }

  std::vector<Strategy> with_each_recomputation(std::vector<Strategy> strategies) const {
    if (space_.recompute.empty()) {
      return strategies;
    }
    std::vector<Strategy> all;
    for (const Strategy& strategy : strategies) {
      for (const std::vector<std::string>& modules : space_.recompute) {
        all.push_back(strategy);
        all.back().recompute = modules;
      }
    }
    return all;
  }

  /// The most micro-batches are the fastest, whatever the buckets, as no step that sends is shorter than one that does
  /// not.
  int most_micro_batches(const Strategy& strategy) const {
    int most = 1;
    for (const int count : space_.accumulate) {
      most = std::max(most, strategy.sharding < 2 ? count : 1);
    }
    return most;
  }

  /// The subsets of the user's changes to try: each change alone, and all together where there are several.
  std::vector<std::vector<std::size_t>> subsets() const {
    std::vector<std::vector<std::size_t>> found;
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < space_.own.size(); ++i) {
      found.push_back({i});
      all.push_back(i);
    }
    if (all.size() > 1) {
      found.push_back(std::move(all));
    }
    return found;
  }

  std::vector<Strategy> with_own_changes(std::vector<Strategy> strategies) const {
    const std::size_t count = strategies.size();
    for (const std::vector<std::size_t>& subset : subsets()) {
      for (std::size_t i = 0; i < count; ++i) {
        strategies.push_back(strategies[i]);
        strategies.back().own = subset;
      }
    }
    return strategies;
  }

  const RecordedJob& job_;
  const StrategySpace& space_;
};

struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// By rank: its collectives, each from when all ranks have called it. By their begins.
std::vector<std::vector<Span>> on_the_way(const Replay& replay) {
  std::vector<std::vector<Span>> all(replay.graph.parts.size());
  for (const JobGraph::Collective& one : replay.graph.collectives) {
    std::int64_t begin = 0;
    for (const TaskId start : one.starts) {
      begin = std::max(begin, replay.schedule.end[start]);
    }
    for (std::size_t i = 0; i < one.parts.size(); ++i) {
      all[one.parts[i]].push_back({begin, replay.schedule.end[one.ends[i]]});
    }
  }
  for (std::vector<Span>& spans : all) {
    std::ranges::sort(spans, {}, &Span::begin);
  }
  return all;
}

/// Nanoseconds between `begin` and `end` during which at least one of the collectives was under way.
std::int64_t ns_on_the_way(const std::vector<Span>& spans, std::int64_t begin, std::int64_t end) {
  std::int64_t sum = 0;
  std::int64_t counted = begin;
  for (const Span& span : spans) {
    const std::int64_t until = std::min(span.end, end);
    if (until <= counted) {
      continue;
    }
    sum += std::max<std::int64_t>(0, until - std::max(counted, span.begin));
    counted = until;
  }
  return sum;
}

class Search {
 public:
  Search(const RecordedJob& job, const StrategySpace& space) : job_(job), space_(space) {}

  base::Result<BestStrategy> run(base::FunctionRef<bool(std::size_t, std::size_t)> go_on) {
    if (const auto problem = prepare()) {
      return *problem;
    }
    auto candidates = all_candidates();
    if (!candidates) {
      return candidates.error();
    }
    BestStrategy best;
    best.strategies = Strategies(job_, space_).count();
    const int most = space_.accumulate.empty() ? 1 : std::max(1, std::ranges::max(space_.accumulate));
    double fastest_ms = std::numeric_limits<double>::infinity();
    for (Candidate& candidate : *candidates) {
      if (candidate.least_ms >= fastest_ms) {
        break;
      }
      best.is_complete = best.replayed.empty() || go_on(best.replayed.size(), candidates->size());
      if (!best.is_complete) {
        break;
      }
      // With fewer micro-batches than others may have, it is no bound for them.
      const bool bounds_others = candidate.strategy.accumulate == most;
      const auto ms = add(std::move(candidate), best);
      if (!ms) {
        return ms.error();
      }
      if (bounds_others) {
        fastest_ms = std::min(fastest_ms, *ms);
      }
    }
    std::ranges::stable_sort(best.replayed, {}, [](const ReplayedStrategy& one) { return one.step.step_ms.value; });
    return best;
  }

 private:
  /// The job as it is, replayed, and with fused operations where strategies are to have them.
  std::optional<base::Error> prepare() {
    const auto as_recorded = with_recorded_buckets(job_);
    if (!as_recorded) {
      return as_recorded.error();
    }
    auto unchanged = replay(*as_recorded);
    if (!unchanged) {
      return unchanged.error();
    }
    unchanged_ = std::move(*unchanged);
    if (!space_.fuse) {
      return std::nullopt;
    }
    for (const Bound bound : kBounds) {
      auto fused = with_fused_operations(job_, fused_share(bound));
      if (!fused) {
        return fused.error();
      }
      fused_.emplace(bound, std::move(*fused));
    }
    return std::nullopt;
  }

  /// The user's changes come last: they are given the tasks of the strategy.
  base::Result<RecordedJob> changed(const Strategy& strategy, Bound bound) const {
    const RecordedJob& base = strategy.fuse ? fused_.at(bound) : job_;
    auto job = strategy.bucket_bytes.has_value()
                   ? with_bucket_size(base, *strategy.bucket_bytes, TransferAssumption::kTransfer)
                   : with_recorded_buckets(base);
    if (job && strategy.compression != 1) {
      job = with_compression(std::move(*job), strategy.compression, TransferAssumption::kTransfer);
    }
    if (job && !strategy.recompute.empty()) {
      job = with_recomputation(std::move(*job), strategy.recompute);
    }
    if (job && strategy.sharding > 0) {
      job = with_sharding(std::move(*job), strategy.sharding, bound);
    }
    for (const std::size_t own : strategy.own) {
      if (job) {
        job = with_own_change(std::move(*job), space_.own[own], bound);
      }
    }
    return job;
  }

  /// By their bounds.
  base::Result<std::vector<Candidate>> all_candidates() const {
    std::vector<Candidate> candidates;
    std::size_t kept = 0;
    for (Strategy& strategy : Strategies(job_, space_).all()) {
      auto job = changed(strategy, Bound::kMiddle);
      if (!job) {
        return job.error();
      }
      Candidate& candidate = candidates.emplace_back(Candidate{std::move(strategy), least_step_ms(*job)});
      kept += tasks_of(*job);
      if (kept <= kMostKeptTasks) {
        candidate.job = std::move(*job);
      }
    }
    std::ranges::stable_sort(candidates, {}, &Candidate::least_ms);
    return candidates;
  }

  /// Replays it. The step that sends, in ms.
  base::Result<double> add(Candidate candidate, BestStrategy& best) const {
    const Strategy& strategy = candidate.strategy;
    std::vector<Replay> replays;
    double ms = 0;
    for (const Bound bound : kBounds) {
      const bool is_middle = bound == Bound::kMiddle;
      if (!is_middle && !is_guessed(strategy)) {
        continue;
      }
      auto job = is_middle && candidate.job.has_value() ? base::Result<RecordedJob>(std::move(*candidate.job))
                                                        : changed(strategy, bound);
      if (!job) {
        return job.error();
      }
      auto replayed = replay(*job);
      if (!replayed) {
        return replayed.error();
      }
      if (is_middle) {
        ms = median_step_ms(replayed->step_ns);
      }
      replayed->step_ns = accumulated_ns(*job, *replayed, strategy.accumulate, core_share(job_, bound));
      replays.push_back(std::move(*replayed));
    }
    best.replayed.push_back({std::move(candidate.strategy), changed_step(job_, unchanged_, replays)});
    return ms;
  }

  const RecordedJob& job_;
  const StrategySpace& space_;
  Replay unchanged_;
  std::map<Bound, RecordedJob> fused_;  ///< empty: operations are not fused
};

}  // namespace

std::vector<std::vector<std::int64_t>> accumulated_ns(const RecordedJob& job, const Replay& replay, int accumulate,
                                                      double core_share) {
  std::vector<std::vector<std::int64_t>> all = replay.step_ns;
  const std::vector<std::vector<Span>> sending = on_the_way(replay);
  for (std::size_t step = 0; step < job.steps.size(); ++step) {
    std::int64_t silent = 0;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      const TaskId first = replay.graph.parts[rank].first;
      const std::int64_t end = replay.schedule.end[first + job.step_ends[rank][step]];
      const std::int64_t backward = replay.schedule.end[first + job.buckets[rank][step].ready.back()];
      const auto until_backward = replay.step_ns[rank][step] - (end - backward);
      const auto sent = static_cast<double>(ns_on_the_way(sending[rank], backward - until_backward, backward));
      silent = std::max<std::int64_t>(silent, until_backward - std::llround(core_share * sent));
    }
    for (auto& rank : all) {
      rank[step] = (silent * (accumulate - 1) + rank[step]) / accumulate;
    }
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
                                         base::FunctionRef<bool(std::size_t done, std::size_t most)> go_on) {
  const bool counts = std::ranges::all_of(space.accumulate, [](int count) { return count >= 1; });
  const bool times = std::ranges::all_of(space.compression, [](double one) { return one >= 1; });
  if (!counts || !times) {
    return base::error("compression and counts of micro-batches are 1 or more");
  }
  const bool stages = std::ranges::all_of(space.sharding, [](int stage) { return stage == 1 || stage == 2; });
  if (!stages) {
    return base::error("the stages of ZeRO that are searched are 1 and 2");
  }
  if (auto unknown = unknown_gradients(job)) {
    return *unknown;
  }
  auto recorded = transfer_times(job, TransferAssumption::kTransfer);
  if (!recorded[CollectiveKind::kAllReduce].is_split) {
    return base::error(
        "its all-reduces have one size or were all on their way at once, which does not tell their latency from their "
        "transfer: name what `ridgeline job network` measured with --network, or record the job with another "
        "bucket_cap_mb");
  }
  return Search(job, space).run(go_on);
}

}  // namespace ridgeline::jobs
