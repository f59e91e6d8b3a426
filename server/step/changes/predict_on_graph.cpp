#include "step/changes/predict_on_graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "step/changes/apply_change.h"
#include "step/changes/change_limits.h"
#include "step/changes/change_table.h"
#include "step/changes/prediction_error.h"
#include "step/changes/steady_state.h"
#include "step/simulate/schedule_analysis.h"
#include "step/simulate/simulate.h"

namespace ridgeline::step {

namespace {

using analysis::PredictedChange;
using analysis::SpeedUp;

/// Iterations that follow each other say more than one, unless the recording's do not repeat like that.
constexpr double kMostPeriodError = 0.03;
/// One in this many other steps may be faster than the interval says, and one slower.
constexpr std::size_t kOthersOutside = 10;

base::Result<ChangedGraph> made(const GraphBasis& basis, const std::vector<std::string>& requests,
                                const UserChanges& user, Bound bound) {
  ChangedGraph changed{.graph = basis.graph};
  for (const std::string& request : requests) {
    base::Result<ChangedGraph> next = base::error("it is no change of a graph alone");
    if (const auto own = user.find(request); own != user.end()) {
      next = apply(own->second, std::move(changed), bound);
    } else if (const ChangeKind* kind = find_change(request); kind != nullptr && kind->on_graph != nullptr) {
      next = kind->on_graph(std::move(changed), {argument_of(request), bound, basis.facts});
    }
    if (!next) {
      return next.error();
    }
    changed = std::move(*next);
  }
  return changed;
}

/// How long an iteration of the graph takes: from one to the next, or alone.
base::Result<double> length_of(const ChangedGraph& changed, bool repeats) {
  if (repeats || !changed.into_next.empty()) {
    const auto period = period_ns(changed);
    if (!period) {
      return period.error();
    }
    return static_cast<double>(*period);
  }
  auto schedule = simulate(changed.graph);
  if (!schedule) {
    return schedule.error();
  }
  return static_cast<double>(schedule->total_ns);
}

base::Result<std::int64_t> peak_of(const ChangedGraph& changed) {
  auto schedule = simulate(changed.graph);
  if (!schedule) {
    return schedule.error();
  }
  return memory_peak(changed.graph, *schedule).bytes + changed.peak_bytes;
}

/// What an iteration may take.
struct Limits {
  double least_ms;
  double most_ms;
};

/// Those that one end of the guesses says. A change that only takes away waits changes no task: what it may bring is up
/// to kernels alone.
void add_limit(const GraphBasis& basis, const ChangedGraph& changed, Bound bound, double length_ns, Limits& limits) {
  ChangedTasks tasks = changed_tasks(basis.graph, changed.graph);
  const std::int64_t changed_ns = tasks.before_ns + tasks.added_ns;
  if (bound == Bound::kPessimistic && changed_ns > 0) {
    limits.most_ms = (length_ns + static_cast<double>(changed_ns)) * basis.ms_per_ns;
  } else if (bound == Bound::kOptimistic) {
    limits.least_ms = static_cast<double>(busiest_device_ns(tasks.changed_without)) * basis.ms_per_ns;
    // In the order of either graph: where a change lets tasks wait, that is the rule's guess, and not a fact.
    const auto least =
        length_of({.graph = std::move(tasks.changed_without), .into_next = changed.into_next}, basis.repeats);
    const auto before = length_of({.graph = std::move(tasks.unchanged_without)}, basis.repeats);
    if (least && before && changed_ns > 0) {
      limits.least_ms = std::max(limits.least_ms, std::min(*least, *before) * basis.ms_per_ns);
    }
  }
}

/// How much faster an iteration is; in the middle of the guesses.
base::Result<double> middle_speed_up(const GraphBasis& basis, const std::vector<std::string>& requests,
                                     const UserChanges& user) {
  const auto changed = made(basis, requests, user, Bound::kMiddle);
  if (!changed) {
    return changed.error();
  }
  const auto length = length_of(*changed, basis.repeats);
  if (!length) {
    return length.error();
  }
  return changed->samples * basis.step_ms / std::max(*length * basis.ms_per_ns, 0.001 * basis.step_ms);
}

/// By how far the change brings more or less in other steps, most of them and all together, than in this one.
void widen_by_others(const GraphBasis& basis, const std::vector<std::string>& requests, const UserChanges& user,
                     SpeedUp& speed_up) {
  std::vector<double> ratios;
  double before_ms = 0;
  double after_ms = 0;
  for (const GraphBasis& other : basis.others) {
    if (const auto ratio = middle_speed_up(other, requests, user); ratio && speed_up.value > 0) {
      ratios.push_back(*ratio / speed_up.value);
      before_ms += other.step_ms;
      after_ms += other.step_ms / *ratio;
    }
  }
  if (ratios.empty()) {
    return;
  }
  std::ranges::sort(ratios);
  const std::size_t outside = ratios.size() / kOthersOutside;
  const double all = before_ms / after_ms / speed_up.value;
  speed_up.low *= std::min({1.0, ratios[outside], all});
  speed_up.high *= std::max({1.0, ratios[ratios.size() - 1 - outside], all});
}

/// Of the interval's logarithm.
double width_of(const SpeedUp& speed_up) { return std::log(speed_up.high / speed_up.low); }

bool has_same_memory(const Graph& a, const Graph& b) {
  return std::ranges::equal(a.memory, b.memory, {}, &MemoryChange::bytes, &MemoryChange::bytes);
}

/// Nothing where it is not known: also where the runner changed what the step allocates, which the graph does not show,
/// and the change of the graph is about single allocations.
std::optional<std::uint64_t> changed_peak(const GraphBasis& basis, const ChangedGraph& changed) {
  if (basis.start.has_value() && basis.start->memory_changed && !has_same_memory(basis.graph, changed.graph)) {
    return std::nullopt;
  }
  const auto is = basis.graph_peak_bytes.has_value() ? peak_of(changed) : base::Result<std::int64_t>(0);
  if (!basis.graph_peak_bytes.has_value() || !is) {
    return std::nullopt;
  }
  const std::int64_t peak = static_cast<std::int64_t>(*basis.peak_bytes) + *is - *basis.graph_peak_bytes;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, peak));
}

}  // namespace

base::Result<GraphBasis> graph_basis(const Graph& graph, double step_ms, const StepFacts& facts,
                                     std::optional<std::uint64_t> peak_bytes) {
  const ChangedGraph unchanged{.graph = graph};
  const auto alone = length_of(unchanged, false);
  const auto repeated = length_of(unchanged, true);
  if (!alone || !repeated) {
    return alone ? repeated.error() : alone.error();
  }
  if (*alone <= 0) {
    return base::error("the recorded step takes no time");
  }
  GraphBasis basis{graph, step_ms, facts, peak_bytes};
  basis.repeats = std::abs(*repeated / *alone - 1) <= kMostPeriodError;
  basis.ms_per_ns = step_ms / (basis.repeats ? *repeated : *alone);
  if (peak_bytes.has_value()) {
    if (const auto peak = peak_of(unchanged)) {
      basis.graph_peak_bytes = *peak;
    }
  }
  return basis;
}

GraphBasis after_runner(const GraphBasis& unchanged, const PredictedStep& changed, bool keeps_parameters) {
  GraphBasis basis{.graph = changed.graph,
                   .step_ms = unchanged.step_ms,
                   .facts = keeps_parameters ? unchanged.facts : StepFacts{},
                   .peak_bytes = changed.predicted.peak_bytes,
                   .noise = unchanged.noise,
                   .repeats = unchanged.repeats,
                   .ms_per_ns = unchanged.ms_per_ns};
  if (basis.peak_bytes.has_value()) {
    if (const auto peak = peak_of({.graph = changed.graph})) {
      basis.graph_peak_bytes = *peak;
    }
  }
  basis.start = GraphBasis::Start{.step_ms = changed.predicted.step_ms,
                                  .error_ms = changed.error_ms,
                                  .samples = changed.samples,
                                  .measured_share = changed.predicted.measured_share,
                                  .memory_changed = basis.peak_bytes != unchanged.peak_bytes,
                                  .largest_error = changed.predicted.largest_error};
  return basis;
}

base::Result<PredictedChange> predict_on_graph(const GraphBasis& basis, const std::vector<std::string>& requests,
                                               const UserChanges& user) {
  std::array<double, 3> ms{};
  Limits limits{0, std::numeric_limits<double>::infinity()};
  PredictedChange predicted;
  double samples = 1;
  for (const Bound bound : {Bound::kPessimistic, Bound::kMiddle, Bound::kOptimistic}) {
    const auto changed = made(basis, requests, user, bound);
    if (!changed) {
      return changed.error();
    }
    const auto length = length_of(*changed, basis.repeats);
    if (!length) {
      return length.error();
    }
    ms.at(static_cast<std::size_t>(bound)) = *length * basis.ms_per_ns;
    if (!basis.start.has_value()) {
      add_limit(basis, *changed, bound, *length, limits);
    }
    if (bound == Bound::kMiddle) {
      samples = changed->samples * (basis.start.has_value() ? basis.start->samples : 1);
      predicted.peak_bytes = changed_peak(basis, *changed);
    }
  }
  const double middle = ms.at(static_cast<std::size_t>(Bound::kMiddle));
  const double slowest = std::ranges::max(ms);
  const double fastest = std::ranges::min(ms);
  const GraphBasis::Start start = basis.start.value_or(GraphBasis::Start{.step_ms = basis.step_ms});
  const auto error = [&](double length) {
    // What was wrong before stays so, even where the change of the graph makes the step shorter.
    const double before = start.error_ms * std::max(1.0, length / start.step_ms);
    return std::hypot(kLeastError * length, kSystematicShare * (basis.step_ms - length), before);
  };
  const auto speed = [&](double length) { return samples * basis.step_ms / std::max(length, 0.001 * basis.step_ms); };
  predicted.step_ms = middle;
  SpeedUp& speed_up = predicted.speed_up;
  speed_up = {speed(middle), speed(slowest + error(slowest)), speed(fastest - error(fastest))};
  const SpeedUp by_itself = speed_up;
  widen_by_others(basis, requests, user, speed_up);
  predicted.largest_error = clause_of_largest(
      {{std::log(speed(fastest) / speed(slowest)),
        fmt::format("the rule's guesses lie between {:.2f}× and {:.2f}×", speed(slowest), speed(fastest))},
       {2 * start.error_ms / start.step_ms, start.largest_error},
       {width_of(speed_up) - width_of(by_itself), "it does not bring the same in all recorded steps"},
       {2 * std::log1p(basis.noise),
        fmt::format("the step's own time was measured within {:.0f} %", 100 * basis.noise)}});
  speed_up.low = std::max(speed_up.low, std::min(speed_up.value, speed(limits.most_ms))) / (1 + basis.noise);
  speed_up.high = std::min(speed_up.high, std::max(speed_up.value, speed(limits.least_ms))) * (1 + basis.noise);
  predicted.measured_share = start.measured_share;
  predicted.by_rule = true;
  return predicted;
}

analysis::ChangeAnswer answer_on_graph(const GraphBasis& basis, const std::vector<std::string>& requests,
                                       const UserChanges& user) {
  analysis::ChangeAnswer row;
  row.change = requests;
  row.title = title_of(requests);
  row.takes = takes_of(requests);
  if (const auto own = requests.size() == 1 ? user.find(requests.front()) : user.end(); own != user.end()) {
    row.title = own->second.title;
    row.takes = own->second.takes;
  }
  const auto predicted = predict_on_graph(basis, requests, user);
  if (predicted) {
    row.predicted = *predicted;
  } else {
    row.reason = predicted.error().message();
  }
  return row;
}

bool is_on_graph_only(const std::vector<std::string>& requests, const UserChanges& user) {
  return std::ranges::all_of(requests, [&](const std::string& request) {
    const ChangeKind* kind = find_change(request);
    return user.contains(request) || (kind != nullptr && !kind->on_step);
  });
}

bool is_possible_on_graph(const std::vector<std::string>& requests, const UserChanges& user) {
  return std::ranges::all_of(requests, [&](const std::string& request) {
    const ChangeKind* kind = find_change(request);
    return user.contains(request) || (kind != nullptr && kind->on_graph != nullptr);
  });
}

}  // namespace ridgeline::step
