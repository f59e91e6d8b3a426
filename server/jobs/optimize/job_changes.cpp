#include "jobs/optimize/job_changes.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "jobs/optimize/rebucket.h"
#include "jobs/replay/data_parallel.h"
#include "step/graph/changes.h"

namespace ridgeline::jobs {

namespace {

bool takes_time(const step::Graph& graph, const step::Selection& tasks) {
  for (const step::TaskId id : tasks) {
    if (graph.tasks[id].duration_ns > 0) {
      return true;
    }
  }
  return false;
}

/// Scales what the calls take as if their bytes were a `times`-th.
void scale_transfer(RecordedJob& job, double times, TransferAssumption assumption, bool only_buckets) {
  const auto known = transfer_times(job, assumption);
  for (EqualRanks& rank : job.ranks) {
    for (Call& call : rank.calls) {
      const auto time = known.find(call.kind);
      if (!call.recorded.has_value() || time == known.end() || (only_buckets && call.bucket < 0)) {
        continue;
      }
      const double ratio = time->second.at(call.bytes / times) / time->second.at(call.bytes);
      call.recorded->cost_ns *= ratio;
      call.recorded->alone_ns *= ratio;
    }
  }
}

/// Those that the buckets are of: of several backward passes the last one's.
step::TaskId ready_task(const RecordedBuckets& step, std::size_t gradient, std::size_t count) {
  return step.ready[step.ready.size() - count + gradient];
}

/// Whether the rank communicates in forward of these tasks.
bool is_in_forward(const EqualRanks& rank, const step::Selection& tasks,
                   const std::unordered_map<step::TaskId, step::TaskId>& hosts) {
  return std::ranges::any_of(rank.calls, [&](const Call& call) {
    const auto host = hosts.find(call.task);
    return host != hosts.end() && rank.graph.tasks[host->second].phase == analysis::Phase::kForward &&
           std::ranges::binary_search(tasks, host->second);
  });
}

/// In each step, the first task of backward also takes what those of forward took. False: a step lacks either. Tasks of
/// the thread ascend.
bool run_forward_again(step::Graph& graph, const step::Selection& tasks, const std::vector<step::TaskId>& ends) {
  auto task = tasks.begin();
  for (const step::TaskId end : ends) {
    std::int64_t forward_ns = 0;
    step::TaskId first = step::kNoTask;
    for (; task != tasks.end() && *task <= end; ++task) {
      const step::Task& one = graph.tasks[*task];
      if (one.phase == analysis::Phase::kForward) {
        forward_ns += one.duration_ns;
      }
      if (one.phase == analysis::Phase::kBackward && first == step::kNoTask) {
        first = *task;
      }
    }
    if (first == step::kNoTask || forward_ns == 0) {
      return false;
    }
    graph.tasks[first].duration_ns += forward_ns;
  }
  return true;
}

/// Whether each bucket was called with its last gradient, before the next one was ready. Tasks of the thread ascend.
bool are_in_order(const RecordedJob& job, const EqualRanks& rank, const RecordedBuckets& step,
                  const std::unordered_map<step::TaskId, step::TaskId>& hosts) {
  const std::size_t count = job.gradient_bytes.size();
  std::size_t end = 0;
  for (std::size_t i = 0; i < step.calls.size(); ++i) {
    end += job.bucket_gradients[i];
    const step::TaskId host = hosts.at(rank.calls[step.calls[i]].task);
    if (end >= 2 && host < ready_task(step, end - 2, count)) {
      return false;
    }
    if (end < count && host >= ready_task(step, end, count)) {
      return false;
    }
  }
  return true;
}

class BucketSizes {
 public:
  BucketSizes(const RecordedJob& job, std::vector<std::size_t> sizes, TransferAssumption assumption)
      : bytes_(job.gradient_bytes),
        old_sizes_(job.bucket_gradients),
        steps_(job.buckets),
        sizes_(std::move(sizes)),
        time_(transfer_times(job, assumption)[CollectiveKind::kAllReduce]) {}

  std::vector<NewBucket> plan(std::size_t rank, std::size_t step, const std::vector<OldBucket>& old) const {
    double recorded = 0;
    double expected = 0;
    for (const OldBucket& one : old) {
      recorded += one.alone_ns;
      expected += time_.at(one.bytes);
    }
    const double by = expected > 0 ? recorded / expected : 1;
    std::vector<NewBucket> buckets;
    std::size_t first = 0;
    for (const std::size_t size : sizes_) {
      NewBucket bucket;
      for (std::size_t i = first; i < first + size; ++i) {
        bucket.bytes += static_cast<double>(bytes_[i]);
      }
      bucket.cost_ns = by * time_.at(bucket.bytes);
      bucket.host = ready_task(steps_[rank][step], first + size - 1, bytes_.size());
      keep_recorded(bucket, old, first, first + size);
      bucket.results = results_of(old, first, first + size);
      buckets.push_back(std::move(bucket));
      first += size;
    }
    return buckets;
  }

 private:
  /// A recorded bucket takes what it took, and one that ends with the same gradient was called where it was.
  void keep_recorded(NewBucket& bucket, const std::vector<OldBucket>& old, std::size_t begin, std::size_t end) const {
    std::size_t first = 0;
    for (std::size_t i = 0; i < old.size(); ++i) {
      const std::size_t last = first + old_sizes_[i];
      if (last == end) {
        bucket.host = old[i].host;
      }
      if (last == end && first == begin) {
        bucket.cost_ns = old[i].alone_ns;
      }
      first = last;
    }
  }

  /// The results of the recorded buckets that share gradients with the range from `begin` to before `end`.
  std::vector<step::TaskId> results_of(const std::vector<OldBucket>& old, std::size_t begin, std::size_t end) const {
    std::vector<step::TaskId> results;
    std::size_t first = 0;
    for (std::size_t i = 0; i < old.size(); ++i) {
      const std::size_t last = first + old_sizes_[i];
      if (first < end && begin < last) {
        results.insert(results.end(), old[i].results.begin(), old[i].results.end());
      }
      first = last;
    }
    return results;
  }

  std::vector<std::uint64_t> bytes_;
  std::vector<std::size_t> old_sizes_;
  std::vector<std::vector<RecordedBuckets>> steps_;
  std::vector<std::size_t> sizes_;
  TransferTime time_;
};

}  // namespace

base::Result<RecordedJob> with_faster_line(RecordedJob job, const analysis::Location& line, double times) {
  bool is_anywhere = false;
  for (EqualRanks& rank : job.ranks) {
    const step::Selection tasks = step::select_line(rank.graph, line);
    is_anywhere = is_anywhere || takes_time(rank.graph, tasks);
    rank.graph = step::scaled(std::move(rank.graph), tasks, 1 / times);
  }
  if (!is_anywhere) {
    return base::error("no rank spends time at " + line.file + ":" + std::to_string(line.line));
  }
  return job;
}

base::Result<RecordedJob> with_faster_rank(RecordedJob job, int rank, double times) {
  for (EqualRanks& one : job.ranks) {
    if (one.ranks.front() != rank) {
      continue;
    }
    const step::Selection all = step::select(one.graph, [](const step::Task&) { return true; });
    one.graph = step::scaled(std::move(one.graph), all, 1 / times);
    return job;
  }
  return base::error("no rank " + std::to_string(rank) + " was recorded");
}

base::Result<RecordedJob> with_faster_communication(RecordedJob job, double times) {
  bool is_any = false;
  for (EqualRanks& rank : job.ranks) {
    for (Call& call : rank.calls) {
      if (!call.recorded.has_value()) {
        continue;
      }
      call.recorded->cost_ns /= times;
      is_any = true;
    }
  }
  if (!is_any) {
    return base::error("its ranks did not communicate");
  }
  return job;
}

base::Result<RecordedJob> with_bandwidth(RecordedJob job, double times, TransferAssumption assumption) {
  if (transfer_times(job, assumption).empty()) {
    return base::error("its ranks did not communicate");
  }
  scale_transfer(job, times, assumption, false);
  return job;
}

base::Result<RecordedJob> with_compression(RecordedJob job, double times, TransferAssumption assumption) {
  const bool has_any = std::ranges::any_of(job.ranks, [](const EqualRanks& rank) {
    return std::ranges::any_of(rank.calls, [](const Call& call) { return call.bucket >= 0; });
  });
  if (!has_any) {
    return base::error("it has no buckets of DistributedDataParallel");
  }
  scale_transfer(job, times, assumption, true);
  return job;
}

base::Result<RecordedJob> with_recomputation(RecordedJob job, const std::vector<std::string>& modules) {
  for (std::size_t place = 0; place < job.ranks.size(); ++place) {
    EqualRanks& rank = job.ranks[place];
    const auto hosts = callers(rank.graph);
    for (const std::string& module : modules) {
      const step::Selection tasks = step::select_module(rank.graph, module);
      if (is_in_forward(rank, tasks, hosts)) {
        return base::error(module + " communicates in forward");
      }
      if (!run_forward_again(rank.graph, tasks, job.step_ends[place])) {
        return base::error("rank " + std::to_string(rank.ranks.front()) + " did not run forward and backward of " +
                           module + " in each step");
      }
    }
  }
  return job;
}

base::Result<RecordedJob> with_recorded_buckets(RecordedJob job) {
  return rebucketed(std::move(job), [](std::size_t, std::size_t, const std::vector<OldBucket>& old) {
    std::vector<NewBucket> buckets;
    for (const OldBucket& one : old) {
      buckets.push_back({one.bytes, one.alone_ns, one.host, one.results});
    }
    return buckets;
  });
}

base::Result<RecordedJob> with_bucket_order(RecordedJob job, const std::vector<std::size_t>& order) {
  std::vector<std::size_t> sorted = order;
  std::ranges::sort(sorted);
  for (const auto& steps : job.buckets) {
    for (const RecordedBuckets& step : steps) {
      bool is_order = sorted.size() == step.calls.size();
      for (std::size_t i = 0; i < sorted.size(); ++i) {
        is_order = is_order && sorted[i] == i;
      }
      if (!is_order) {
        return base::error("an order has each of the " + std::to_string(step.calls.size()) +
                           " buckets of a step once, from 0");
      }
    }
  }
  auto changed = rebucketed(std::move(job), [&](std::size_t, std::size_t, const std::vector<OldBucket>& old) {
    std::vector<NewBucket> buckets;
    step::TaskId host = 0;
    for (const std::size_t place : order) {
      const OldBucket& one = old[place];
      host = std::max(host, one.host);
      buckets.push_back({one.bytes, one.alone_ns, host, one.results});
    }
    return buckets;
  });
  if (!changed) {
    return changed;
  }
  changed->gradient_bytes.clear();  // they are in the order of the recorded buckets
  changed->bucket_gradients.clear();
  return changed;
}

base::Result<RecordedJob> with_partition(RecordedJob job, int parts, TransferAssumption assumption) {
  const TransferTime time = transfer_times(job, assumption)[CollectiveKind::kAllReduce];
  auto changed = rebucketed(std::move(job), [&](std::size_t, std::size_t, const std::vector<OldBucket>& old) {
    std::vector<NewBucket> buckets;
    for (const OldBucket& one : old) {
      const double whole = time.at(one.bytes);
      const double ns = whole > 0 ? one.alone_ns * time.at(one.bytes / parts) / whole : one.alone_ns / parts;
      for (int part = 0; part < parts; ++part) {
        buckets.push_back({one.bytes / parts, ns, one.host, one.results});
      }
    }
    return buckets;
  });
  if (!changed) {
    return changed;
  }
  changed->gradient_bytes.clear();  // a part has no whole gradients
  changed->bucket_gradients.clear();
  return changed;
}

base::Result<RecordedJob> without_overlap(RecordedJob job) {
  return rebucketed(std::move(job), [](std::size_t, std::size_t, const std::vector<OldBucket>& old) {
    std::vector<NewBucket> buckets;
    for (const OldBucket& one : old) {
      buckets.push_back({one.bytes, one.alone_ns, old.back().host, one.results});
    }
    return buckets;
  });
}

std::optional<base::Error> unknown_gradients(const RecordedJob& job) {
  const std::size_t count = job.gradient_bytes.size();
  if (count == 0) {
    return base::error("its file has no sizes of gradients: record the job again");
  }
  for (std::size_t rank = 0; rank < job.buckets.size(); ++rank) {
    const auto hosts = callers(job.ranks[rank].graph);
    for (const RecordedBuckets& step : job.buckets[rank]) {
      const std::string who = "rank " + std::to_string(job.ranks[rank].ranks.front());
      if (step.calls.size() != job.bucket_gradients.size()) {
        return base::error(who + " did not reduce each of its buckets once in each step");
      }
      if (step.ready.size() < count || step.ready.size() % count != 0) {
        return base::error(who + " accumulated " + std::to_string(step.ready.size()) +
                           " gradients in a step, and its buckets have " + std::to_string(count) +
                           ": when they were ready is not known");
      }
      if (!are_in_order(job, job.ranks[rank], step, hosts)) {
        return base::error(who + " did not have its gradients ready in the order of the buckets");
      }
    }
  }
  return std::nullopt;
}

base::Result<RecordedJob> with_bucket_size(RecordedJob job, std::uint64_t bytes, TransferAssumption assumption) {
  if (auto unknown = unknown_gradients(job)) {
    return *unknown;
  }
  const std::vector<std::size_t> sizes = bucket_sizes(job.gradient_bytes, {bytes, bytes});
  const BucketSizes planner(job, sizes, assumption);
  auto changed = rebucketed(std::move(job), [&](std::size_t rank, std::size_t step, const std::vector<OldBucket>& old) {
    return planner.plan(rank, step, old);
  });
  if (changed) {
    changed->bucket_gradients = sizes;
  }
  return changed;
}

}  // namespace ridgeline::jobs
