#include "jobs/predict/predict_pipeline.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "jobs/predict/pipeline_stages.h"
#include "jobs/predict/pipeline_step.h"
#include "step/changes/prediction_error.h"
#include "step/simulate/simulate.h"

namespace ridgeline::jobs {

namespace {

constexpr double kPerMs = 1e6;  // nanoseconds

std::vector<StageTimes> times_of(const PipelineProcess& process, const StepParts& step,
                                 const std::vector<PipelineStage>& stages, Bound bound) {
  double weights = 0;
  for (const PipelineStage& stage : stages) {
    weights += static_cast<double>(stage.weight_bytes);
  }
  const double scale = process.costs.scale(bound);
  const double accumulate = bound == Bound::kFast ? 0 : process.replica.accumulate_ns.value_or(0);
  std::vector<StageTimes> times;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const PipelineStage& stage = stages[i];
    const double share = weights > 0 ? static_cast<double>(stage.weight_bytes) / weights : 1;
    StageTimes& one = times.emplace_back();
    one.machine = process.machine_of_stage[i];
    one.before_ns = scale * step.before_ns;
    one.forward_ns = scale * stage.forward_ns;
    one.backward_ns = scale * stage.backward_ns;
    one.accumulate_ns = share * accumulate;
    one.optimizer_ns = scale * (bound == Bound::kSlow ? 1 : share) * step.optimizer_ns;
    if (stage.output_bytes == 0) {
      continue;
    }
    const PipelineTransfer transfer = process.costs.transfer(static_cast<double>(stage.output_bytes), bound);
    one.transfer_ns = transfer.ns;
    one.sending_ns = bound == Bound::kSlow ? transfer.ns : transfer.processor_ns;
  }
  return times;
}

struct Run {
  double ms = 0;
  double busy_ms = 0;  ///< of all stages
};

base::Result<Run> run(const PipelineProcess& process, const std::vector<StageTimes>& stages, Bound bound) {
  const step::Graph graph = pipeline_step(
      stages, {.micro_batches = process.micro_batches,
               .order = process.forward_first ? PipelineOrder::kAllForwardFirst : PipelineOrder::kOneForwardOneBackward,
               .slow_down = process.costs.slow_down(bound),
               .receiver_asks = process.on_host && bound == Bound::kSlow});
  const auto schedule = step::simulate(graph);
  if (!schedule) {
    return schedule.error();
  }
  Run run{static_cast<double>(schedule->total_ns) / kPerMs};
  for (step::TaskId id = 0; id < graph.tasks.size(); ++id) {
    if (graph.resources[graph.tasks[id].resource].type != step::Resource::Type::kHost) {
      continue;
    }
    run.busy_ms += static_cast<double>(schedule->end[id] - schedule->start[id]) / kPerMs;
  }
  return run;
}

std::vector<analysis::PredictedStage> described(const PipelineProcess& process,
                                                const std::vector<PipelineStage>& stages) {
  const double ms = process.costs.scale(Bound::kMiddle) / kPerMs;
  std::vector<analysis::PredictedStage> all;
  for (const PipelineStage& stage : stages) {
    all.push_back({process.replica.chain[stage.first].path, process.replica.chain[stage.last].path,
                   stage.forward_ns * ms, stage.backward_ns * ms, stage.weight_bytes, stage.output_bytes});
  }
  return all;
}

}  // namespace

base::Result<analysis::PredictedPipeline> predict_pipeline(const PipelineProcess& process) {
  const auto schedule = step::simulate(process.graph);
  if (!schedule) {
    return schedule.error();
  }
  const auto step = parts_of_step(process.graph, *schedule, process.on_host, process.replica);
  if (!step) {
    return step.error();
  }
  const auto stages = balanced_stages(*step, process.replica.chain, process.machine_of_stage.size());
  if (!stages) {
    return stages.error();
  }
  const auto at = [&](Bound bound) { return run(process, times_of(process, *step, *stages, bound), bound); };
  const auto middle = at(Bound::kMiddle);
  const auto fast = at(Bound::kFast);
  const auto slow = at(Bound::kSlow);
  if (!middle || !fast || !slow) {
    return !middle ? middle.error() : !fast ? fast.error() : slow.error();
  }
  const auto ranks = static_cast<double>(stages->size());
  const double shared_out_ms = process.micro_batches * process.alone_ms / ranks;
  const double added = std::abs(middle->ms - shared_out_ms);
  const double error = std::hypot(step::kLeastError * middle->ms, step::kSystematicShare * added);
  analysis::PredictedPipeline pipeline;
  pipeline.micro_batches = process.micro_batches;
  pipeline.forward_first = process.forward_first;
  pipeline.step_ms = {middle->ms, std::max(0.0, std::min(fast->ms, middle->ms) - error),
                      std::max(slow->ms, middle->ms) + error};
  pipeline.samples_per_s = process.micro_batches * process.batch_size / middle->ms * 1e3;
  pipeline.efficiency = shared_out_ms / middle->ms;
  pipeline.idle = std::max(0.0, 1 - middle->busy_ms / (ranks * middle->ms));
  pipeline.stages = described(process, *stages);
  return pipeline;
}

}  // namespace ridgeline::jobs
