#include "jobs/predict/pipeline_stages.h"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>

#include "jobs/predict/module_paths.h"

namespace ridgeline::jobs {

using protocol::ChainModule;
using step::TaskId;

namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

/// By task's module: which of the chain it is in; the chain's size: none.
std::vector<std::size_t> places(const step::Graph& graph, const std::vector<ChainModule>& chain) {
  std::vector<std::size_t> place_of(graph.modules.size(), chain.size());
  for (std::size_t module = 1; module < graph.modules.size(); ++module) {
    const std::string path = path_in_model(graph.modules[module]);
    const auto at = std::ranges::find_if(chain, [&](const ChainModule& one) { return is_inside(path, one.path); });
    place_of[module] = static_cast<std::size_t>(at - chain.begin());
  }
  return place_of;
}

/// When forward and backward of each module of the chain begin; kNone: it has no task.
struct Begins {
  std::vector<double> forward;
  std::vector<double> backward;
  double all_forward = kNone;
  double all_backward = kNone;
  double backward_end = 0;
};

Begins begins_of(const step::Graph& graph, const step::Schedule& schedule, bool on_host,
                 const std::vector<ChainModule>& chain) {
  const std::vector<std::size_t> place_of = places(graph, chain);
  Begins begins{std::vector(chain.size(), kNone), std::vector(chain.size(), kNone)};
  for (TaskId id = 0; id < graph.tasks.size(); ++id) {
    const step::Task& task = graph.tasks[id];
    const auto type = graph.resources[task.resource].type;
    if (type != (on_host ? step::Resource::Type::kHost : step::Resource::Type::kDevice)) {
      continue;
    }
    const bool forward = task.phase == analysis::Phase::kForward;
    if (!forward && task.phase != analysis::Phase::kBackward) {
      continue;
    }
    const auto start = static_cast<double>(schedule.start[id]);
    double& all = forward ? begins.all_forward : begins.all_backward;
    all = std::min(all, start);
    if (!forward) {
      begins.backward_end = std::max(begins.backward_end, static_cast<double>(schedule.end[id]));
    }
    if (place_of[task.module] == chain.size()) {
      continue;
    }
    double& begin = (forward ? begins.forward : begins.backward)[place_of[task.module]];
    begin = std::min(begin, start);
  }
  return begins;
}

std::vector<std::uint64_t> weights_of(const protocol::Replica& replica) {
  std::vector<std::uint64_t> weights(replica.chain.size());
  const std::size_t last = weights.empty() ? 0 : weights.size() - 1;
  for (const protocol::ReadyGradient& gradient : replica.gradients) {
    const std::string path = module_of(gradient.name);
    const auto at =
        std::ranges::find_if(replica.chain, [&](const ChainModule& one) { return is_inside(path, one.path); });
    const auto place = static_cast<std::size_t>(at - replica.chain.begin());
    weights[std::min(place, last)] += gradient.bytes;
  }
  return weights;
}

}  // namespace

base::Result<StepParts> parts_of_step(const step::Graph& graph, const step::Schedule& schedule, bool on_host,
                                      const protocol::Replica& replica) {
  if (replica.chain.empty()) {
    return base::error("no modules were found that follow each other in forward");
  }
  Begins begins = begins_of(graph, schedule, on_host, replica.chain);
  if (begins.all_forward == kNone || begins.all_backward == kNone || begins.all_backward < begins.all_forward) {
    return base::error("the recorded step does not have forward and then backward");
  }
  StepParts step;
  step.before_ns = begins.all_forward;
  step.optimizer_ns = static_cast<double>(schedule.total_ns) - begins.backward_end;
  const std::size_t count = replica.chain.size();
  step.chain.resize(count);
  const std::vector<std::uint64_t> weights = weights_of(replica);
  double until = begins.all_backward;
  for (std::size_t i = count; i-- > 0;) {
    const double begin = i == 0 ? begins.all_forward : std::clamp(begins.forward[i], begins.all_forward, until);
    step.chain[i] = {until - begin, 0, weights[i]};
    until = begin;
  }
  until = begins.backward_end;
  for (std::size_t i = 0; i < count; ++i) {
    const bool last = i + 1 == count;
    const double begin = last ? begins.all_backward : std::clamp(begins.backward[i], begins.all_backward, until);
    step.chain[i].backward_ns = until - begin;
    until = begin;
  }
  return step;
}

base::Result<std::vector<PipelineStage>> balanced_stages(const StepParts& step, const std::vector<ChainModule>& chain,
                                                         std::size_t count) {
  const std::size_t modules = chain.size();
  std::vector<double> sum(modules + 1);  // of what the modules before take
  for (std::size_t i = 0; i < modules; ++i) {
    sum[i + 1] = sum[i] + step.chain[i].forward_ns + step.chain[i].backward_ns;
  }
  const auto may_end = [&](std::size_t end) { return end == modules || (chain[end - 1].may_split); };
  // slowest[k][end]: of the first `end` modules in k stages, at best.
  std::vector slowest(count + 1, std::vector(modules + 1, kNone));
  std::vector from(count + 1, std::vector<std::size_t>(modules + 1));
  slowest[0][0] = 0;
  for (std::size_t stages = 1; stages <= count; ++stages) {
    for (std::size_t end = 1; end <= modules; ++end) {
      if (!may_end(end)) {
        continue;
      }
      for (std::size_t begin = 0; begin < end; ++begin) {
        const double here = std::max(slowest[stages - 1][begin], sum[end] - sum[begin]);
        if (here >= slowest[stages][end]) {
          continue;
        }
        slowest[stages][end] = here;
        from[stages][end] = begin;
      }
    }
  }
  if (count == 0 || slowest[count][modules] == kNone) {
    const auto splits =
        std::ranges::count_if(chain.begin(), chain.end() - 1, [](const auto& one) { return one.may_split; });
    return base::error("the model can be split at " + std::to_string(splits) +
                       " places, behind which nothing but one module's output is needed: too few for " +
                       std::to_string(count) + " stages");
  }
  std::vector<PipelineStage> found(count);
  for (std::size_t stage = count, end = modules; stage > 0; end = from[stage--][end]) {
    PipelineStage& one = found[stage - 1];
    one.first = from[stage][end];
    one.last = end - 1;
    for (std::size_t i = one.first; i < end; ++i) {
      one.forward_ns += step.chain[i].forward_ns;
      one.backward_ns += step.chain[i].backward_ns;
      one.weight_bytes += step.chain[i].weight_bytes;
    }
    one.output_bytes = end == modules ? 0 : chain[end - 1].output_bytes;
  }
  return found;
}

}  // namespace ridgeline::jobs
