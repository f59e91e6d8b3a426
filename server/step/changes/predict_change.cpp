#include "step/changes/predict_change.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/time/models.h"
#include "step/changes/prediction_error.h"
#include "step/simulate/schedule_analysis.h"
#include "step/simulate/simulate.h"

namespace ridgeline::step {

namespace {

using analysis::PredictedChange;
using analysis::SpeedUp;

/// The least spread of a time alone that stands for one in the step.
constexpr double kLeastSpread = 0.05;
/// Relative error of the host's time between operations that come or go.
constexpr double kHostError = 0.25;
/// Relative error of the time of page faults that come or go: how many threads share them is not observed.
constexpr double kPageFaultError = 0.5;
/// The share of a step's time on hosts above which code of the change works between its operations, rather than the
/// listings being different.
constexpr double kHooksShare = 0.1;
/// Two standard deviations, in median absolute deviations.
constexpr double kTwoSigma = 2 * 1.4826;

/// `waits_ms`: that it may take longer, besides.
SpeedUp speed_up_of(const Baseline& unchanged, double changed_ms, double error_ms, double waits_ms, double samples) {
  const double least = 0.02 * changed_ms;
  const double scaled = samples * unchanged.step_ms;
  return {scaled / changed_ms, scaled / (changed_ms + error_ms + waits_ms) / (1 + unchanged.noise),
          scaled / std::max(least, changed_ms - error_ms) * (1 + unchanged.noise)};
}

/// By how much longer the changed step takes where hosts wait for the device in code of the change, ns: at most as long
/// as both work at once.
double waits_ns(const RetimedStep& changed, const Schedule& schedule) {
  const Overlap overlap = step::overlap(changed.graph, schedule);
  const auto hosts = static_cast<double>(overlap.host_only_ns + overlap.both_ns);
  return changed.hooks_ns > kHooksShare * hosts ? static_cast<double>(overlap.both_ns) : 0;
}

using PeakBytes = decltype(ChangeBasis::peaks);

protocol::StepPart part_of(analysis::Phase phase) {
  switch (phase) {
    case analysis::Phase::kBackward:
    case analysis::Phase::kRecomputation:
      return protocol::StepPart::kBackward;
    case analysis::Phase::kOptimizer:
      return protocol::StepPart::kOptimizer;
    default:
      return protocol::StepPart::kForward;
  }
}

/// The most bytes alive when something was allocated in each part of the step: what is only freed there, as gradients
/// are by zero_grad() between forward and backward, belongs to the part before. Of a part that allocates nothing, the
/// most that was alive after something was freed.
PeakBytes peaks_by_part(const Graph& graph, const Schedule& schedule) {
  std::vector<MemoryChange> changes = graph.memory;
  std::ranges::stable_sort(changes, {}, [&](const MemoryChange& change) {
    return static_cast<double>(schedule.start[change.task]) +
           static_cast<double>(change.at) * static_cast<double>(graph.tasks[change.task].duration_ns);
  });
  PeakBytes allocated{};
  PeakBytes freed{};
  std::int64_t alive = graph.bytes_at_start;
  for (const MemoryChange& change : changes) {
    alive += change.bytes;
    PeakBytes& peaks = change.bytes > 0 ? allocated : freed;
    auto& peak = peaks.at(static_cast<std::size_t>(part_of(graph.tasks[change.task].phase)));
    peak = std::max(peak, alive);
  }
  for (std::size_t part = 0; part < allocated.size(); ++part) {
    allocated.at(part) = allocated.at(part) > 0 ? allocated.at(part) : freed.at(part);
  }
  return allocated;
}

/// The peak when the recorded peak of each part changes by as much as the captured one.
std::uint64_t changed_peak(const PeakBytes& recorded, const Baseline& baseline, const PartBytes& changed) {
  const std::int64_t above = static_cast<std::int64_t>(baseline.peak_bytes) - *std::ranges::max_element(recorded);
  std::int64_t peak = 0;
  for (std::size_t part = 0; part < recorded.size(); ++part) {
    peak = std::max(peak, recorded.at(part) + above + static_cast<std::int64_t>(changed.at(part)) -
                              static_cast<std::int64_t>(baseline.captured_peak_bytes->at(part)));
  }
  return static_cast<std::uint64_t>(peak);
}

}  // namespace

PartBytes peaks_of(const protocol::Captured& captured, const StandalonePeaks& standalone_peaks) {
  PartBytes peaks = captured.peak_bytes;
  if (!captured.step.has_value() || !standalone_peaks) {
    return peaks;
  }
  for (const protocol::AliveBefore& before : captured.alive) {
    const auto own = standalone_peaks(captured.step->keys[static_cast<std::size_t>(before.key)]);
    std::uint64_t& peak = peaks.at(static_cast<std::size_t>(before.part));
    peak = std::max(peak, before.bytes + own.value_or(0));
  }
  return peaks;
}

base::Result<ChangeBasis> change_basis(const Graph& graph, const protocol::CapturedStep& step, const Baseline& baseline,
                                       StandaloneTimes times) {
  const auto schedule = simulate(graph);
  if (!schedule) {
    return schedule.error();
  }
  // The replay of the unchanged step is near its measured time; what differs of it cancels out.
  const double scale = schedule->total_ns > 0 ? baseline.step_ms / static_cast<double>(schedule->total_ns) : 1e-6;
  return ChangeBasis{baseline, unchanged_step(graph, step, times), scale, peaks_by_part(graph, *schedule)};
}

base::Result<PredictedStep> predict_step(const ChangeBasis& basis, const protocol::Captured& changed,
                                         StandaloneTimes times) {
  const Baseline& baseline = basis.baseline;
  if (!changed.step.has_value()) {
    return base::error("its operations are not known before it runs");
  }
  RetimedStep retimed = retime(basis.step, *changed.step, times);
  const auto after = simulate(retimed.graph);
  if (!after) {
    return after.error();
  }
  const double changed_ms = static_cast<double>(after->total_ns) * basis.ms_per_ns;
  const double spread = std::max(kLeastSpread, retimed.spread);
  const double measured_ms = (retimed.changed_after_ns - std::min(retimed.assumed_ns, retimed.changed_after_ns)) / 1e6;
  const double waits_ms = waits_ns(retimed, *after) * basis.ms_per_ns;
  const std::vector<ErrorPart> parts = {
      {kTwoSigma * spread * measured_ms,
       fmt::format("what operations take in the step and what they take alone differ by up to {:.0f} %",
                   100 * kTwoSigma * spread)},
      {retimed.assumed_error_ns / 1e6, "some of its operations could not be timed alone"},
      {kSystematicShare * std::abs(baseline.step_ms - changed_ms),
       fmt::format("{:.0f} % of so large a difference may come back in another form", 100 * kSystematicShare)},
      {kHostError * retimed.host_ns / 1e6, "what the host does between operations that come or go is an estimate"},
      {kPageFaultError * std::abs(retimed.page_faults_ns) / 1e6,
       "what the system takes to give memory to operations that come or go is an estimate"},
      {kLeastError * changed_ms, "no step takes the same time twice"}};
  double error_ms = 0;
  for (const ErrorPart& part : parts) {
    error_ms = std::hypot(error_ms, part.size);
  }
  PredictedStep step;
  step.samples = static_cast<double>(changed.batch_size) / std::max(1, baseline.batch_size);
  step.error_ms = error_ms + waits_ms;
  PredictedChange& predicted = step.predicted;
  predicted.largest_error =
      clause_of_largest({{error_ms, clause_of_largest(parts)},
                         {waits_ms, "hosts may wait for the device in code of the change"},
                         {baseline.noise * changed_ms,
                          fmt::format("the step's own time was measured within {:.0f} %", 100 * baseline.noise)}});
  predicted.speed_up = speed_up_of(baseline, changed_ms, error_ms, waits_ms, step.samples);
  predicted.step_ms = changed_ms;
  if (baseline.captured_peak_bytes.has_value()) {
    predicted.peak_bytes = changed_peak(basis.peaks, baseline, peaks_of(changed, baseline.standalone_peaks));
  }
  predicted.measured_share =
      retimed.changed_after_ns > 0 ? 1 - std::min(1.0, retimed.assumed_ns / retimed.changed_after_ns) : 1;
  step.graph = std::move(retimed.graph);
  return step;
}

analysis::TriedChange describe_trial(const protocol::Tried& tried) {
  std::vector<double> ratios;
  const double samples = static_cast<double>(tried.changed_batch_size) / tried.unchanged_batch_size;
  for (std::size_t i = 0; i < tried.changed_ns.size(); ++i) {
    ratios.push_back(samples * tried.unchanged_ns[i] / tried.changed_ns[i]);
  }
  const analysis::Measured ratio = analysis::median_interval(ratios);
  analysis::TriedChange described;
  described.speed_up = {ratio.value, ratio.low, ratio.high};
  described.unchanged_ms = analysis::median(tried.unchanged_ns) / 1e6;
  described.changed_ms = analysis::median(tried.changed_ns) / 1e6;
  described.unchanged_peak_bytes = tried.unchanged_peak_bytes;
  described.changed_peak_bytes = tried.changed_peak_bytes;
  described.loss_drift = tried.loss_drift;
  described.seed_drift = tried.seed_drift;
  return described;
}

}  // namespace ridgeline::step
