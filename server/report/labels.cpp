#include "report/labels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "analysis/values/idle_cause.h"

#include "report/compilation_text.h"
#include "report/units.h"
#include "report/wording.h"
#include "report/work_text.h"

namespace ridgeline::report {

namespace {

using analysis::Advice;
using analysis::AdviceKind;
using analysis::BatchPrediction;
using analysis::Profile;

constexpr double kMostChangeInPercent = 9;  // what is more than ten times as long has a factor
constexpr double kMostNoise = 0.25;         // of the time: within more, not even a large change would be seen
constexpr double kShownShare = 0.001;       // of the iteration or of the peak: less is not worth a label
constexpr double kTotalShare = 0.05;        // of the iteration: a line with such a total
constexpr double kLeastPass = 0.01;         // of the iteration: less of forward or backward is not named
constexpr double kTimesOwn = 2;             // that is so many times the line's own time is shown with it

std::string size(double count) { return bytes(count); }

std::string approximately(const Profile& profile) { return analysis::is_uncertain(profile) ? "≈\u00A0" : ""; }

/// "1.84 of 23.4 GiB": one unit where both have the same.
std::string of_capacity(std::string text, double capacity) {
  if (capacity <= 0) {
    return text;
  }
  const std::string whole = size(capacity);
  const std::string unit = whole.substr(whole.find(' '));
  if (text.ends_with(unit)) {
    text.resize(text.size() - unit.size());
  }
  return text + " of " + whole;
}

bool is_known(const analysis::TimeChange& time) {
  return time.outcome == analysis::Outcome::kDiffers && time.bounds.has_value();
}

/// A wide interval that has zero in it does not say that nothing has changed.
std::string time_change_label(const Profile& before, const Profile& now, const analysis::TimeChange& time) {
  if (time.outcome == analysis::Outcome::kDiffers) {
    const double faster = 1 - now.iteration.ms.value / before.iteration.ms.value;
    return fmt::format("{} {} ({} before)", share(std::abs(faster)), faster > 0 ? "faster" : "slower",
                       duration(before.iteration.ms.value));
  }
  if (!time.bounds) {
    return "not compared: too little was measured";
  }
  if (std::max(-time.bounds->low, time.bounds->high) > kMostNoise) {
    return "not compared: the time varies too much";
  }
  return "no change within the noise";
}

std::string extrapolated(const BatchPrediction& batch) { return batch.extrapolated ? " (extrapolated)" : ""; }

std::string will_not_fit(const Advice& advice) {
  const std::string needs = advice.now ? needed_memory(*advice.now) : size(advice.part);
  std::string text =
      advice.part > advice.whole
          ? fmt::format("Batch {} would need {}; this device has {}", advice.batch_size, needs, size(advice.whole))
          : fmt::format("Batch {} ran out of memory; this device has {}", advice.batch_size, size(advice.whole));
  text += advice.now && advice.now->extrapolated ? " (extrapolated)." : ".";
  if (advice.better_batch_size > 0) {
    const bool is_predicted = advice.better && advice.better->extrapolated && !advice.better->measured;
    const bool has_run = advice.better && advice.better->measured;
    text += fmt::format(" The largest that {} is {}.",
                        is_predicted ? "is predicted to fit"
                        : has_run    ? "is known to fit"
                                     : "fits",
                        advice.better_batch_size);
  }
  return text;
}

/// "1.31× throughput", with the bound where there is only one.
std::string times_text(const analysis::Estimate& wanted, double now) {
  analysis::Estimate times{wanted.value / now, std::nullopt, wanted.certainty};
  if (wanted.interval) {
    times.interval = {wanted.interval->low / now, std::nullopt};
    if (wanted.interval->high) {
      times.interval->high = *wanted.interval->high / now;
    }
  }
  return estimated(times, [](double value) { return fmt::format("{:.2f}×", value); }) + " throughput";
}

/// As it was measured, else as it is predicted; empty where nothing is known.
std::string peak_of_batch(const BatchPrediction& batch) {
  if (batch.measured) {
    return size(static_cast<double>(batch.measured->peak_bytes));
  }
  return batch.peak_bytes ? estimated(*batch.peak_bytes, size) : "";
}

std::string batch_rate(const BatchPrediction& batch) {
  if (batch.measured) {
    return figure(batch.measured->samples_per_second) + " samples/s";
  }
  return batch.samples_per_second ? estimated(*batch.samples_per_second, figure) + " samples/s" : "";
}

std::string saturates(const Advice& advice) {
  std::string text = fmt::format("Batch {} gives {} samples/s, and batch {} already gives {}", advice.batch_size,
                                 figure(advice.whole), advice.better_batch_size, figure(advice.part));
  const std::string better = advice.better ? peak_of_batch(*advice.better) : "";
  const std::string now = advice.now ? peak_of_batch(*advice.now) : "";
  if (!better.empty() && !now.empty()) {
    text += fmt::format(", with {} instead of {}", better, now);
  }
  return text + ": throughput hardly grows beyond it.";
}

std::string device_idle(const Advice& advice, const Profile& profile) {
  const char* why = "";
  const char* what_helps = "";
  switch (analysis::idle_cause(profile).value_or(analysis::IdleCause::kHost)) {
    case analysis::IdleCause::kHost:
      why = "because the host launches too slowly";
      what_helps = advice.larger_batch_helps
                       ? "A larger batch, fewer and larger operations, torch.compile or graphs of kernels help."
                       : "Fewer and larger operations, torch.compile or graphs of kernels help.";
      break;
    case analysis::IdleCause::kData:
      why = "while data is loaded";
      what_helps = "More workers in the loader, or loading ahead of the step, help.";
      break;
    case analysis::IdleCause::kPauses:
      why = "mostly in pauses in which the host runs no operation";
      what_helps = "Find what it waits for there, such as data, or what other work it does.";
      break;
  }
  return fmt::format("The device is idle for {} of the step {}: {} of {}. {}", share(ratio(advice.part, advice.whole)),
                     why, duration(advice.part), duration(advice.whole), what_helps);
}

/// Whether each phase of the step runs below the line, as below `main()`.
bool runs_whole_step(const analysis::LineCost& line, const Profile& profile) {
  constexpr double kAll = 0.98;
  const double whole = profile.iteration.ms.value;
  if (line.total_ms < kAll * whole) {
    return false;
  }
  for (std::size_t i = 0; i < analysis::kPhaseCount; ++i) {
    const double all = profile.iteration.by_phase[i];
    if (all > kNegligible * whole && line.total_by_phase[i] < all / 2) {
      return false;
    }
  }
  return true;
}

std::string own_time_label(const analysis::LineCost& line, const Profile& profile) {
  const double part = ratio(line.self_ms, profile.iteration.ms.value);
  return part < kShownShare ? "" : share(part) + " · " + approximately(profile) + duration(line.self_ms);
}

/// Forward and backward of what runs below a line, as shares of the step.
struct Passes {
  double forward = 0;
  double backward = 0;
  bool is_backward_call = false;  ///< all of backward runs below it, and none of forward
};

Passes passes_of(const analysis::LineCost& line, const Profile& profile) {
  constexpr double kMostOfBackward = 0.9;
  const auto in = [&](const analysis::ByPhase& times, analysis::Phase phase) {
    return ratio(times[static_cast<std::size_t>(phase)], profile.iteration.ms.value);
  };
  const auto backward_in = [&](const analysis::ByPhase& times) {
    return in(times, analysis::Phase::kBackward) + in(times, analysis::Phase::kRecomputation);
  };
  Passes passes{in(line.total_by_phase, analysis::Phase::kForward), backward_in(line.total_by_phase)};
  passes.is_backward_call = passes.forward < kLeastPass && passes.backward >= kLeastPass &&
                            passes.backward >= kMostOfBackward * backward_in(profile.iteration.by_phase);
  return passes;
}

std::string total_label(const analysis::LineCost& line, const Profile& profile) {
  const double whole = profile.iteration.ms.value;
  const Passes passes = passes_of(line, profile);
  if (passes.is_backward_call) {
    return "backward of all lines " + share(passes.backward);
  }
  if (passes.forward >= kLeastPass && passes.backward >= kLeastPass) {
    return "forward " + share(passes.forward) + " · backward " + share(passes.backward);
  }
  return "total " + share(ratio(line.total_ms, whole)) + " · " + approximately(profile) + duration(line.total_ms);
}

}  // namespace

ShownTime shown_time(const analysis::LineCost& line, const Profile& profile) {
  const double whole = profile.iteration.ms.value;
  if (line.total_ms < kTotalShare * whole || line.total_ms < kTimesOwn * line.self_ms) {
    return ShownTime::kSelf;
  }
  return runs_whole_step(line, profile) ? ShownTime::kNothing : ShownTime::kTotal;
}

std::string line_label(const analysis::LineCost& line, const Profile& profile, LabelFormat format) {
  std::string time;
  switch (format == LabelFormat::kMemory ? ShownTime::kNothing : shown_time(line, profile)) {
    case ShownTime::kSelf:
      time = own_time_label(line, profile);
      break;
    case ShownTime::kTotal:
      time = total_label(line, profile);
      break;
    case ShownTime::kNothing:
      break;
  }
  const double peak_part = ratio(static_cast<double>(line.peak_bytes), static_cast<double>(profile.peak_bytes));
  const bool has_memory = peak_part >= kShownShare && format != LabelFormat::kTime;
  const std::string memory = has_memory ? size(static_cast<double>(line.peak_bytes)) : "";
  return time + (!time.empty() && has_memory ? " · " : "") + memory;
}

std::string counted_text(const analysis::LineCost& line, const Profile& profile) {
  if (shown_time(line, profile) != ShownTime::kTotal) {
    return {};
  }
  const Passes passes = passes_of(line, profile);
  if (passes.is_backward_call) {
    return "The backward pass of all lines runs here: their totals have their parts of it, too";
  }
  return passes.forward >= kLeastPass && passes.backward >= kLeastPass
             ? "The total has " + share(passes.backward) +
                   " of backward, which the total of the line that calls backward has, too"
             : "";
}

std::string line_explanation(const analysis::LineCost& line, const Profile& profile) {
  const double ms = profile.iteration.ms.value;
  std::string text = fmt::format("{}: {} of the step", duration(line.self_ms), share(ratio(line.self_ms, ms)));
  if (line.total_ms > line.self_ms * (1 + kNegligible)) {
    text += fmt::format(", {} with what it calls", share(ratio(line.total_ms, ms)));
  }
  if (line.peak_bytes > 0) {
    text += fmt::format(". {}: {} of the peak", size(static_cast<double>(line.peak_bytes)),
                        share(ratio(static_cast<double>(line.peak_bytes), static_cast<double>(profile.peak_bytes))));
  }
  if (analysis::is_uncertain(profile)) {
    text += fmt::format(". The step took {} to {} (95 % interval): it varies a lot", duration(profile.iteration.ms.low),
                        duration(profile.iteration.ms.high));
  }
  return text;
}

std::string change_label(const Profile& before, const Profile& now, const analysis::TimeChange& time) {
  if (before.batch_size != now.batch_size || before.iteration.ms.value <= 0) {
    return {};
  }
  if (before.environment.others_used || now.environment.others_used) {
    return "not compared: the machine was busy";
  }
  std::string text = time_change_label(before, now, time);
  const double more = static_cast<double>(now.peak_bytes) - static_cast<double>(before.peak_bytes);
  if (std::abs(more) > kNegligible * static_cast<double>(before.peak_bytes)) {
    text += fmt::format(", {} {} at the peak", size(std::abs(more)), more > 0 ? "more" : "less");
  }
  return text;
}

std::string line_change_label(const analysis::TimeChange& time) {
  if (!is_known(time)) {
    return {};
  }
  if (time.change > kMostChangeInPercent) {
    return fmt::format("{:.0f}×", 1 + time.change);
  }
  return (time.change > 0 ? "+" : "−") + share(std::abs(time.change));
}

std::string line_change_explanation(const analysis::TimeChange& time) {
  if (!is_known(time)) {
    return {};
  }
  return fmt::format("{} {} than in the profile before: {}, was {}", share(std::abs(time.change)),
                     time.change > 0 ? "slower" : "faster", duration(time.after_ms), duration(time.before_ms));
}

std::string throughput_label(const Profile& profile) {
  std::string text = throughput_text(profile);
  if (profile.samples_per_second && profile.max_samples_per_second) {
    text += fmt::format(" ({} of the maximum {})",
                        share(ratio(*profile.samples_per_second, *profile.max_samples_per_second)),
                        figure(*profile.max_samples_per_second));
  }
  return text;
}

std::string memory_label(const Profile& profile) {
  if (!profile.peak_known) {
    return "peak memory unknown";
  }
  return of_capacity(size(static_cast<double>(profile.peak_bytes)), static_cast<double>(profile.capacity_bytes));
}

std::string knowledge_label(const BatchPrediction& batch) {
  if (batch.measured) {
    return "measured";
  }
  if (batch.failed) {
    return batch.failed->kind == protocol::FailureKind::kOutOfMemory ? "ran out of memory when it was run"
                                                                     : "failed when it was run";
  }
  return (batch.carried_over ? "predicted from before the save" : "predicted") + extrapolated(batch);
}

std::string batch_label(const BatchPrediction& batch) {
  if (batch.failed) {
    return knowledge_label(batch);
  }
  std::string text = batch_rate(batch);
  if (const std::string peak = peak_of_batch(batch); !peak.empty()) {
    text += (text.empty() ? "" : " · ") + peak;
  }
  return (text.empty() ? "nothing is known" : text + ", " + knowledge_label(batch)) +
         (batch.fits == false ? ", does not fit" : "");
}

std::string batch_size_title(const BatchPrediction& wanted, const BatchPrediction& now, std::uint64_t capacity_bytes) {
  std::string effect;
  const bool measured = wanted.measured && now.measured;
  if (measured && now.measured->samples_per_second > 0) {
    effect = fmt::format("{:.2f}× throughput", wanted.measured->samples_per_second / now.measured->samples_per_second);
  } else if (wanted.samples_per_second && now.samples_per_second && now.samples_per_second->value > 0) {
    effect = times_text(*wanted.samples_per_second, now.samples_per_second->value);
  }
  if (needed_bytes(wanted)) {
    effect += (effect.empty() ? "" : ", ") + of_capacity(needed_memory(wanted), static_cast<double>(capacity_bytes));
  }
  return fmt::format("Set batch size to {}{}{}", wanted.batch_size, effect.empty() ? "" : ": " + effect,
                     measured ? " (measured)" : extrapolated(wanted));
}

std::string advice_text(const Advice& advice, const Profile& profile) {
  const std::string part = share(ratio(advice.part, advice.whole));
  switch (advice.kind) {
    case AdviceKind::kWillNotFit:
      return will_not_fit(advice);
    case AdviceKind::kThroughputSaturates:
      return saturates(advice);
    case AdviceKind::kInputStarves:
      return fmt::format("Loading data takes {} of the step: {} of {}. Load it beforehand or in more workers.", part,
                         duration(advice.part), duration(advice.whole));
    case AdviceKind::kHotLine:
      return fmt::format("This line takes {} of the step: {} of {}.", part, duration(advice.part),
                         duration(advice.whole));
    case AdviceKind::kOptimizerDominates:
      return fmt::format(
          "The optimizer takes {} of the step: {} of {}. {} spread it.", part, duration(advice.part),
          duration(advice.whole),
          advice.larger_batch_helps ? "A larger batch or accumulated gradients" : "Accumulated gradients");
    case AdviceKind::kActivationsDominate:
      return fmt::format(
          "Activations are {} of the peak: {} of {}, and the peak fills {} of the device. A smaller "
          "batch or checkpointing frees most.",
          part, size(advice.part), size(advice.whole),
          share(ratio(static_cast<double>(profile.peak_bytes), static_cast<double>(profile.capacity_bytes))));
    case AdviceKind::kHostBound:
      if (profile.device) {
        return device_idle(advice, profile);
      }
      return fmt::format(
          "No operation runs for {} of the step: {} of {} are Python between operations. {} and larger operations or "
          "torch.compile help.",
          part, duration(advice.part), duration(advice.whole),
          advice.larger_batch_helps ? "A larger batch, fewer" : "Fewer");
    case AdviceKind::kCopiesBlock:
      return fmt::format(
          "Copies block the device for {} of the step: {} of {} in which no kernel runs. With pin_memory=True in "
          "the loader and non_blocking=True they overlap with kernels.",
          part, duration(advice.part), duration(advice.whole));
    case AdviceKind::kSynchronises:
      return fmt::format(
          "The device is idle for {} of the step while the host waits in calls that synchronise or copy: {} "
          "of {}, most of them made here. Read values such as .item() less often, or after the next step was launched.",
          part, duration(advice.part), duration(advice.whole));
    case AdviceKind::kPaddingPays:
      return padding_text(*advice.padding);
    case AdviceKind::kGraphBreak:
      return graph_break_text(*advice.graph_break);
    case AdviceKind::kRecompiles:
      return recompilation_text(*advice.recompiled);
    case AdviceKind::kLittleArithmetic:
      return {};  // line_observations() has it
    case AdviceKind::kGradientNeverUsed:
      return fmt::format(
          "{} made here {} a gradient in every iteration that nothing uses, {} in all: {}. Give {} to the optimizer, "
          "or set requires_grad to False, which also saves the time of the gradient.",
          plural(advice.parameters, "parameter"), advice.parameters == 1 ? "gets" : "get", size(advice.part),
          advice.parameter + (advice.parameters == 1 ? "" : ", and others"), advice.parameters == 1 ? "it" : "them");
  }
  return {};
}

}  // namespace ridgeline::report
