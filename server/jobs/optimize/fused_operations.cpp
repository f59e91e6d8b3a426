#include "jobs/optimize/fused_operations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

namespace ridgeline::jobs {

namespace {

using step::Graph;
using step::Task;
using step::TaskId;

/// As the user calls them; those that end with "_" work in place.
constexpr auto kPointwise = std::to_array<std::string_view>({
    "abs",      "add",        "addcdiv",    "addcmul", "clamp",           "clamp_max", "clamp_min",   "cos",
    "div",      "dropout",    "elu",        "exp",     "feature_dropout", "gelu",      "hardsigmoid", "hardswish",
    "hardtanh", "leaky_relu", "lerp",       "log",     "masked_fill",     "mish",      "mul",         "native_dropout",
    "neg",      "pow",        "reciprocal", "relu",    "relu6",           "rsqrt",     "rsub",        "sigmoid",
    "silu",     "sin",        "softplus",   "sqrt",    "square",          "sub",       "tanh",        "where",
});

bool is_pointwise(std::string_view operation) {
  constexpr std::string_view kNamespace = "aten::";
  if (!operation.starts_with(kNamespace)) {
    return false;
  }
  operation.remove_prefix(kNamespace.size());
  if (operation.ends_with('_')) {
    operation.remove_suffix(1);
  }
  return std::ranges::find(kPointwise, operation) != kPointwise.end();
}

/// The runs of one rank's graph.
class Fusion {
 public:
  Fusion(Graph& graph, const std::vector<RecordedBuckets>& steps, double share) : graph_(graph), share_(share) {
    for (const std::string& name : graph.names) {
      pointwise_.push_back(is_pointwise(name));
    }
    for (const RecordedBuckets& step : steps) {
      apart_.insert(step.ready.begin(), step.ready.end());
    }
    for (const step::Dependency& one : graph.dependencies) {
      if (graph.tasks[one.from].resource == 0) {
        apart_.insert(one.from);
      }
      if (graph.tasks[one.to].resource == 0) {
        begins_.insert(one.to);
      }
    }
  }

  /// Whether there was any.
  bool fuse() {
    for (TaskId id = 0; id != step::kNoTask; id = graph_.tasks[id].next) {
      visit(id);
    }
    close();
    return any_;
  }

 private:
  void visit(TaskId id) {
    const Task& task = graph_.tasks[id];
    const bool is_work = task.kind == step::Kind::kOperation || task.kind == step::Kind::kPython;
    const bool in_model = task.phase == analysis::Phase::kForward || task.phase == analysis::Phase::kBackward;
    const bool joins = is_work && in_model && pointwise_[task.name] && !apart_.contains(id);
    const bool is_between = is_work && task.name == 0 && !apart_.contains(id);
    const bool is_other_phase = joins && !run_.empty() && graph_.tasks[run_.front()].phase != task.phase;
    if (begins_.contains(id) || is_other_phase || !(joins || is_between)) {
      close();
    }
    if (joins) {
      run_.push_back(id);
    }
  }

  void close() {
    if (run_.size() > 1) {
      std::int64_t sum = 0;
      std::int64_t longest = 0;
      for (const TaskId id : run_) {
        sum += graph_.tasks[id].duration_ns;
        longest = std::max(longest, graph_.tasks[id].duration_ns);
      }
      const double others = static_cast<double>(sum - longest);
      any_ = any_ || others > 0;
      if (others > 0) {
        scale((static_cast<double>(longest) + share_ * others) / static_cast<double>(sum));
      }
    }
    run_.clear();
  }

  void scale(double by) {
    for (const TaskId id : run_) {
      std::int64_t& ns = graph_.tasks[id].duration_ns;
      ns = std::llround(static_cast<double>(ns) * by);
    }
  }

  Graph& graph_;
  double share_;
  std::vector<bool> pointwise_;  ///< by name
  std::set<TaskId> apart_;       ///< something else than the thread waits for their end, or a gradient is ready then
  std::set<TaskId> begins_;      ///< they wait for something else than the thread
  std::vector<TaskId> run_;
  bool any_ = false;
};

}  // namespace

base::Result<RecordedJob> with_fused_operations(RecordedJob job, double share) {
  bool any = false;
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    any = Fusion(job.ranks[rank].graph, job.buckets[rank], share).fuse() || any;
  }
  if (any) {
    return job;
  }
  return base::error("no two pointwise operations follow each other in its forward or backward");
}

}  // namespace ridgeline::jobs
