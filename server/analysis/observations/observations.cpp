#include "analysis/observations/observations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "analysis/values/idle_cause.h"

namespace ridgeline::analysis {

namespace {

constexpr std::size_t kMostLines = 3;

Observation without_figures(Verdict verdict, std::string reason) {
  Observation made;
  made.verdict = verdict;
  made.reason = std::move(reason);
  return made;
}
Observation unknown(std::string reason) { return without_figures(Verdict::kUnknown, std::move(reason)); }
Observation not_applicable(std::string reason) { return without_figures(Verdict::kNotApplicable, std::move(reason)); }

Observation decided(bool holds, std::vector<Figure> figures, std::string consequence = {}) {
  Observation made;
  made.verdict = holds ? Verdict::kHolds : Verdict::kDoesNotHold;
  made.figures = std::move(figures);
  made.consequence = std::move(consequence);
  return made;
}

double per_second(int batch_size, double ms) { return batch_size / ms * 1e3; }

/// The smallest and the largest batch size that were timed; nothing when that is one.
std::optional<std::pair<TimeSample, TimeSample>> ends_of(const Profile& profile) {
  const auto& samples = profile.time_samples;
  if (samples.size() < 2 || samples.front().ms.low <= 0 || samples.back().ms.low <= 0) {
    return std::nullopt;
  }
  return std::pair(samples.front(), samples.back());
}

constexpr const char* kOneSize = "one batch size was timed; give several with --batch-sizes";

/// By the intervals of both; nothing where they do not decide.
std::optional<bool> grows(const TimeSample& small, const TimeSample& large) {
  const double least = per_second(large.batch_size, large.ms.high) / per_second(small.batch_size, small.ms.low);
  const double most = per_second(large.batch_size, large.ms.low) / per_second(small.batch_size, small.ms.high);
  if (least > kSameThroughput) {
    return true;
  }
  if (most < kSameThroughput) {
    return false;
  }
  return std::nullopt;
}

Figure throughput_of(const TimeSample& sample) {
  return {fmt::format("throughput at batch {}", sample.batch_size), per_second(sample.batch_size, sample.ms.value),
          Unit::kSamplesPerSecond};
}

Observation throughput_grows(const Profile& profile) {
  const auto ends = ends_of(profile);
  if (!ends) {
    return unknown(kOneSize);
  }
  const auto grown = grows(ends->first, ends->second);
  if (!grown) {
    return unknown("the throughputs differ by less than their noise, or both intervals are too wide");
  }
  return decided(*grown, {throughput_of(ends->first), throughput_of(ends->second)});
}

Observation is_not_saturated(const Profile& profile) {
  const auto ends = ends_of(profile);
  if (!ends || !profile.max_samples_per_second) {
    return unknown("the time model gives no greatest throughput");
  }
  const TimeSample& largest = ends->second;
  const auto share = [&](double ms) { return per_second(largest.batch_size, ms) / *profile.max_samples_per_second; };
  if (share(largest.ms.high) < kSaturated && share(largest.ms.low) >= kSaturated) {
    return unknown("the interval of the throughput at that size does not decide it");
  }
  return decided(
      share(largest.ms.value) < kSaturated,
      {throughput_of(largest), {"of the model's greatest throughput", share(largest.ms.value), Unit::kShare}});
}

/// Part of the iteration in which the device, or on a CPU the operations, are at work; nothing where it is not known.
std::optional<double> busy_share(const Profile& profile) {
  const double whole = profile.iteration.ms.value;
  if (whole <= 0 || !has_all_kernels(profile)) {
    return std::nullopt;
  }
  const double idle = profile.device ? profile.device->idle_ms : profile.iteration.between_operations_ms;
  return std::clamp(1 - idle / whole, 0.0, 1.0);
}

/// Why busy_share() is nothing.
const char* why_unknown(const Profile& profile) {
  return profile.iteration.ms.value > 0 ? "launches without a kernel in the recording: how long the device is idle is "
                                          "not known"
                                        : "nothing was timed";
}

const char* to_keep_busy(const Profile& profile, BatchVerdict larger) {
  switch (idle_cause(profile).value_or(IdleCause::kHost)) {
    case IdleCause::kData:
      return "the device waits for data: more workers in the loader, or loading ahead of the step";
    case IdleCause::kPauses:
      return "the host runs no operation for most of that time: find what it waits for there, such as data, first";
    case IdleCause::kHost:
      break;
  }
  return larger == BatchVerdict::kEnough
             ? "fewer, larger operations (torch.compile, fused optimizers)"
             : "a larger batch or fewer, larger operations (torch.compile, fused optimizers)";
}

Observation keeps_busy(const Profile& profile, BatchVerdict larger) {
  const auto busy = busy_share(profile);
  if (!busy) {
    return unknown(why_unknown(profile));
  }
  const bool is_busy = *busy >= kBusy;
  Observation made = decided(is_busy, {{profile.device ? "device busy" : "in operations", *busy, Unit::kShare}},
                             is_busy ? "" : to_keep_busy(profile, larger));
  made.negation = profile.device ? "The device is idle for part of the step" : "Part of the step is outside operations";
  return made;
}

bool is_recurrent(std::string_view type) { return type == "LSTM" || type == "GRU" || type == "RNN"; }

/// The outermost ones.
std::vector<const Node*> recurrent_modules(const Node& root) {
  std::vector<const Node*> found;
  std::vector<const Node*> waiting = {&root};  // as deep as the user's modules: no recursion
  while (!waiting.empty()) {
    const Node& node = *waiting.back();
    waiting.pop_back();
    if (is_recurrent(node.type)) {
      found.push_back(&node);
      continue;
    }
    for (const Node& child : node.children) {
      waiting.push_back(&child);
    }
  }
  return found;
}

double recurrent_ms(const Node& root) {
  double ms = 0;
  for (const Node* module : recurrent_modules(root)) {
    ms += module->ms;
  }
  return ms;
}

/// Nothing where recurrent layers matter.
std::optional<Observation> without_recurrent_layers(const Profile& profile) {
  const double share =
      profile.iteration.ms.value > 0 ? recurrent_ms(profile.breakdown) / profile.iteration.ms.value : 0;
  if (share >= kRecurrentShare) {
    return std::nullopt;
  }
  return not_applicable("LSTM, GRU and RNN layers take less than a tenth of the step");
}

Observation recurrent_layers_idle(const Profile& profile) {
  if (auto none = without_recurrent_layers(profile)) {
    return *none;
  }
  const auto busy = busy_share(profile);
  if (!busy) {
    return unknown(why_unknown(profile));
  }
  return decided(*busy < kBusy,
                 {{"recurrent layers", recurrent_ms(profile.breakdown) / profile.iteration.ms.value, Unit::kShare},
                  {profile.device ? "device busy" : "in operations", *busy, Unit::kShare}},
                 *busy < kBusy ? "longer batches of sequences, or attention in place of recurrence" : "");
}

constexpr const char* kNoBounds =
    "what operations attain is not known: measure with `ridgeline machine measure`, profile again";

/// FLOPs of matrices at the peaks of their types, over the time of the operations.
std::optional<double> peak_share(const WorkCost& work) {
  return work.ms > 0 && work.matrix_peak_ms > 0 ? std::optional(work.matrix_peak_ms / work.ms) : std::nullopt;
}

/// FLOPs grow as the batch does, so that utilisation grows as throughput does.
Observation arithmetic_grows(const Profile& profile) {
  const auto ends = ends_of(profile);
  if (!profile.work || !profile.work->model_flop_utilisation) {
    return unknown(kNoBounds);
  }
  if (!ends) {
    return unknown(kOneSize);
  }
  const auto grown = grows(ends->first, ends->second);
  if (!grown) {
    return unknown("the throughputs differ by less than their noise, or both intervals are too wide");
  }
  const double now = *profile.work->model_flop_utilisation * profile.iteration.ms.value / profile.batch_size;
  const auto at = [&](const TimeSample& sample) {
    return Figure{fmt::format("model FLOP utilisation at batch {}", sample.batch_size),
                  now * sample.batch_size / sample.ms.value, Unit::kShare};
  };
  return decided(*grown, {at(ends->first), at(ends->second)});
}

/// Those that call recurrent modules.
std::vector<Location> recurrent_lines(const Node& root) {
  std::vector<Location> lines;
  for (const Node* module : recurrent_modules(root)) {
    lines.push_back(module->location);
    for (const Caller& caller : module->callers) {
      lines.push_back(caller.location);
    }
  }
  return lines;
}

Observation recurrent_layers_use_little(const Profile& profile) {
  if (auto none = without_recurrent_layers(profile)) {
    return *none;
  }
  if (!profile.work || !profile.work->device) {
    return unknown(kNoBounds);
  }
  const std::vector<Location> lines = recurrent_lines(profile.breakdown);
  WorkCost recurrent;
  WorkCost others;
  for (const LineWork& line : profile.work->lines) {
    const bool calls_one = std::ranges::find(lines, line.location) != lines.end();
    WorkCost& sum = calls_one ? recurrent : others;
    sum.ms += line.work.matrix_flops > 0 ? line.work.ms : 0;
    sum.matrix_peak_ms += line.work.matrix_peak_ms;
  }
  const auto of_recurrent = peak_share(recurrent);
  const auto of_others = peak_share(others);
  if (!of_recurrent || !of_others) {
    return unknown("of the lines that call recurrent layers, or of the others, no FLOPs are known");
  }
  if (std::abs(*of_recurrent / *of_others - 1) < kSameShare) {
    return unknown("recurrent lines and others use shares of the peak that differ by less than a tenth");
  }
  return decided(*of_recurrent < *of_others,
                 {{"of the peak, recurrent lines", *of_recurrent, Unit::kShare},
                  {"of the peak, other lines with matrices", *of_others, Unit::kShare}},
                 *of_recurrent < *of_others ? "larger hidden sizes or batches use more of the peak" : "");
}

Observation long_lines_use_little(const Profile& profile) {
  if (!profile.work || !profile.work->device) {
    return unknown(kNoBounds);
  }
  const auto average = peak_share(profile.work->total);
  if (!average) {
    return unknown("no product of matrices has a peak to compare with");
  }
  Observation made = decided(false, {{"of the peak, on average", *average, Unit::kShare}});
  for (const LineWork& line : profile.work->lines) {
    const double share = line.work.ms > 0 ? line.work.matrix_peak_ms / line.work.ms : 0;
    const double time = line.work.ms / profile.iteration.ms.value;
    if (time < kMuchTime || share >= *average / 2 || made.figures.size() > kMostLines) {
      continue;
    }
    made.verdict = Verdict::kHolds;
    made.figures.push_back({fmt::format("{}:{} takes", line.location.file, line.location.line), time, Unit::kShare});
    if (made.location.file.empty()) {
      made.location = line.location;
    }
  }
  if (made.verdict == Verdict::kHolds) {
    made.consequence = "more arithmetic does not help these lines; fusing them or fewer passes over memory may";
  }
  return made;
}

Observation activations_dominate(const Profile& profile) {
  if (!profile.peak_known || profile.peak_bytes == 0) {
    return unknown("the peak of memory is not known");
  }
  const auto share = [&](Category category) {
    return static_cast<double>(profile.by_category.at(static_cast<std::size_t>(category))) /
           static_cast<double>(profile.peak_bytes);
  };
  const double activations = share(Category::kActivations);
  const bool holds =
      std::ranges::max(profile.by_category) == profile.by_category.at(static_cast<std::size_t>(Category::kActivations));
  return decided(
      holds,
      {{"activations at the peak", activations, Unit::kShare}, {"weights", share(Category::kWeights), Unit::kShare}},
      holds ? "activation checkpointing or smaller dtypes save most" : "");
}

Observation filling_memory_brings_little(const Outlook& outlook, Verdict is_not_saturated) {
  const auto& enough = outlook.enough.batch;
  const auto& fits = outlook.fits.batch;
  if (!enough || !fits || enough->batch_size < 1) {
    return unknown("not both batch sizes are known");
  }
  const bool holds = enough->batch_size * 2 <= fits->batch_size;
  if (holds && is_not_saturated == Verdict::kHolds) {
    return unknown("the throughput that was measured at the largest batch size contradicts the models");
  }
  return decided(holds,
                 {{"95 % of the greatest throughput at batch", static_cast<double>(enough->batch_size), Unit::kSamples},
                  {"largest that fits", static_cast<double>(fits->batch_size), Unit::kSamples}});
}

constexpr std::array<const char*, 12> kStatements = {
    "Throughput grows with the batch size",
    "Throughput is not saturated at the largest batch size that was timed",
    "Frameworks differ by application",
    "The batch is large enough to keep the device busy",
    "Recurrent layers leave the device idle",
    "A larger batch uses more of the arithmetic peak",
    "Recurrent layers use less of the arithmetic peak than other layers",
    "Some lines take long and use little of the arithmetic peak",
    "A faster device is used less well",
    "Activations are the largest part of the memory",
    "Filling the memory with a large batch brings little",
    "The network limits how training scales"};

}  // namespace

std::vector<Observation> observe(const Profile& profile, const Outlook& outlook) {
  const Observation not_saturated = is_not_saturated(profile);
  std::vector<Observation> all = {
      throughput_grows(profile),
      not_saturated,
      not_applicable("it compares frameworks"),
      keeps_busy(profile, outlook.conclusion.verdict),
      recurrent_layers_idle(profile),
      arithmetic_grows(profile),
      recurrent_layers_use_little(profile),
      long_lines_use_little(profile),
      not_applicable("it compares devices; see `ridgeline devices --on`"),
      activations_dominate(profile),
      filling_memory_brings_little(outlook, not_saturated.verdict),
      not_applicable("one process has no network; see `ridgeline job show` for ranks"),
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].number = static_cast<int>(i) + 1;
    all[i].statement = kStatements.at(i);
  }
  return all;
}

}  // namespace ridgeline::analysis
