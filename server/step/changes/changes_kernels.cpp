// Changes of what devices compute: AMP, FusedAdam, reconstructed batchnorm, MetaFlow (Daydream, section 5).
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "step/changes/arguments.h"
#include "step/changes/graph_changes.h"
#include "step/changes/task_classes.h"
#include "step/graph/changes.h"

namespace ridgeline::step {

namespace {

using analysis::Phase;

// The speed-up of 16 bits. What a kernel moves halves, which alone gives 2. Tensor cores multiply 8 (V100) to 16 (A100,
// H100) times as fast as the units for float32, of which large kernels get up to half; they multiply 16 bits twice as
// fast as TensorFloat-32, and nothing is faster than twice when bytes and arithmetic both halve.
constexpr Guess kFromFloat32 = {2, 4, 8};
constexpr Guess kFromTensorFloat32 = {1.2, 1.6, 2};
/// Some inputs of elementwise kernels stay float32: what autocast promotes, and what has been computed in float32.
constexpr Guess kElementwiseHalf = {1, 1.4, 2};
/// Autocast casts input, weight and bias of a layer, and their gradients: of a layer's kernels one is in forward, and
/// two are in backward.
constexpr Guess kCastsForward = {4, 3, 1};
constexpr Guess kCastsBackward = {2, 1.5, 0.5};
/// A cast's share of the usual elementwise kernel's time: it moves 6 bytes, not 8 or 12, and most casts are of weights.
constexpr Guess kCastDuration = {0.75, 0.4, 0.2};
/// A cast's share of what the host does per kernel of the step.
constexpr Guess kCastOnHost = {1, 0.7, 0.4};

// Every tensor of the optimizer's state is read and written once by one kernel, and by several in turn otherwise.
constexpr Guess kFusedKernels = {1, 0.6, 0.25};
/// Python still collects the parameters.
constexpr Guess kFusedHost = {0.5, 0.2, 0.05};

/// What another implementation of the same optimizer takes, where nothing is known of it: bounds of what it can bring.
constexpr Guess kOtherOptimizer = {2, 1, 0};

std::int64_t median_duration(const Graph& graph, const Selection& tasks) {
  std::vector<std::int64_t> durations;
  for (const TaskId id : tasks) {
    durations.push_back(graph.tasks[id].duration_ns);
  }
  if (durations.empty()) {
    return 0;
  }
  const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
  std::ranges::nth_element(durations, middle);
  return *middle;
}

bool is_backward(const Task& task) { return task.phase == Phase::kBackward; }

/// What threads do in operations and calls, per kernel that they launch.
double host_ns_per_kernel(const Graph& graph) {
  double host = 0;
  double kernels = 0;
  for (const Task& task : graph.tasks) {
    const bool counts = task.phase == Phase::kForward || task.phase == Phase::kBackward;
    host += counts && (task.kind == Kind::kOperation || task.kind == Kind::kCall)
                ? static_cast<double>(task.duration_ns)
                : 0;
    kernels += counts && task.kind == Kind::kKernel ? 1 : 0;
  }
  return kernels > 0 ? host / kernels : 0;
}

/// A kernel of a layer with weights: attention multiplies what has been computed.
bool has_weights(const Graph& graph, TaskId id) {
  const std::string& name = graph.names[graph.tasks[id].name];
  return !mentions(name, "fmha") && !mentions(name, "attention") && !mentions(name, "flash");
}

/// Launches another kernel behind `kernel`, as it was launched.
void insert_kernel(Graph& graph, TaskId kernel, TaskId launch, std::int64_t device_ns, std::int64_t host_ns,
                   std::uint32_t name) {
  const TaskId added = insert_after(graph, kernel, task_like(graph, kernel, device_ns, name));
  if (launch == kNoTask) {
    graph.dependencies.push_back({kernel, added, 0});
    return;
  }
  graph.dependencies.push_back({insert_after(graph, launch, task_like(graph, launch, host_ns, name)), added, 0});
}

/// The parts of a pattern, "conv>batch_norm>relu".
std::vector<std::string> pattern_of(std::string_view text) {
  std::vector<std::string> parts = split(text, '>');
  const bool complete = std::ranges::none_of(parts, [](const std::string& part) { return part.empty(); });
  return complete ? parts : std::vector<std::string>{};
}

/// The kernels that have fewer bits with automatic mixed precision.
struct FloatKernels {
  Selection computing{};
  Selection elementwise{};
  bool already = false;  ///< some that compute have 16 bits
};

FloatKernels float_kernels(const Graph& graph, const std::vector<TaskClass>& classes) {
  FloatKernels kernels;
  for (const TaskId id : working_tasks(graph)) {
    if (graph.tasks[id].phase == Phase::kOptimizer) {
      continue;  // works on the weights, which stay float32
    }
    const bool half = classes[id].precision == Precision::kHalf;
    const Work work = classes[id].work;
    if (half) {
      kernels.already |= work == Work::kCompute;
    } else if (work == Work::kCompute) {
      kernels.computing.push_back(id);
    } else if (work == Work::kElementwise || work == Work::kBatchNorm) {
      kernels.elementwise.push_back(id);
    }
  }
  return kernels;
}

/// Tasks of a pattern, one part behind the other; an operation may have several tasks in turn.
struct PatternMatch {
  std::size_t end = 0;  ///< in `working`, behind the last task
  Selection gone{};     ///< those of the parts that do not stay
};

/// Matches the parts of `before` from `working[at]` on; absent when a part is missing.
std::optional<PatternMatch> match_pattern(const Graph& graph, const Selection& working, std::size_t at,
                                          const std::vector<std::string>& before,
                                          const std::vector<std::string>& after) {
  PatternMatch match{at};
  for (const std::string& part : before) {
    const std::size_t begin = match.end;
    const bool stays = std::ranges::find(after, part) != after.end();
    for (; match.end < working.size() && is_called(graph, graph.tasks[working[match.end]], part); ++match.end) {
      if (!stays) {
        match.gone.push_back(working[match.end]);
      }
    }
    if (match.end == begin) {
      return std::nullopt;
    }
  }
  return match;
}

}  // namespace

base::Result<ChangedGraph> amp(ChangedGraph changed, const Asked& asked) {
  Graph& graph = changed.graph;
  if (!has_device(graph)) {
    return base::error("nothing of the step ran on a device");
  }
  const std::vector<TaskClass> classes = classes_of(graph);
  const auto [computing, elementwise, already] = float_kernels(graph, classes);
  if (computing.empty()) {
    return base::error(already ? "its matrix multiplications and convolutions have 16 bits already"
                               : "no kernel of it multiplies matrices or convolves");
  }
  const std::vector<TaskId> launches = launches_of(graph);
  const double cast_ns = static_cast<double>(median_duration(graph, elementwise)) * kCastDuration.at(asked.bound);
  const double host_ns = host_ns_per_kernel(graph) * kCastOnHost.at(asked.bound);
  graph = scaled(std::move(graph), elementwise, 1 / kElementwiseHalf.at(asked.bound));
  const std::uint32_t cast = name_index(graph, "cast to 16 bits");
  double casts = 0;
  for (const TaskId id : computing) {
    const bool tensor_cores = classes[id].precision == Precision::kTensorFloat32;
    const Guess& speed_up = tensor_cores ? kFromTensorFloat32 : kFromFloat32;
    graph = scaled(std::move(graph), {id}, 1 / speed_up.at(asked.bound));
    if (has_weights(graph, id)) {
      casts += (is_backward(graph.tasks[id]) ? kCastsBackward : kCastsForward).at(asked.bound);
    }
    while (casts >= 1) {
      casts -= 1;
      insert_kernel(graph, id, launches[id], std::llround(cast_ns), std::llround(host_ns), cast);
    }
  }
  return changed;
}

base::Result<ChangedGraph> other_optimizer(ChangedGraph changed, const Asked& asked) {
  const Selection tasks = select_phase(changed.graph, Phase::kOptimizer);
  const bool takes_time =
      std::ranges::any_of(tasks, [&](TaskId id) { return changed.graph.tasks[id].duration_ns > 0; });
  if (!takes_time) {
    return base::error("no optimizer ran in the step");
  }
  changed.graph = scaled(std::move(changed.graph), tasks, kOtherOptimizer.at(asked.bound));
  return changed;
}

base::Result<ChangedGraph> fused_optimizer(ChangedGraph changed, const Asked& asked) {
  Graph& graph = changed.graph;
  if (!has_device(graph)) {
    const Selection tasks = select_phase(graph, Phase::kOptimizer);
    if (std::ranges::any_of(tasks, [&](TaskId id) { return is_called(graph, graph.tasks[id], "fused"); })) {
      return base::error("its optimizer is fused already");
    }
    return other_optimizer(std::move(changed), asked);
  }
  Selection kernels;
  Selection host;
  for (TaskId id = 0; id < graph.tasks.size(); ++id) {
    const Task& task = graph.tasks[id];
    if (task.phase != Phase::kOptimizer) {
      continue;
    }
    if (is_called(graph, task, "fused")) {
      return base::error("its optimizer is fused already");
    }
    if (task.kind == Kind::kKernel && !is_collective(graph, task)) {
      kernels.push_back(id);
    } else if (task.kind == Kind::kOperation || task.kind == Kind::kPython || task.kind == Kind::kCall) {
      host.push_back(id);
    }
  }
  if (kernels.size() < 2) {
    return base::error("its optimizer runs no more than one kernel");
  }
  const std::vector<TaskId> launches = launches_of(graph);
  const TaskId last = kernels.back();
  const double kernels_ns = total_ns(graph, kernels);
  graph = scaled(std::move(graph), host, kFusedHost.at(asked.bound));
  // The last kernel becomes the fused one: behind the launches of all.
  Selection gone = kernels;
  gone.pop_back();
  for (const TaskId id : gone) {
    graph.tasks[id].duration_ns = graph.tasks[id].gap_ns = 0;
  }
  graph.tasks[last].duration_ns = std::llround(kernels_ns * kFusedKernels.at(asked.bound));
  graph.tasks[last].name = name_index(graph, "fused optimizer");
  for (Dependency& dependency : graph.dependencies) {
    if (std::ranges::binary_search(gone, dependency.to) && dependency.from == launches[dependency.to]) {
      dependency.lag_ns = 0;
    }
  }
  return changed;
}

base::Result<ChangedGraph> reconstructed_batchnorm(ChangedGraph changed, const Asked& /*asked*/) {
  Graph& graph = changed.graph;
  const std::vector<TaskClass> classes = classes_of(graph);
  const bool device = has_device(graph);
  Selection normalisations;
  Selection removed;
  bool behind = false;
  const auto is_activation = [&](TaskId id) {
    return is_called(graph, graph.tasks[id], "relu") || is_called(graph, graph.tasks[id], "threshold");
  };
  const Selection working = working_tasks(graph);
  for (std::size_t i = 0; i < working.size(); ++i) {
    const TaskId id = working[i];
    if (classes[id].work == Work::kBatchNorm) {
      normalisations.push_back(id);
      behind = true;
      // In backward the activation comes first.
      if (is_backward(graph.tasks[id]) && i > 0 && is_activation(working[i - 1])) {
        removed.push_back(working[i - 1]);
      }
    } else if (behind && !is_backward(graph.tasks[id]) && is_activation(id)) {
      removed.push_back(id);
      behind = !device;  // the tasks of one operation of a host follow each other
    } else if (classes[id].work == Work::kCompute) {
      behind = false;
    }
  }
  if (normalisations.empty()) {
    return base::error("it has no batch normalisation");
  }
  graph = scaled(std::move(graph), normalisations, 0.5);  // they read and write half of what they did
  graph = with_duration(std::move(graph), removed, 0);
  return changed;
}

base::Result<ChangedGraph> metaflow(ChangedGraph changed, const Asked& asked) {
  Graph& graph = changed.graph;
  const std::size_t arrow = asked.argument.find('=');
  const std::vector<std::string> before = pattern_of(asked.argument.substr(0, arrow));
  const std::vector<std::string> after =
      arrow == std::string_view::npos ? std::vector<std::string>{} : pattern_of(asked.argument.substr(arrow + 1));
  const auto known = [&](const std::string& part) { return std::ranges::find(before, part) != before.end(); };
  if (before.empty() || after.empty() || !std::ranges::all_of(after, known)) {
    return base::error(
        "expected a pair of patterns as conv>batch_norm>relu=conv: names of operations or kernels "
        "that follow each other, and those of them that stay");
  }
  const Selection working = working_tasks(graph);
  Selection gone;
  bool found = false;
  for (std::size_t at = 0; at < working.size();) {
    const auto match = match_pattern(graph, working, at, before, after);
    if (match.has_value()) {
      found = true;
      gone.insert(gone.end(), match->gone.begin(), match->gone.end());
    }
    at = match.has_value() ? match->end : at + 1;
  }
  if (!found) {
    return base::error("nothing in it follows the first pattern");
  }
  const std::vector<TaskId> launches = launches_of(graph);
  for (const TaskId id : gone) {
    graph.tasks[id].duration_ns = graph.tasks[id].gap_ns = 0;
    if (launches[id] != kNoTask) {
      graph.tasks[launches[id]].duration_ns = 0;
    }
  }
  return changed;
}

}  // namespace ridgeline::step
