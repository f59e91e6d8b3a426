#include "jobs/predict/pipeline_step.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <unordered_map>

namespace ridgeline::jobs {

using step::Graph;
using step::TaskId;

namespace {

struct Work {
  bool forward = true;
  int micro_batch = 0;
};

/// What a stage runs, in its order. `behind`: stages after it.
std::vector<Work> order_of(int behind, int micro_batches, PipelineOrder order) {
  const int ahead = order == PipelineOrder::kAllForwardFirst ? micro_batches : std::min(behind, micro_batches);
  std::vector<Work> works;
  int backward = 0;
  for (int forward = 0; forward < micro_batches; ++forward) {
    works.push_back({true, forward});
    if (forward >= ahead) {
      works.push_back({false, backward++});
    }
  }
  while (backward < micro_batches) {
    works.push_back({false, backward++});
  }
  return works;
}

class PipelineBuilder {
 public:
  PipelineBuilder(const std::vector<StageTimes>& stages, const PipelineOptions& options)
      : stages_(stages),
        receiver_asks_(options.receiver_asks),
        forward_(stages.size(), std::vector(static_cast<std::size_t>(options.micro_batches), step::kNoTask)),
        backward_(forward_) {
    graph_.names = {"", "before forward", "forward", "backward", "optimizer", "transfer"};
    graph_.lines = {{}};
    graph_.modules = {""};
    graph_.operations = {{}};
    std::map<std::size_t, double> stages_on;
    for (const StageTimes& stage : stages) {
      ++stages_on[stage.machine];
    }
    for (const auto& [machine, count] : stages_on) {
      host_of_[machine] = resource("machine " + std::to_string(machine), step::Resource::Type::kHost);
      graph_.resources.back().shared_by = std::max(1.0, count / options.slow_down);
    }
  }

  void add_stage(std::size_t stage, const std::vector<Work>& works) {
    const StageTimes& times = stages_[stage];
    const std::uint16_t host = host_of_.at(times.machine);
    last_ = step::kNoTask;
    add_in_order(host, Name::kBeforeForward, times.before_ns);
    for (const Work& work : works) {
      const auto place = static_cast<std::size_t>(work.micro_batch);
      if (work.forward) {
        forward_[stage][place] = add_in_order(host, Name::kForward, times.forward_ns + sending_ns(stage));
        continue;
      }
      const double accumulate_ns = place > 0 ? times.accumulate_ns : 0;
      backward_[stage][place] =
          add_in_order(host, Name::kBackward, times.backward_ns + accumulate_ns + sending_ns(stage));
    }
    add_in_order(host, Name::kOptimizer, times.optimizer_ns);
  }

  Graph with_transfers() && {
    for (std::size_t stage = 0; stage + 1 < stages_.size(); ++stage) {
      transfers(forward_[stage], forward_[stage + 1], stages_[stage].transfer_ns);
      transfers(backward_[stage + 1], backward_[stage], stages_[stage].transfer_ns);
    }
    return std::move(graph_);
  }

 private:
  /// Indices into Graph::names.
  enum class Name : std::uint8_t { kBeforeForward = 1, kForward, kBackward, kOptimizer, kTransfer };

  /// Nanoseconds for the messages of each forward and each backward: it receives on one side and sends on the other.
  double sending_ns(std::size_t stage) const {
    const double before = stage > 0 ? stages_[stage - 1].sending_ns : 0;
    const double after = stage + 1 < stages_.size() ? stages_[stage].sending_ns : 0;
    return before + after;
  }

  std::uint16_t resource(std::string name, step::Resource::Type type) {
    graph_.resources.push_back({std::move(name), type});
    return static_cast<std::uint16_t>(graph_.resources.size() - 1);
  }

  TaskId add(std::uint16_t resource, Name name, double ns) {
    step::Task task;
    task.resource = resource;
    task.name = static_cast<std::uint32_t>(name);
    task.duration_ns = std::llround(ns);
    graph_.tasks.push_back(task);
    return static_cast<TaskId>(graph_.tasks.size() - 1);
  }

  TaskId add_in_order(std::uint16_t resource, Name name, double ns) {
    const TaskId task = add(resource, name, ns);
    if (last_ != step::kNoTask) {
      graph_.dependencies.push_back({last_, task});
      before_[task] = last_;
    }
    return last_ = task;
  }

  void transfers(const std::vector<TaskId>& from, const std::vector<TaskId>& to, double ns) {
    const auto link = resource("link", step::Resource::Type::kLink);
    for (std::size_t i = 0; i < from.size(); ++i) {
      const TaskId task = add(link, Name::kTransfer, ns);
      graph_.dependencies.push_back({from[i], task});
      if (receiver_asks_) {
        graph_.dependencies.push_back({before_.at(to[i]), task});
      }
      graph_.dependencies.push_back({task, to[i]});
    }
  }

  const std::vector<StageTimes>& stages_;
  bool receiver_asks_;
  Graph graph_;
  std::vector<std::vector<TaskId>> forward_;  ///< by stage and micro-batch
  std::vector<std::vector<TaskId>> backward_;
  std::map<std::size_t, std::uint16_t> host_of_;  ///< by machine
  std::unordered_map<TaskId, TaskId> before_;     ///< on the same rank
  TaskId last_ = step::kNoTask;
};

}  // namespace

Graph pipeline_step(const std::vector<StageTimes>& stages, const PipelineOptions& options) {
  PipelineBuilder builder(stages, options);
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    const int behind = static_cast<int>(stages.size() - 1 - stage);
    builder.add_stage(stage, order_of(behind, options.micro_batches, options.order));
  }
  return std::move(builder).with_transfers();
}

}  // namespace ridgeline::jobs
