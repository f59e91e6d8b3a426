#include "jobs/optimize/rebucket.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "analysis/time/models.h"

namespace ridgeline::jobs {

namespace {

using step::Dependency;
using step::Graph;
using step::kNoTask;
using step::TaskId;

constexpr std::uint64_t kFirstSequence = std::uint64_t{1} << 62U;
constexpr std::uint64_t kMostBuckets = std::uint64_t{1} << 20U;  // of a step

/// One rank of the job.
class Rebucketing {
 public:
  Rebucketing(EqualRanks& rank, std::vector<RecordedBuckets>& steps) : rank_(rank), steps_(steps) {
    for (std::size_t step = 0; step < steps.size(); ++step) {
      old_.emplace_back(steps[step].calls.size());
      for (std::size_t place = 0; place < steps[step].calls.size(); ++place) {
        const Call& call = rank.calls[steps[step].calls[place]];
        old_[step][place] = {call.bytes, call.recorded->alone_ns, kNoTask, {}};
        place_of_[call.task] = {step, place};
      }
    }
    before_.resize(steps.size());
    after_.resize(steps.size());
    detach();
  }

  const std::vector<OldBucket>& old(std::size_t step) const { return old_[step]; }

  void add(std::size_t step, const std::vector<NewBucket>& buckets) {
    const Call like = rank_.calls[steps_[step].calls.front()];
    TaskId last = kNoTask;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      const NewBucket& bucket = buckets[i];
      Call call = like;
      call.task = add_task(like.task);
      call.sequence = kFirstSequence + step * kMostBuckets + i;
      call.bytes = bucket.bytes;
      call.bucket = static_cast<int>(i);
      call.recorded->cost_ns = call.recorded->alone_ns = bucket.cost_ns;
      call.recorded->overlaps = false;
      depend(bucket.host, call.task, lag(host_lags_));
      if (last != kNoTask) {
        depend(last, call.task, lag(chain_lags_));
      }
      for (const TaskId result : bucket.results) {
        const TaskId waits = result > bucket.host ? result : rank_.graph.tasks[bucket.host].next;
        if (waits != kNoTask) {
          depend(call.task, waits, 0);
        }
      }
      for (const Dependency& one : before_[step]) {
        if (i == 0) {
          depend(one.from, call.task, one.lag_ns);
        }
      }
      last = call.task;
      added_[step].push_back(call);
    }
    for (const Dependency& one : after_[step]) {
      depend(last, one.to, one.lag_ns);
    }
  }

  /// The calls of all steps: those that were none of buckets, and the new ones.
  void finish() {
    std::vector<Call> calls;
    for (const Call& call : rank_.calls) {
      if (!place_of_.contains(call.task)) {
        calls.push_back(call);
      }
    }
    for (const auto& [task, place] : place_of_) {
      rank_.graph.tasks[task].kind = step::Kind::kMark;  // nothing is there
    }
    for (auto& [step, added] : added_) {
      steps_[step].calls.clear();
      for (const Call& call : added) {
        steps_[step].calls.push_back(calls.size());
        calls.push_back(call);
      }
    }
    rank_.calls = std::move(calls);
  }

 private:
  /// Takes the recorded buckets out of the graph, and keeps what they depended on and what depended on them.
  void detach() {
    std::vector<Dependency> kept;
    for (const Dependency& one : rank_.graph.dependencies) {
      const auto from = place_of_.find(one.from);
      const auto to = place_of_.find(one.to);
      if (from == place_of_.end() && to == place_of_.end()) {
        kept.push_back(one);
      } else if (from != place_of_.end() && to != place_of_.end()) {
        chain_lags_.push_back(static_cast<double>(one.lag_ns));
        chained_.insert(one.to);
      } else if (to != place_of_.end()) {
        detach_before(one, to->second);
      } else if (is_thread(one.to)) {
        old_[from->second.first][from->second.second].results.push_back(one.to);
      } else {
        after_[from->second.first].push_back(one);
      }
    }
    for (const auto& [task, ns] : lags_) {
      if (!chained_.contains(task)) {
        host_lags_.push_back(ns);
      }
    }
    rank_.graph.dependencies = std::move(kept);
  }

  void detach_before(const Dependency& one, std::pair<std::size_t, std::size_t> place) {
    if (!is_thread(one.from)) {
      before_[place.first].push_back(one);
      chained_.insert(one.to);
      return;
    }
    old_[place.first][place.second].host = one.from;
    lags_[one.to] = static_cast<double>(one.lag_ns);
  }

  bool is_thread(TaskId task) const { return rank_.graph.tasks[task].resource == 0; }

  static std::int64_t lag(const std::vector<double>& lags) { return std::llround(analysis::median(lags)); }

  TaskId add_task(TaskId like) {
    step::Task task = rank_.graph.tasks[like];
    task.next = kNoTask;
    rank_.graph.tasks.push_back(task);
    return static_cast<TaskId>(rank_.graph.tasks.size() - 1);
  }

  void depend(TaskId from, TaskId to, std::int64_t lag_ns) { rank_.graph.dependencies.push_back({from, to, lag_ns}); }

  EqualRanks& rank_;
  std::vector<RecordedBuckets>& steps_;
  std::vector<std::vector<OldBucket>> old_;                         ///< by step
  std::map<TaskId, std::pair<std::size_t, std::size_t>> place_of_;  ///< of old calls: step and place
  std::vector<std::vector<Dependency>> before_;                     ///< by step: on other collectives
  std::vector<std::vector<Dependency>> after_;                      ///< by step: of other collectives
  std::map<TaskId, double> lags_;
  std::set<TaskId> chained_;
  std::vector<double> host_lags_;
  std::vector<double> chain_lags_;
  std::map<std::size_t, std::vector<Call>> added_;  ///< by step
};

bool has_buckets(const RecordedJob& job) {
  for (const auto& steps : job.buckets) {
    for (const RecordedBuckets& step : steps) {
      if (step.calls.empty()) {
        return false;
      }
    }
  }
  return !job.buckets.empty();
}

}  // namespace

base::Result<RecordedJob> rebucketed(RecordedJob job, BucketPlan plan) {
  if (!has_buckets(job)) {
    return base::error("not all of its recorded steps have all-reduces of DistributedDataParallel's buckets");
  }
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    Rebucketing one(job.ranks[rank], job.buckets[rank]);
    for (std::size_t step = 0; step < job.buckets[rank].size(); ++step) {
      one.add(step, plan(rank, step, one.old(step)));
    }
    one.finish();
  }
  return job;
}

}  // namespace ridgeline::jobs
