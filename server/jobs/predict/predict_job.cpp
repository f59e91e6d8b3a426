#include "jobs/predict/predict_job.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "jobs/network/collective_times.h"
#include "jobs/predict/copies.h"
#include "jobs/predict/cores_of_ranks.h"
#include "jobs/predict/ddp_step.h"
#include "jobs/predict/job_limits.h"
#include "jobs/predict/module_paths.h"
#include "jobs/predict/predict_pipeline.h"
#include "jobs/predict/ready_gradients.h"
#include "jobs/predict/sharded_collectives.h"
#include "jobs/predict/sharded_memory.h"
#include "jobs/predict/sharded_units.h"
#include "step/changes/prediction_error.h"
#include "step/graph/changes.h"
#include "step/simulate/simulate.h"

namespace ridgeline::jobs {

using analysis::JobPrediction;
using analysis::PredictedBucket;
using analysis::PredictedTraining;
using step::Graph;
using step::TaskId;

namespace {

constexpr double kNsPerMs = 1e6;
constexpr std::int64_t kMostStages = 256;
/// The share of a device that a running collective takes: 16 of the 80 multiprocessors of a V100 (Tianshu, section 5).
constexpr double kDeviceShare = 16.0 / 80;

double ms(std::int64_t ns) { return static_cast<double>(ns) / kNsPerMs; }

double at(const analysis::Measured& range, Bound bound) {
  return bound == Bound::kMiddle ? range.value : bound == Bound::kFast ? range.low : range.high;
}

/// Nanoseconds of a collective that remain when the next one starts.
double tail_of(const CollectiveTime& time, Bound bound) {
  return std::max(0.0, at(time.ns, bound) - at(time.next_ns, bound));
}

Graph scaled_times(Graph graph, double by) {
  const auto scale = [&](std::int64_t& ns) { ns = std::llround(static_cast<double>(ns) * by); };
  for (step::Task& task : graph.tasks) {
    scale(task.duration_ns);
    scale(task.gap_ns);
  }
  for (step::Dependency& dependency : graph.dependencies) {
    scale(dependency.lag_ns);
  }
  return graph;
}

/// By rank, in their order; machines are counted.
std::vector<std::size_t> machine_of_rank(const Cluster& cluster) {
  std::vector<std::size_t> machine_of;
  std::size_t first = 0;
  for (const Placed& placed : cluster.placement) {
    const auto each = static_cast<std::int64_t>(std::max(1, cluster.machines[placed.machines].ranks));
    for (std::int64_t rank = 0; rank < placed.ranks; ++rank) {
      machine_of.push_back(first + static_cast<std::size_t>(rank / each));
    }
    first += static_cast<std::size_t>((placed.ranks + each - 1) / each);
  }
  return machine_of;
}

class Predictor {
 public:
  Predictor(const OneProcess& process, const Cluster& cluster, CollectiveTimes times)
      : process_(process), cluster_(cluster), times_(std::move(times)) {}

  base::Result<JobPrediction> run(const std::vector<TrainingRequest>& requests,
                                  const std::vector<PipelineRequest>& pipelines) {
    if (const auto wrong = prepare()) {
      return *wrong;
    }
    JobPrediction job =
        about_job(std::ranges::any_of(requests, [](const auto& one) { return one.sharding > 0; }), !pipelines.empty());
    for (const TrainingRequest& request : requests) {
      auto training = predict(request);
      if (!training) {
        return training.error();
      }
      job.trainings.push_back(std::move(*training));
    }
    for (const PipelineRequest& request : pipelines) {
      if (const auto wrong = add_pipelines(request, job)) {
        return *wrong;
      }
    }
    return job;
  }

 private:
  std::optional<base::Error> prepare() {
    const auto& gradients = process_.replica.gradients;
    if (auto wrong = unmodelled_gradients(gradients)) {
      return wrong;
    }
    auto hosts = accumulations(process_.graph, gradients.size());
    if (!hosts) {
      return hosts.error();
    }
    hosts_ = std::move(*hosts);
    auto schedule = step::simulate(process_.graph);
    if (!schedule) {
      return schedule.error();
    }
    if (schedule->total_ns <= 0) {
      return base::error("the recorded step takes no time");
    }
    alone_ns_ = static_cast<double>(schedule->total_ns);
    for (TaskId id = 0; id < process_.graph.tasks.size(); ++id) {
      const step::Task& task = process_.graph.tasks[id];
      const bool on_host = process_.graph.resources[task.resource].type == step::Resource::Type::kHost;
      if (task.phase != analysis::Phase::kForward || on_host != process_.on_host) {
        continue;
      }
      forward_ns_ += static_cast<double>(schedule->end[id] - schedule->start[id]);
    }
    std::vector<TaskId> ready = hosts_;
    if (!process_.on_host) {
      ready = last_launched(process_.graph, *schedule, hosts_);
    }
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      gradients_.push_back({ready[i] == step::kNoTask ? hosts_[i] : ready[i], gradients[i].bytes});
      gradient_bytes_ += gradients[i].bytes;
    }
    note_forward(*schedule);
    slow_ = slow_down(process_.replica, static_cast<double>(cluster_.ranks()));
    const auto cores = cores_of_ranks(process_, cluster_);
    if (!cores) {
      return cores.error();
    }
    cores_ = *cores;
    return std::nullopt;
  }

  /// When forward begins with each module, as a share of the time until the first gradient.
  void note_forward(const step::Schedule& schedule) {
    const auto first_gradient = static_cast<double>(schedule.end[gradients_.front().ready]);
    for (TaskId id = 0; id < process_.graph.tasks.size(); ++id) {
      const step::Task& task = process_.graph.tasks[id];
      if (task.phase != analysis::Phase::kForward || task.module == 0 || first_gradient <= 0) {
        continue;
      }
      const double begin = static_cast<double>(schedule.start[id]) / first_gradient;
      const std::string& name = process_.graph.modules[task.module];
      const auto [at, is_first] = forward_begin_.try_emplace(path_in_model(name), begin);
      if (!is_first) {
        at->second = std::min(at->second, begin);
      }
    }
  }

  JobPrediction about_job(bool shards, bool pipelines) const {
    JobPrediction job;
    job.ranks = cluster_.ranks();
    std::set<std::size_t> used;
    for (const Placed& placed : cluster_.placement) {
      if (used.insert(placed.machines).second) {
        job.machines += cluster_.machines[placed.machines].count;
      }
    }
    job.batch_size = process_.batch_size;
    job.step_ms = process_.step_ms;
    job.peak_bytes = process_.peak_bytes;
    job.collectives_measured = times_.is_measured();
    job.gradient_bytes = gradient_bytes_;
    if (slow_.has_value()) {
      job.slow_down = slow_->middle;
    }
    const JobBasis basis{process_, cluster_, times_, cores_, slow_.has_value(), shards, pipelines};
    job.not_modelled = not_modelled(basis);
    job.warnings = warnings(basis);
    return job;
  }

  Communication cost_of(const CollectiveTime& time, Bound bound) const {
    // A thread more than its core's share only holds up one of several threads of operations, at best.
    const double threads = bound == Bound::kFast ? std::max(1, process_.threads) : 1;
    const bool counts = cores_.cores == Cores::kShared;
    return {at(time.ns, bound), counts ? std::min(time.processor_ns, time.ns.value) / threads : 0};
  }

  ShardedCollectives collectives_of(const TrainingRequest& request) const {
    return {times_, static_cast<double>(cluster_.ranks()), request.sharding, process_.on_host};
  }

  /// Bytes of the tensors that have gradients.
  std::vector<std::uint64_t> tensors() const {
    std::vector<std::uint64_t> bytes;
    for (const Gradient& gradient : gradients_) {
      bytes.push_back(gradient.bytes);
    }
    return bytes;
  }

  /// How many gradients each bucket has; from stage 2 on each unit.
  std::vector<std::size_t> buckets_of(const TrainingRequest& request) const {
    BucketRule rule;
    if (request.bucket_bytes.has_value()) {
      rule = {*request.bucket_bytes, *request.bucket_bytes};
    }
    return request.sharding < 2 ? bucket_sizes(tensors(), rule) : unit_sizes(process_.replica.gradients, rule);
  }

  /// What is gathered at once: units, or at stage 1 tensors.
  std::vector<std::uint64_t> gathered(const TrainingRequest& request) const {
    return request.sharding < 2 ? tensors() : unit_bytes(tensors(), buckets_of(request));
  }

  /// What the step waits for of the gathers that are not beside reductions. On devices forward hides what the links
  /// need no longer for than itself, but for the first unit, and nothing at the slow end. Stages 1 and 2 gather behind
  /// the optimizer. On hosts FSDP waits for each unit.
  Communication exposed_gather(const TrainingRequest& request, Bound bound) const {
    const ShardedCollectives collectives = collectives_of(request);
    const std::vector<std::uint64_t> pieces = gathered(request);
    const Communication once = cost_of(collectives.gather(pieces), bound);
    if (!collectives.overlap()) {
      return {collectives.gathers() * once.ns, collectives.gathers() * once.processor_ns};
    }
    if (request.sharding < 3 || bound == Bound::kSlow) {
      return once;
    }
    const double first = once.ns / static_cast<double>(std::max<std::size_t>(1, pieces.size()));
    return {std::max(first, once.ns - scale(bound) * forward_ns_), once.processor_ns};
  }

  DdpOptions options_for(const TrainingRequest& request, Bound bound) const {
    DdpOptions options;
    const ShardedCollectives collectives = collectives_of(request);
    options.bucket_gradients = buckets_of(request);
    options.overlap = request.overlap && collectives.overlap();
    options.before_forward_ns = process_.replica.ddp_forward_ns.value_or(0);
    options.copies_ns = process_.replica.ddp_backward_ns.value_or(0);
    // FSDP copies the weights of each unit that was gathered: as DistributedDataParallel does gradients, or not at all.
    if (!collectives.overlap() && bound != Bound::kFast) {
      options.before_forward_ns += collectives.gathers() * options.copies_ns;
    }
    options.shares_core = cores_.cores == Cores::kShared;
    options.all_reduce = [this, collectives, bound](double bytes) {
      const CollectiveTime time = collectives.reduction(bytes);
      Communication cost = cost_of(time, bound);
      cost.tail_ns = tail_of(time, bound);
      return cost;
    };
    if (cluster_.ranks() > 1) {
      for (const auto& [dtype, bytes] : process_.replica.buffers) {
        options.broadcasts.push_back(cost_of(times_.broadcast(static_cast<double>(bytes)), bound));
      }
    }
    if (request.sharding > 0) {
      options.broadcasts.push_back(exposed_gather(request, bound));
    }
    return options;
  }

  /// The step of one process, with its share of the optimizer; at the slow end all of it, as small steps are not
  /// shorter.
  Graph graph_for(const TrainingRequest& request, Bound bound) const {
    Graph graph = scaled_times(process_.graph, scale(bound));
    if (request.sharding == 0 || bound == Bound::kSlow) {
      return graph;
    }
    const step::Selection optimizer = step::select_phase(graph, analysis::Phase::kOptimizer);
    const auto ranks = static_cast<double>(cluster_.ranks());
    return step::scaled(std::move(graph), optimizer,
                        request.sharding == 1 ? largest_share(tensors(), ranks) : 1 / ranks);
  }

  /// The measured step over the simulated one, of the slowest rank.
  double scale(Bound bound) const { return slow_at(bound) * at(process_.step_ms, bound) * kNsPerMs / alone_ns_; }

  double slow_at(Bound bound) const {
    const SlowDown slow = slow_.value_or(SlowDown{});
    return at(analysis::Measured{slow.middle, slow.low, slow.high}, bound);
  }

  class Costs final : public PipelineCosts {
   public:
    explicit Costs(const Predictor& predictor) : predictor_(predictor) {}
    double scale(Bound bound) const override { return predictor_.scale(bound) / predictor_.slow_at(bound); }
    double slow_down(Bound bound) const override { return predictor_.slow_at(bound); }
    PipelineTransfer transfer(double bytes, Bound bound) const override {
      const Communication cost = predictor_.cost_of(predictor_.times_.step(bytes), bound);
      return {cost.ns, cost.processor_ns};
    }

   private:
    const Predictor& predictor_;
  };

  /// In both orders.
  std::optional<base::Error> add_pipelines(const PipelineRequest& request, JobPrediction& job) const {
    if (cluster_.ranks() > kMostStages) {
      return base::error("a pipeline of " + std::to_string(cluster_.ranks()) + " stages: at most " +
                         std::to_string(kMostStages) + " are predicted");
    }
    const Costs costs(*this);
    for (const bool forward_first : {false, true}) {
      auto pipeline = predict_pipeline({.graph = process_.graph,
                                        .replica = process_.replica,
                                        .costs = costs,
                                        .on_host = process_.on_host,
                                        .micro_batches = request.micro_batches,
                                        .forward_first = forward_first,
                                        .batch_size = process_.batch_size,
                                        .alone_ms = process_.step_ms.value,
                                        .machine_of_stage = machine_of_rank(cluster_)});
      if (!pipeline) {
        return pipeline.error();
      }
      job.pipelines.push_back(std::move(*pipeline));
    }
    return std::nullopt;
  }

  struct Simulated {
    DdpStep step;
    step::Schedule schedule;
    double ms = 0;
  };

  base::Result<Simulated> simulate_at(const TrainingRequest& request, Bound bound) const {
    auto step = ddp_step(graph_for(request, bound), gradients_, hosts_, options_for(request, bound));
    if (!step) {
      return step.error();
    }
    auto schedule = step::simulate(step->graph);
    if (!schedule) {
      return schedule.error();
    }
    const double ms = static_cast<double>(schedule->total_ns) / kNsPerMs;
    return Simulated{std::move(*step), std::move(*schedule), ms};
  }

  base::Result<PredictedTraining> predict(const TrainingRequest& request) const {
    const auto middle = simulate_at(request, Bound::kMiddle);
    if (!middle) {
      return middle.error();
    }
    const auto fast = simulate_at(request, Bound::kFast);
    if (!fast) {
      return fast.error();
    }
    const auto slow = simulate_at(request, Bound::kSlow);
    if (!slow) {
      return slow.error();
    }
    PredictedTraining training;
    training.bucket_bytes = request.bucket_bytes;
    training.overlap = request.overlap;
    training.sharding = request.sharding;
    training.compute_ms = scale(Bound::kMiddle) * alone_ns_ / kNsPerMs;
    const double added = std::abs(middle->ms - process_.step_ms.value);
    const double error = std::hypot(step::kLeastError * middle->ms, step::kSystematicShare * added);
    training.step_ms = {middle->ms, std::max(0.0, std::min(fast->ms, middle->ms) - error),
                        std::max(slow->ms, middle->ms) + error};
    describe(*middle, request, training);
    const double hidden_ms = std::max(0.0, training.communication_ms - training.exposed_ms);
    if (!process_.on_host) {
      training.step_ms.high += kDeviceShare * hidden_ms;
    }
    return training;
  }

  void describe(const Simulated& simulated, const TrainingRequest& request, PredictedTraining& training) const {
    const auto ranks = static_cast<double>(cluster_.ranks());
    training.samples_per_s = ranks * process_.batch_size / simulated.ms * 1e3;
    training.efficiency = process_.step_ms.value / simulated.ms;
    const DdpOptions options = options_for(request, Bound::kMiddle);
    training.ddp_ms = (options.before_forward_ns + options.copies_ns) / kNsPerMs;
    const auto duration = [&](TaskId id) {
      return static_cast<double>(simulated.step.graph.tasks[id].duration_ns) / kNsPerMs;
    };
    for (const TaskId id : simulated.step.broadcasts) {
      training.buffers_ms += duration(id);
    }
    training.exposed_ms = training.communication_ms = training.buffers_ms;
    if (request.sharding > 0) {
      training.buffers_ms -= duration(simulated.step.broadcasts.back());
      const ShardedCollectives collectives = collectives_of(request);
      const double once = collectives.gather(gathered(request)).ns.value / kNsPerMs;
      training.gathers_ms = collectives.gathers() * once;
      training.communication_ms =
          training.buffers_ms + (collectives.gathers() - collectives.gathers_in_backward()) * once;
    }
    if (const auto peak = peak_of(simulated, request)) {
      training.peak_bytes = peak->high;
      training.least_peak_bytes = peak->low;
    }
    for (const auto& broadcast : options.broadcasts) {
      training.processor_ms += broadcast.processor_ns / kNsPerMs;
    }
    std::size_t next = 0;
    for (const DdpStep::Bucket& bucket : simulated.step.buckets) {
      const bool is_last = &bucket == &simulated.step.buckets.back();
      training.buckets.push_back(describe(simulated, bucket, next, is_last));
      training.communication_ms += duration(bucket.task) + (is_last ? ms(bucket.tail_ns) : 0);
      training.exposed_ms += training.buckets.back().exposed_ms;
      training.processor_ms += options.all_reduce(static_cast<double>(bucket.bytes)).processor_ns / kNsPerMs;
      next += bucket.gradients;
    }
  }

  std::optional<ShardedPeak> peak_of(const Simulated& simulated, const TrainingRequest& request) const {
    if (!process_.peak_bytes.has_value()) {
      return std::nullopt;
    }
    const std::uint64_t with_buckets = *process_.peak_bytes + gradient_bytes_;
    if (request.sharding == 0) {
      return ShardedPeak{with_buckets, with_buckets};
    }
    if (process_.memory == nullptr) {
      return std::nullopt;
    }
    const auto ranks = static_cast<double>(cluster_.ranks());
    return sharded_peak(*process_.memory, {.stage = request.sharding,
                                           .ranks = ranks,
                                           .gradient_bytes = gradient_bytes_,
                                           .units = units(simulated.step.buckets),
                                           .state_share = largest_share(tensors(), ranks),
                                           .has_copies = process_.on_host});
  }

  /// Forward needs a unit from the first task of its modules on.
  std::vector<ShardedUnit> units(const std::vector<DdpStep::Bucket>& buckets) const {
    std::vector<ShardedUnit> units;
    std::size_t gradient = 0;
    for (const DdpStep::Bucket& bucket : buckets) {
      ShardedUnit& unit = units.emplace_back();
      unit.bytes = bucket.bytes;
      for (std::size_t i = 0; i < bucket.gradients; ++i, ++gradient) {
        const auto begin = forward_begin_.find(module_of(process_.replica.gradients[gradient].name));
        if (begin == forward_begin_.end()) {
          continue;
        }
        unit.forward_begin = std::min(begin->second, unit.forward_begin.value_or(begin->second));
      }
    }
    return units;
  }

  /// Describes a bucket. Unless it is the last, its exposed time ends when the next bucket takes over the link.
  PredictedBucket describe(const Simulated& simulated, const DdpStep::Bucket& bucket, std::size_t first,
                           bool is_last) const {
    const auto& names = process_.replica.gradients;
    const step::Schedule& schedule = simulated.schedule;
    PredictedBucket described;
    described.bytes = bucket.bytes;
    described.gradients = bucket.gradients;
    described.first = names[first].name;
    described.last = names[first + bucket.gradients - 1].name;
    described.line = process_.graph.lines[process_.graph.tasks[bucket.ready].line];
    described.ready_ms = ms(schedule.end[gradients_[first + bucket.gradients - 1].ready]);
    described.start_ms = ms(schedule.start[bucket.task]);
    described.end_ms = ms(schedule.end[bucket.task] + bucket.tail_ns);
    const std::int64_t waits_from =
        std::max(schedule.start[bucket.task],
                 process_.on_host ? schedule.end[simulated.step.backward_over] : schedule.end[gradients_.back().ready]);
    const std::int64_t end = schedule.end[bucket.task] + (is_last ? bucket.tail_ns : 0);
    described.exposed_ms = ms(std::max<std::int64_t>(0, end - waits_from));
    return described;
  }

  const OneProcess& process_;
  const Cluster& cluster_;
  CollectiveTimes times_;
  std::vector<TaskId> hosts_;  ///< by gradient
  std::vector<Gradient> gradients_;
  std::uint64_t gradient_bytes_ = 0;
  std::map<std::string, double> forward_begin_;  ///< by module
  double alone_ns_ = 0;                          ///< simulated
  double forward_ns_ = 0;                        ///< of its tasks, likewise
  std::optional<SlowDown> slow_;
  CoresOfRanks cores_;
};

}  // namespace

base::Result<JobPrediction> predict_job(const OneProcess& process, const Cluster& cluster,
                                        const std::vector<TrainingRequest>& requests,
                                        const std::vector<PipelineRequest>& pipelines) {
  auto times = CollectiveTimes::of(cluster);
  if (!times) {
    return times.error();
  }
  return Predictor(process, cluster, std::move(*times)).run(requests, pipelines);
}

}  // namespace ridgeline::jobs
