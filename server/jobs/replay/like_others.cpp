#include "jobs/replay/like_others.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/time/models.h"

namespace ridgeline::jobs {

namespace {

constexpr double kLeastSlower = 0.03;
constexpr double kLeastSlowerOfFewSteps = 0.10;
constexpr std::size_t kFewSteps = 6;
constexpr double kClearSteps = 0.75;

/// Step, operation, file, line and module.
using WorkKey = std::tuple<std::size_t, std::string, std::string, std::uint32_t, std::string>;
using RankWork = std::map<WorkKey, double>;

/// Kind and bytes of each call.
using CallOrder = std::vector<std::pair<CollectiveKind, double>>;

CallOrder call_order_of(const EqualRanks& rank) {
  CallOrder role;
  for (const Call& call : rank.calls) {
    role.emplace_back(call.kind, call.bytes);
  }
  return role;
}

/// For each rank, the places of those that do the same, with its own.
std::vector<std::vector<std::size_t>> same_roles(const RecordedJob& job) {
  std::map<CallOrder, std::vector<std::size_t>> by_role;
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    by_role[call_order_of(job.ranks[i])].push_back(i);
  }
  std::vector<std::vector<std::size_t>> same(job.ranks.size());
  for (const auto& [role, places] : by_role) {
    for (const std::size_t place : places) {
      same[place] = places;
    }
  }
  return same;
}

/// What the rank's tasks are, but for those that stand for collectives: nothing of them is its own work.
class OwnWork {
 public:
  OwnWork(const RecordedJob& job, std::size_t place)
      : rank_(job.ranks[place]), ends_(job.step_ends[place]), is_call_(rank_.graph.tasks.size()) {
    for (const Call& call : rank_.calls) {
      is_call_[call.task] = true;
    }
  }

  template <typename Visit>
  void visit(Visit visit) const {
    for (step::TaskId id = 0; id < rank_.graph.tasks.size(); ++id) {
      if (!is_call_[id] && rank_.graph.tasks[id].duration_ns > 0) {
        visit(id, key_of(id));
      }
    }
  }

  RankWork sums() const {
    RankWork sums;
    visit([&](step::TaskId id, WorkKey key) {
      sums[std::move(key)] += static_cast<double>(rank_.graph.tasks[id].duration_ns);
    });
    return sums;
  }

 private:
  WorkKey key_of(step::TaskId id) const {
    const step::Task& task = rank_.graph.tasks[id];
    const auto step = static_cast<std::size_t>(std::ranges::lower_bound(ends_, id) - ends_.begin());
    const analysis::Location& line = rank_.graph.lines[task.line];
    return {step, rank_.graph.names[task.name], line.file, line.line, rank_.graph.modules[task.module]};
  }

  const EqualRanks& rank_;
  const std::vector<step::TaskId>& ends_;
  std::vector<bool> is_call_;
};

/// The median of the work with this key over the ranks at `places`, nanoseconds; a rank without such work counts as 0.
double median_work(const std::vector<RankWork>& work, const std::vector<std::size_t>& places, const WorkKey& key) {
  std::vector<double> ns;
  for (const std::size_t place : places) {
    const auto found = work[place].find(key);
    ns.push_back(found == work[place].end() ? 0 : found->second);
  }
  return analysis::median(ns);
}

std::vector<RankWork> works_of(const RecordedJob& job) {
  std::vector<RankWork> work;
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    work.push_back(OwnWork(job, i).sums());
  }
  return work;
}

/// The tasks of the rank at `place` as those of the ranks at `others`, in the median.
void make_alike(RecordedJob& job, std::size_t place, const std::vector<std::size_t>& others,
                const std::vector<RankWork>& work) {
  std::map<WorkKey, double> factors;
  for (const auto& [key, ns] : work[place]) {
    factors[key] = median_work(work, others, key) / ns;
  }
  std::vector<std::pair<step::TaskId, double>> scaled;
  OwnWork(job, place).visit([&](step::TaskId id, const WorkKey& key) { scaled.emplace_back(id, factors.at(key)); });
  for (const auto& [id, factor] : scaled) {
    std::int64_t& ns = job.ranks[place].graph.tasks[id].duration_ns;
    ns = static_cast<std::int64_t>(static_cast<double>(ns) * factor + 0.5);
  }
}

std::vector<std::size_t> places_without(std::vector<std::size_t> places, std::size_t place) {
  std::erase(places, place);
  return places;
}

/// By step.
std::vector<double> step_work(const RankWork& work, std::size_t steps) {
  std::vector<double> ns(steps);
  for (const auto& [key, one] : work) {
    if (std::get<0>(key) < steps) {
      ns[std::get<0>(key)] += one;
    }
  }
  return ns;
}

}  // namespace

base::Result<RecordedJob> with_ranks_like_median(RecordedJob job) {
  const auto same = same_roles(job);
  const std::vector<RankWork> work = works_of(job);
  bool any = false;
  for (std::size_t place = 0; place < same.size(); ++place) {
    if (same[place].size() < 2) {
      continue;
    }
    any = true;
    make_alike(job, place, same[place], work);
  }
  if (!any) {
    return base::error("no two of its ranks call the same collectives");
  }
  return job;
}

base::Result<RecordedJob> with_rank_like_others(RecordedJob job, int rank) {
  const auto found = std::ranges::find_if(job.ranks, [&](const EqualRanks& one) { return one.ranks.front() == rank; });
  if (found == job.ranks.end()) {
    return base::error("no rank " + std::to_string(rank) + " was recorded");
  }
  const auto place = static_cast<std::size_t>(found - job.ranks.begin());
  const std::vector<std::size_t> others = places_without(same_roles(job)[place], place);
  if (others.empty()) {
    return base::error("no other rank calls the same collectives");
  }
  make_alike(job, place, others, works_of(job));
  return job;
}

std::optional<analysis::SlowerRank> slowest_rank(const RecordedJob& job) {
  const auto same = same_roles(job);
  const std::size_t count = job.steps.size();
  std::vector<std::vector<double>> own;
  for (const RankWork& work : works_of(job)) {
    own.push_back(step_work(work, count));
  }
  const double least = count < kFewSteps ? kLeastSlowerOfFewSteps : kLeastSlower;
  std::optional<analysis::SlowerRank> slowest;
  for (std::size_t place = 0; place < own.size(); ++place) {
    const std::vector<std::size_t> others = places_without(same[place], place);
    if (others.empty()) {
      continue;
    }
    std::vector<double> slower;
    for (std::size_t step = 0; step < count; ++step) {
      std::vector<double> ns;
      for (const std::size_t other : others) {
        ns.push_back(own[other][step]);
      }
      const double usual = analysis::median(ns);
      slower.push_back(usual > 0 ? own[place][step] / usual - 1 : 0);
    }
    const auto clear = std::ranges::count_if(slower, [&](double one) { return one >= least; });
    if (slower.empty() || static_cast<double>(clear) < kClearSteps * static_cast<double>(slower.size())) {
      continue;
    }
    const double by = analysis::median(slower);
    if (!slowest || by > slowest->slower) {
      slowest = analysis::SlowerRank{job.ranks[place].ranks.front(), by};
    }
  }
  return slowest;
}

}  // namespace ridgeline::jobs
