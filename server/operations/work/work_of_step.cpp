#include "operations/work/work_of_step.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/values/profile.h"
#include "operations/device/operation_work.h"
#include "operations/device/roofline.h"
#include "operations/work/linear_layers.h"
#include "step/changes/unchanged_step.h"

namespace ridgeline::operations {

namespace {

using analysis::LineWork;
using analysis::OperationCost;
using analysis::StepWork;
using analysis::WorkCost;

static_assert(analysis::kWorkPhases == analysis::kPhaseCount);

constexpr double kNsPerMs = 1e6;

/// One operation by its key, without the time that it takes in the step.
struct KeyWork {
  std::optional<OperationWork> work;
  std::optional<RooflineBound> bound;
  std::optional<double> matrix_peak_ns;  ///< of matrices whose type has a peak
};

KeyWork key_work(const std::string& key, const BoundsOf* bounds) {
  KeyWork found{work_of(std::string_view(key)), {}, {}};
  if (!found.work || bounds == nullptr) {
    return found;
  }
  OperationWork timed = *found.work;
  const bool is_convolution = std::string_view(key).substr(0, key.find(',')).find("conv") != std::string_view::npos;
  if (timed.kind == OperationKind::kMatrix && timed.dtype == "float32" &&
      (is_convolution ? bounds->tf32.convolutions : bounds->tf32.products) &&
      find_peak(bounds->device, "tf32") != nullptr) {
    timed.dtype = "tf32";
  }
  found.bound = roofline_bound(timed, bounds->device, bounds->units);
  if (found.bound && timed.kind == OperationKind::kMatrix) {
    found.matrix_peak_ns = found.bound->compute_ns;
  }
  return found;
}

/// Adds one call that took `ns` in the step; 0: that is not known.
void add(WorkCost& cost, const KeyWork& of, double ns) {
  ++cost.operations;
  cost.ms += ns / kNsPerMs;
  if (!of.work) {
    cost.not_modelled_ms += ns / kNsPerMs;
    return;
  }
  cost.flops += of.work->flops;
  cost.matrix_flops += of.work->kind == OperationKind::kMatrix ? of.work->flops : 0;
  cost.bytes += of.work->bytes();
  cost.matrix_peak_ms += of.matrix_peak_ns.value_or(0) / kNsPerMs;
  if (of.bound && of.bound->ns > 0 && ns > 0) {
    cost.bounded_ms += ns / kNsPerMs;
    cost.bound_ms += of.bound->ns / kNsPerMs;
    cost.compute_bound_ms += of.bound->limit == Limit::kCompute ? of.bound->ns / kNsPerMs : 0;
  }
}

/// Where the tasks of an operation are: its line and phase are those of the first that has a line.
struct Place {
  std::uint32_t line = 0;
  analysis::Phase phase = analysis::Phase::kOther;
};

Place place_of(const step::Graph& graph, const std::vector<step::TaskId>& tasks) {
  Place place;
  for (const step::TaskId id : tasks) {
    const step::Task& task = graph.tasks[id];
    if (id == tasks.front() || place.line == 0) {
      place = {task.line, task.phase};
    }
  }
  return place;
}

class StepSums {
 public:
  StepSums(const step::Graph& graph, const protocol::CapturedStep& step, const BoundsOf* bounds)
      : graph_(graph), step_(step), lines_(graph.lines.size()) {
    for (const std::string& key : step.keys) {
      keys_.push_back(key_work(key, bounds));
    }
  }

  StepWork sum(const step::Places& places, double iteration_ms) {
    result_.listed = static_cast<int>(step_.operations.size());
    for (std::size_t i = 0; i < step_.operations.size(); ++i) {
      const protocol::CapturedOperation& operation = step_.operations[i];
      const bool is_found = !places.tasks[i].empty();
      add(result_.total, work_of(operation), places.ns[i]);
      if (is_found) {
        ++result_.found;
        add_found(operation, place_of(graph_, places.tasks[i]), places.ns[i]);
      }
    }
    take_lines();
    result_.model_flop_utilisation = utilisation(iteration_ms);
    return std::move(result_);
  }

 private:
  struct LineSums {
    WorkCost work;
    std::map<int, WorkCost> by_key;
  };

  const KeyWork& work_of(const protocol::CapturedOperation& operation) const {
    return operation.key < 0 ? unknown_ : keys_[static_cast<std::size_t>(operation.key)];
  }

  void add_found(const protocol::CapturedOperation& operation, const Place& place, double ns) {
    const KeyWork& work = work_of(operation);
    add(result_.by_phase.at(static_cast<std::size_t>(place.phase)), work, ns);
    if (place.line != 0) {
      add(lines_[place.line].work, work, ns);
      if (operation.key >= 0) {
        add(lines_[place.line].by_key[operation.key], work, ns);
      }
    }
  }

  /// Nothing where a product of matrices has a type without a peak, or where it is not known what is recomputation.
  std::optional<double> utilisation(double iteration_ms) const {
    const auto has_no_peak = [](const KeyWork& key) {
      return key.work && key.work->kind == OperationKind::kMatrix && key.work->flops > 0 && !key.matrix_peak_ns;
    };
    const WorkCost& again = result_.by_phase.at(static_cast<std::size_t>(analysis::Phase::kRecomputation));
    if (std::ranges::any_of(keys_, has_no_peak) || iteration_ms <= 0 ||
        (again.operations > 0 && result_.found < result_.listed)) {
      return std::nullopt;
    }
    return (result_.total.matrix_peak_ms - again.matrix_peak_ms) / iteration_ms;
  }

  void take_lines() {
    for (std::uint32_t line = 1; line < lines_.size(); ++line) {
      if (lines_[line].work.operations > 0) {
        result_.lines.push_back({graph_.lines[line], lines_[line].work, costliest(lines_[line].by_key)});
      }
    }
    std::ranges::stable_sort(result_.lines, std::greater{}, [](const LineWork& line) { return line.work.ms; });
  }

  std::vector<OperationCost> costliest(const std::map<int, WorkCost>& by_key) const {
    std::vector<std::pair<int, WorkCost>> sorted(by_key.begin(), by_key.end());
    std::ranges::stable_sort(sorted, std::greater{}, [](const auto& one) { return one.second.ms; });
    sorted.resize(std::min(sorted.size(), analysis::kMaxLineOperations));
    std::vector<OperationCost> costs;
    for (const auto& [key, work] : sorted) {
      const std::string& text = step_.keys[static_cast<std::size_t>(key)];
      costs.push_back({text.size() <= analysis::kMaxKeptKeyBytes ? text : name_in(text), work});
    }
    return costs;
  }

  /// "aten::mm.default" of a key: the first text in it.
  static std::string name_in(const std::string& key) {
    const std::size_t begin = key.find('"');
    const std::size_t end = begin == std::string::npos ? begin : key.find('"', begin + 1);
    return end == std::string::npos ? std::string()
                                    : key.substr(begin + 1, std::min<std::size_t>(end - begin - 1, 200));
  }

  const step::Graph& graph_;
  const protocol::CapturedStep& step_;
  const KeyWork unknown_{};
  std::vector<KeyWork> keys_;
  std::vector<LineSums> lines_;
  StepWork result_;
};

}  // namespace

analysis::StepWork step_work(const step::Graph& graph, const protocol::CapturedStep& step, double iteration_ms,
                             const BoundsOf* bounds) {
  const step::Places places = step::places_of(graph, step);
  StepWork work = StepSums(graph, step, bounds).sum(places, iteration_ms);
  if (bounds != nullptr) {
    work.paddings = paddings_of(graph, step, places, bounds->device, bounds->units);
    work.device = analysis::WorkDevice{bounds->device.name, bounds->measured, bounds->units};
  } else {
    work.model_flop_utilisation.reset();
  }
  return work;
}

}  // namespace ridgeline::operations
