#include "analysis/advice.h"

#include <algorithm>
#include <functional>

#include "analysis/prediction/answers.h"
#include "analysis/prediction/batch_conclusion.h"
#include "analysis/prediction/predictor.h"
#include "analysis/values/idle_cause.h"

namespace ridgeline::analysis {

namespace {

double phase_ms(const Profile& profile, Phase phase) {
  return profile.iteration.by_phase[static_cast<std::size_t>(phase)];
}

/// The line with most of its own time in a phase; no place when no line has any.
Location costliest_in(const Profile& profile, Phase phase) {
  const auto time = [&](const LineCost& line) { return line.self_by_phase[static_cast<std::size_t>(phase)]; };
  const auto found = std::ranges::max_element(profile.lines, {}, time);
  return found == profile.lines.end() || time(*found) <= 0 ? Location{} : found->location;
}

/// The batch size is larger than what the device holds, by the models or because it was tried.
std::optional<Advice> will_not_fit(const Profile& profile, const Predictor& predictor, int batch_size) {
  BatchPrediction now = predict_batch(predictor, batch_size);
  if (now.fits.value_or(true) && !ran_out_of_memory(predictor, batch_size)) {
    return std::nullopt;
  }
  add_reserved(predictor, now);
  Advice advice{AdviceKind::kWillNotFit, {}, batch_size, 0, 0, static_cast<double>(profile.capacity_bytes), now, {}};
  advice.part = needed_bytes(now).value_or(0);
  const Answer fits = answer(predictor, {Quantity::kMemory, advice.whole});
  const bool is_known = fits.obstacle == Obstacle::kNone || fits.obstacle == Obstacle::kRanOut;
  if (fits.batch && is_known && fits.batch->batch_size < batch_size) {
    advice.better = fits.batch;
    advice.better_batch_size = fits.batch->batch_size;
  }
  return advice;
}

std::optional<Advice> saturates(const Profile& profile, const Predictor& predictor, int batch_size) {
  if (is_timing_unreliable(profile)) {
    return std::nullopt;
  }
  const Answer enough = answer(predictor, {Quantity::kThroughputShare, kEnoughThroughput});
  const BatchPrediction now = predict_batch(predictor, batch_size);
  const std::optional<double> rate = best_samples_per_second(now);
  const std::optional<double> better = enough.batch ? best_samples_per_second(*enough.batch) : std::nullopt;
  if (!better || !rate || (enough.batch->extrapolated && !enough.batch->measured.has_value()) ||
      batch_size < kSaturatedFactor * enough.batch->batch_size) {
    return std::nullopt;
  }
  return Advice{
      AdviceKind::kThroughputSaturates, {}, batch_size, enough.batch->batch_size, *better, *rate, now, enough.batch};
}

/// The line with most of a figure; no place when no line has any.
template <typename Figure>
Location line_with_most(const Profile& profile, Figure figure) {
  const auto found = std::ranges::max_element(profile.lines, {}, figure);
  return found == profile.lines.end() || figure(*found) <= 0 ? Location{} : found->location;
}

/// The device waits for the host, for copies, or for calls that synchronise.
void add_device_advice(const Profile& profile, int batch_size, std::vector<Advice>& found) {
  const DeviceTime& device = *profile.device;
  const double ms = profile.iteration.ms.value;
  const auto wait = [&](Wait what) { return device.waits[static_cast<std::size_t>(what)]; };
  const bool starves = std::ranges::find(found, AdviceKind::kInputStarves, &Advice::kind) != found.end() &&
                       idle_cause(profile) == IdleCause::kData;
  if (const double idle = wait(Wait::kHostBound) + wait(Wait::kIdle); idle > kHostBoundShare * ms && !starves) {
    found.push_back({AdviceKind::kHostBound, {}, batch_size, 0, idle, ms, {}, {}});
  }
  if (device.copy_ms > kBlockedShare * ms) {
    const Location place = line_with_most(profile, [](const LineCost& line) { return line.device.copy_ms; });
    found.push_back({AdviceKind::kCopiesBlock, place, batch_size, 0, device.copy_ms, ms, {}, {}});
  }
  if (wait(Wait::kSync) > kBlockedShare * ms) {
    const Location place = line_with_most(profile, [](const LineCost& line) { return line.device.wait_ms; });
    found.push_back({AdviceKind::kSynchronises, place, batch_size, 0, wait(Wait::kSync), ms, {}, {}});
  }
}

/// Adds the advice on phases, and on a line, that take too large a share of the step.
void add_time_advice(const Profile& profile, int batch_size, std::vector<Advice>& found) {
  const double ms = profile.iteration.ms.value;
  const auto phase_advice = [&](AdviceKind kind, Phase phase, double share) {
    const double part = phase_ms(profile, phase);
    if (ms > 0 && part > share * ms) {
      found.push_back({kind, costliest_in(profile, phase), batch_size, 0, part, ms, {}, {}});
    }
  };
  // With a device a line of the host may only wait for it, and data may be loaded meanwhile.
  const bool has_device = profile.device.has_value();
  if (!has_device || (profile.device->idle_is_known() && profile.device->idle_ms > kStarvingShare * ms)) {
    phase_advice(AdviceKind::kInputStarves, Phase::kData, kStarvingShare);
  }
  if (!profile.lines.empty()) {
    const auto time = [&](const LineCost& line) { return has_device ? line.device.ms : line.self_ms; };
    const LineCost& line = *std::ranges::max_element(profile.lines, {}, time);
    if (time(line) > kHotLineShare * ms) {
      found.push_back({AdviceKind::kHotLine, line.location, batch_size, 0, time(line), ms, {}, {}});
    }
  }
  if (!has_device) {
    phase_advice(AdviceKind::kOptimizerDominates, Phase::kOptimizer, kOptimizerShare);
  }
}

void add_peak_advice(const Profile& profile, int batch_size, std::vector<Advice>& found) {
  const auto activations = static_cast<double>(profile.by_category[static_cast<std::size_t>(Category::kActivations)]);
  const auto peak = static_cast<double>(profile.peak_bytes);
  const auto capacity = static_cast<double>(profile.capacity_bytes);
  if (activations > kActivationsShare * peak && peak > kFilledShare * capacity && capacity > 0) {
    found.push_back({AdviceKind::kActivationsDominate, {}, batch_size, 0, activations, peak, {}, {}});
  }
}

void add_host_advice(const Profile& profile, int batch_size, std::vector<Advice>& found) {
  const double ms = profile.iteration.ms.value;
  if (const double idle = profile.iteration.between_operations_ms; idle > kHostBoundShare * ms && ms > 0) {
    found.push_back({AdviceKind::kHostBound, {}, batch_size, 0, idle, ms, {}, {}});
  }
}

void add_gradient_advice(const Profile& profile, int batch_size, std::vector<Advice>& found) {
  for (const UnusedGradients& unused : profile.unused_gradients) {
    if (!unused.location.file.empty()) {  // else there is no line to show it at
      Advice advice;
      advice.kind = AdviceKind::kGradientNeverUsed;
      advice.location = unused.location;
      advice.batch_size = batch_size;
      advice.part = static_cast<double>(unused.bytes);
      advice.whole = static_cast<double>(profile.peak_bytes);
      advice.parameter = unused.parameter;
      advice.parameters = unused.parameters;
      found.push_back(std::move(advice));
    }
  }
}

void add_padding_advice(const Profile& profile, int batch_size, std::vector<Advice>& found) {
  const double ms = profile.iteration.ms.value;
  for (const Padding& padding : profile.work ? profile.work->paddings : std::vector<Padding>()) {
    if (padding.saved_ms > kPaddingShare * ms && !padding.location.file.empty()) {
      Advice advice;
      advice.kind = AdviceKind::kPaddingPays;
      advice.location = padding.location;
      advice.batch_size = batch_size;
      advice.part = padding.saved_ms;
      advice.whole = ms;
      advice.padding = padding;
      found.push_back(std::move(advice));
    }
  }
}

void add_compiler_advice(const Compilation& compilation, int batch_size, std::vector<Advice>& found) {
  const auto add = [&](AdviceKind kind, const Location& location) -> Advice& {
    Advice advice;
    advice.kind = kind;
    advice.location = location;
    advice.batch_size = batch_size;
    return found.emplace_back(std::move(advice));
  };
  for (const GraphBreak& one : compilation.breaks) {
    add(AdviceKind::kGraphBreak, one.location).graph_break = one;
  }
  for (const CompiledFunction& one : compilation.functions) {
    if (!one.reasons.empty()) {
      add(AdviceKind::kRecompiles, one.location).recompiled = one;
    }
  }
}

}  // namespace

std::vector<Advice> advise(const Profile& profile, const Predictor& predictor, int batch_size) {
  std::vector<Advice> found;
  for (const auto& advice : {will_not_fit(profile, predictor, batch_size), saturates(profile, predictor, batch_size)}) {
    if (advice.has_value()) {
      found.push_back(*advice);
    }
  }
  if (batch_size != profile.batch_size) {
    return found;  // the rest was measured at another batch size
  }
  if (profile.compilation) {
    add_compiler_advice(*profile.compilation, batch_size, found);
  }
  if (!profile.device && !has_all_kernels(profile)) {
    return found;  // a line of the host may only wait for the device, of which nothing is known
  }
  const bool is_reliable = !is_timing_unreliable(profile);
  if (is_reliable) {
    add_time_advice(profile, batch_size, found);
  }
  add_peak_advice(profile, batch_size, found);
  if (is_reliable && !profile.device.has_value()) {
    add_host_advice(profile, batch_size, found);
  } else if (is_reliable && profile.device->idle_is_known()) {
    add_device_advice(profile, batch_size, found);
  }
  add_gradient_advice(profile, batch_size, found);
  if (is_reliable) {
    add_padding_advice(profile, batch_size, found);
  }
  const Answer enough = answer(predictor, {Quantity::kThroughputShare, kEnoughThroughput});
  for (Advice& advice : found) {
    advice.larger_batch_helps = !enough.batch || enough.batch->batch_size > batch_size;
  }
  return found;
}

}  // namespace ridgeline::analysis
