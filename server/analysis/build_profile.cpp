#include "analysis/build_profile.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "analysis/analysed_run.h"
#include "analysis/attribution/compiled_lines.h"
#include "analysis/breakdown/breakdown.h"
#include "analysis/breakdown/device_time.h"
#include "analysis/breakdown/library_call.h"
#include "analysis/breakdown/line_costs.h"
#include "analysis/memory/allocator_model.h"
#include "analysis/memory/allocator_replay.h"
#include "analysis/memory/memory_over_time.h"
#include "analysis/memory/peak_model.h"
#include "analysis/memory/regimes.h"
#include "analysis/memory/step_replay.h"
#include "analysis/out_of_memory.h"
#include "analysis/prediction/predictor.h"
#include "analysis/script_figures.h"
#include "analysis/time/isotonic_samples.h"
#include "analysis/time/noise.h"
#include "analysis/time/time_model.h"
#include "analysis/time/time_sample.h"

namespace ridgeline::analysis {

namespace {

/// Rounded, without the sign; a ratio that is not finite or absurdly large gives a large number.
std::string percent(double ratio) { return std::to_string(std::lround(std::clamp(100 * ratio, 0.0, 1e9))); }

constexpr double kNsPerMs = 1e6;

using Runs = std::vector<AnalysedRun>;  ///< by batch size

ByCategory by_category(const MemoryAnalysis& memory) {
  ByCategory categories{};
  for (const MemoryCost& cost : memory.at_peak) {
    categories[static_cast<std::size_t>(cost.category)] += cost.bytes;
  }
  return categories;
}

/// What a part took at every timed size, given what it took at the recorded ones, `values`. At a size without a
/// recording it has the share of the iteration that it has at the recorded neighbours, by the distance between them; so
/// parts that sum to the iteration do so there, too.
std::vector<double> at_timed_sizes(const Runs& recorded, std::span<const TimeSample> timed,
                                   std::span<const double> values) {
  const auto share = [&](std::size_t i) { return values[i] / recorded[i].time.ms.value; };
  std::vector<double> all;
  for (const TimeSample& sample : timed) {
    std::size_t right = 0;
    while (right + 1 < recorded.size() && recorded[right].batch_size() < sample.batch_size) {
      ++right;
    }
    const int high = recorded[right].batch_size();
    if (high <= sample.batch_size || right == 0) {
      all.push_back(high == sample.batch_size ? values[right] : share(right) * sample.ms.value);
      continue;
    }
    const int low = recorded[right - 1].batch_size();
    const double part = static_cast<double>(sample.batch_size - low) / (high - low);
    all.push_back(((1 - part) * share(right - 1) + part * share(right)) * sample.ms.value);
  }
  return all;
}

/// Gives every line and item of the profile its own share of the time model.
void add_line_models(const Runs& sampled, Profile& profile) {
  std::map<std::pair<std::string, std::uint32_t>, std::vector<double>> lines;
  std::map<std::string, std::vector<double>> items;
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    const LineTable& table = sampled[i].lines;
    const auto at = [&](std::vector<double>& values) -> double& {
      values.resize(sampled.size());
      return values[i];
    };
    for (const LineCost& line : table.lines) {
      at(lines[{line.location.file, line.location.line}]) += line.self_ms;
    }
    for (const OtherCost& item : table.other) {
      at(items[item.name]) += item.ms;
    }
  }
  std::vector<std::vector<double>> parts;
  const auto add_part = [&](std::vector<double>& values) {
    values.resize(sampled.size());
    parts.push_back(at_timed_sizes(sampled, profile.time_samples, values));
  };
  for (const LineCost& line : profile.lines) {
    add_part(lines[{line.location.file, line.location.line}]);
  }
  for (const OtherCost& item : profile.other) {
    add_part(items[item.name]);
  }
  std::vector<std::vector<Piece>> models = fit_parts(*profile.time_model, parts);
  models.resize(parts.size());  // empty where the samples do not determine them
  for (std::size_t i = 0; i < profile.lines.size(); ++i) {
    profile.lines[i].self_model = std::move(models[i]);
  }
  for (std::size_t i = 0; i < profile.other.size(); ++i) {
    profile.other[i].model = std::move(models[profile.lines.size() + i]);
  }
}

/// How much of the device the step needs at other batch sizes, by its allocator.
void add_allocator_model(const Ledger& ledger, const std::vector<const recording::Recording*>& recordings,
                         const AllocatorSetup& setup, Profile& profile) {
  std::vector<int> sizes;
  for (const MemorySample& sample : profile.memory_samples) {
    sizes.push_back(sample.batch_size);
  }
  auto model = make_allocator_model(ledger, sizes, recordings, setup);
  if (!model) {
    profile.warnings.push_back("Reserved memory at other batch sizes is not known: " + model.error().message() + ".");
    return;
  }
  model->parts_of_batch = profile.peak_model->parts_of_batch;
  const LargestBatch largest = largest_that_fits(*model, device_of(setup), kMaxBatchSize);
  model->largest = largest.batch_size;
  model->is_bounded = largest.is_bounded;
  profile.allocator = std::make_shared<const AllocatorModel>(std::move(*model));
}

void add_memory_models(const Runs& sampled, const std::optional<AllocatorSetup>& setup, Profile& profile) {
  std::vector<SampledMemory> memories;
  std::vector<const recording::Recording*> recordings;
  for (const AnalysedRun& run : sampled) {
    recordings.push_back(&run.run->recording);
    const auto label = [&run](std::uint32_t event) { return label_of(run, event); };
    memories.push_back({run.batch_size(), recordings.back(), label, run.backward_passes});
  }
  const auto ledger = match_allocations(recordings);
  if (ledger) {
    profile.peak_model = fit_peak_model(memories, *ledger);
    if (profile.environment.device == "cpu") {
      std::vector<int> sizes;
      for (const AnalysedRun& run : sampled) {
        sizes.push_back(run.batch_size());
      }
      profile.regimes = regimes_of(*ledger, sizes);
    }
    if (setup.has_value()) {
      add_allocator_model(*ledger, recordings, *setup, profile);
    }
  } else if (sampled.size() > 1) {
    profile.warnings.push_back(
        "Memory at other batch sizes is a straight line through the sampled peaks: " + ledger.error().message() + ".");
  }
}

std::string text_of(const Location& place) { return place.file + ":" + std::to_string(place.line); }

/// Names an `input_provider` that ignores its `batch_size`: no figure of another batch size means anything then.
void add_constant_inputs_warning(const Runs& sampled, Profile& profile) {
  const auto inputs_of = [](const AnalysedRun& run) {
    return by_category(run.memory)[static_cast<std::size_t>(Category::kInputs)];
  };
  const auto differs = [&](const AnalysedRun& run) { return inputs_of(run) != inputs_of(sampled.front()); };
  if (sampled.size() < 2 || inputs_of(sampled.front()) == 0 || std::ranges::any_of(sampled, differs)) {
    return;
  }
  const MemoryCost* largest = nullptr;
  for (const MemoryCost& block : sampled.front().memory.at_peak) {
    if (block.category == Category::kInputs && (largest == nullptr || block.bytes > largest->bytes)) {
      largest = &block;
    }
  }
  const AnalysedRun& run = sampled.front();
  const LineId line = run.timeline.tree[largest->owner].self_line;
  const Location place = line == 0 ? Location{} : location_of(line, run.run->recording, run.timeline.tree, *run.scope);
  profile.warnings.push_back("The inputs take the same memory at every batch size that was run" +
                             (place.file.empty() ? "" : " (" + text_of(place) + ")") +
                             ": input_provider seems to ignore batch_size.");
}

/// The times of all sizes that belong to the models, by batch size, each once.
std::vector<TimeSample> time_samples(const Runs& sampled, const std::vector<TimedRun>& timed) {
  std::vector<TimeSample> samples;
  for (const AnalysedRun& run : sampled) {
    samples.push_back(run.time);
  }
  for (const TimedRun& run : timed) {
    if (std::ranges::find(samples, run.batch_size, &TimeSample::batch_size) == samples.end()) {
      samples.push_back(time_sample(run.batch_size, run.times_ns, run.per_round));
    }
  }
  std::ranges::sort(samples, {}, &TimeSample::batch_size);
  return samples;
}

/// Names batch sizes whose times the model does not believe.
void add_disturbed_warnings(Profile& profile) {
  const std::vector<TimeSample> isotonic = isotonic_samples(profile.time_samples);
  for (std::size_t i = 0; i < isotonic.size(); ++i) {
    const TimeSample& sample = profile.time_samples[i];
    if (was_disturbed(sample, isotonic[i])) {
      profile.warnings.push_back(fmt::format(
          "Something disturbed the timing of batch size {}: {:.3g} ms ({:.3g} to {:.3g}) does not fit what larger and "
          "smaller batches took. The time model gives it little weight. Profile again when nothing else uses the "
          "machine, or with a larger --seconds.",
          sample.batch_size, sample.ms.value, sample.ms.low, sample.ms.high));
    }
  }
}

void add_models(const Runs& sampled, const RunInput& input, Profile& profile) {
  profile.time_samples = time_samples(sampled, input.timed);
  for (const AnalysedRun& run : sampled) {
    profile.memory_samples.push_back({run.batch_size(), run.memory.peak_bytes});
  }
  double squares = 0;
  for (const TimeSample& sample : profile.time_samples) {
    squares += sample.aa_noise * sample.aa_noise;
  }
  profile.aa_noise = std::sqrt(squares / static_cast<double>(profile.time_samples.size()));
  add_memory_models(sampled, input.allocator, profile);
  add_constant_inputs_warning(sampled, profile);
  fit_models(profile);
  add_disturbed_warnings(profile);
  if (profile.time_model.has_value()) {
    add_line_models(sampled, profile);
  }
}

/// Only the bare time and the peak of a check are used.
void add_checks(const std::vector<const BatchRun*>& checks, const Predictor& predictor, Profile& profile) {
  for (const BatchRun* run : checks) {
    Replay replay(run->recording);
    BatchPrediction predicted = predict_batch(predictor, run->batch_size);
    add_reserved(predictor, predicted);
    profile.checks.push_back({bare_time(*run), find_peak(run->recording, replay).bytes, predicted.extrapolated,
                              predicted.ms, predicted.peak_bytes, peak_reserved(run->recording),
                              predicted.reserved_bytes});
  }
}

/// What makes figures wrong or uncertain comes before what is known of the run, the rest behind it.
void add_warnings(const BatchRun& run, Profile& profile) {
  std::vector<std::string> others = std::exchange(profile.warnings, {});
  const auto lost = run.recording.loss();
  const std::uint64_t ops = lost[static_cast<std::size_t>(recording::Loss::kOps)];
  const std::uint64_t memory = lost[static_cast<std::size_t>(recording::Loss::kMemory)];
  if (ops > 0) {
    profile.warnings.push_back("The recording was full: " + std::to_string(ops) +
                               " operations are missing, and lines that ran late show too little.");
  }
  if (memory > 0) {
    profile.warnings.push_back("The recording was full: " + std::to_string(memory) +
                               " allocations are missing, and memory is too small.");
  }
  if (const auto activities = lost[static_cast<std::size_t>(recording::Loss::kActivities)]; activities > 0) {
    profile.warnings.push_back("The recording was full: " + std::to_string(activities) +
                               " activities of the device are missing, and its time is too small.");
  }
  if (const auto used = profile.environment.others_used) {
    profile.warnings.push_back("The machine was busy while the step was timed: others used " +
                               fmt::format("{:.1f}", *used) +
                               " processors. The times are of that; profile again when the machine is idle.");
  }
  if (profile.device && !profile.device->idle_is_known()) {
    profile.warnings.push_back(percent(profile.device->lost_share) +
                               " % of the launches have no kernel record: the time of those kernels is missing, and "
                               "how long the device is idle is not known, nor what follows from that.");
  }
  if (std::string why = uncertainty(profile); !why.empty()) {
    profile.warnings.push_back(std::move(why));
  }
  std::ranges::move(others, std::back_inserter(profile.warnings));
  const bool trains = !profile.script || profile.script->step.end != protocol::StepEnd::kForward;
  if (trains && profile.batch_size_known && profile.iteration.ms.value > 0 &&
      profile.iteration.by_phase[static_cast<std::size_t>(Phase::kBackward)] == 0) {
    const auto longest = std::ranges::max_element(profile.lines, {}, &LineCost::total_ms);
    profile.warnings.push_back(
        "The iteration has no backward pass: the figures are those of a forward pass" +
        (longest == profile.lines.end() ? "" : ", most of which runs at " + text_of(longest->location)) +
        ". To profile training, call backward() in what iteration_provider returns.");
  }
  if (profile.scale < 0.8 || profile.scale > 1.25) {
    profile.warnings.push_back(
        "The recorded iterations took " + percent(1 / profile.scale) +
        " % of the bare ones after the cost of recording was taken out: shares of small lines are less certain.");
  }
  if (profile.co2_g_per_kwh && !profile.energy) {
    profile.warnings.emplace_back("No energy was measured, and so no CO2: `ridgeline doctor` says why.");
  }
}

/// Milliseconds of the bare iteration in which no operation ran and no data was loaded.
double between_operations_ms(const AnalysedRun& run) {
  double ns = 0;
  for (const auto& [key, cost] : run.timeline.costs) {
    if (key.operation == 0 && key.phase != Phase::kData) {
      ns += cost.ns;
    }
  }
  return ns * run.scale / kNsPerMs;
}

/// By the lines that created the parameters; one without a block in the recording belongs to no line.
void add_unused_gradients(const AnalysedRun& run, const std::vector<UnusedGradient>& unused, Profile& profile) {
  if (unused.empty()) {
    return;
  }
  const recording::Recording& recording = run.run->recording;
  std::map<std::string_view, LineId> made_by;
  for (const MemoryCost& weight : run.memory.weights) {
    if (weight.parameter != recording::kNone) {
      made_by[recording.string(recording.parameter_name()[weight.parameter])] =
          run.timeline.tree[weight.owner].self_line;
    }
  }
  struct Group {
    UnusedGradients total;
    std::uint64_t largest = 0;
  };
  std::map<LineId, Group> groups;
  for (const UnusedGradient& one : unused) {
    const auto found = made_by.find(one.parameter);
    Group& group = groups[found == made_by.end() ? 0 : found->second];
    if (group.total.parameters == 0 || one.bytes > group.largest) {
      group.largest = one.bytes;
      group.total.parameter = one.parameter;
    }
    group.total.parameters += 1;
    group.total.bytes += one.bytes;
  }
  for (auto& [line, group] : groups) {
    if (line != 0) {
      group.total.location = location_of(line, recording, run.timeline.tree, *run.scope);
    }
    profile.unused_gradients.push_back(std::move(group.total));
  }
  std::ranges::stable_sort(profile.unused_gradients, std::greater{}, &UnusedGradients::bytes);
}

/// The figures of the user's batch size.
void add_iteration(const AnalysedRun& run, Profile& profile) {
  const double ms = run.time.ms.value;
  profile.iteration.ms = run.time.ms;
  profile.iteration.iterations = run.time.iterations;
  profile.iteration.warmup_iterations = run.run->warmup_iterations;
  if (profile.batch_size_known) {
    profile.samples_per_second = ms > 0 ? 1000.0 * profile.batch_size / ms : 0;
  }
  profile.scale = run.scale;
  profile.recording_overhead = ms > 0 ? run.timeline.recorded_ns / (ms * kNsPerMs) - 1 : 0;
  profile.recorded_iterations = run.timeline.iterations;
  profile.user_line_share = ms > 0 ? run.lines.user_ms / ms : 0;
  profile.lines = run.lines.lines;
  profile.other = run.lines.other;
  profile.breakdown = build_breakdown(parts_of(run));
  profile.library_call = find_library_call(parts_of(run), profile.breakdown);
  profile.iteration.by_phase = profile.breakdown.by_phase;
  profile.iteration.between_operations_ms = between_operations_ms(run);
  if (run.device.has_value()) {
    profile.device = device_time(parts_of(run), ms);
  }
  profile.peak_bytes = run.memory.peak_bytes;
  profile.by_category = by_category(run.memory);
  if (profile.peak_known) {
    profile.memory_over_time = memory_over_time(run.run->recording, run.memory);
  }
}

}  // namespace

Profile build_profile(const RunInput& input) {
  std::vector<const BatchRun*> recorded;
  std::vector<const BatchRun*> checks;
  for (const BatchRun& run : input.runs) {
    (run.check ? checks : recorded).push_back(&run);
  }
  std::ranges::sort(recorded, {}, &BatchRun::batch_size);
  std::ranges::sort(checks, {}, &BatchRun::batch_size);
  Runs sampled;
  for (const BatchRun* run : recorded) {
    sampled.push_back(analyse_batch(*run, input.scope));
  }
  const AnalysedRun& user = *std::ranges::find(sampled, input.batch_size, &AnalysedRun::batch_size);

  Profile profile;
  profile.entry_path = input.entry_path;
  profile.project_root = input.scope.project_root;
  profile.code = input.scope.code;
  profile.batch_size = input.batch_size;
  profile.batch_size_known = input.batch_size_known;
  profile.peak_known = input.peak_known;
  profile.environment = input.environment;
  profile.capacity_bytes = input.capacity_bytes;
  profile.skipped = input.skipped;
  profile.warnings = input.warnings;
  profile.energy = input.energy;
  profile.length = input.length;
  profile.co2_g_per_kwh = input.co2_g_per_kwh;
  if (input.script.has_value()) {
    profile.script = script_figures(*input.script, input.scope);
  }
  add_iteration(user, profile);
  if (const auto rate = input.script ? varying_throughput(*input.script) : std::nullopt;
      profile.batch_size_known && rate) {
    profile.samples_per_second = rate;
  }
  profile.compilation = compilation_of(user.run->recording, input.scope);
  add_unused_gradients(user, input.unused_gradients, profile);
  if (profile.batch_size_known) {
    add_models(sampled, input, profile);
  }
  if (input.out_of_memory.has_value()) {
    const FailedStep& step = *input.out_of_memory;
    if (step.late_location.has_value()) {
      profile.out_of_memory = late_out_of_memory(step, profile);
    } else {
      profile.out_of_memory = step.recording.has_value() ? describe_out_of_memory(step, input.scope)
                                                         : predict_out_of_memory(profile, step.batch_size);
    }
  }
  if (profile.out_of_memory.has_value() && !input.out_of_memory->late_location.has_value()) {
    add_what_fits(make_predictor(profile), profile.capacity_bytes, *profile.out_of_memory);
  }
  add_checks(checks, make_predictor(profile), profile);
  profile.max_samples_per_second = greatest_throughput(make_predictor(profile));
  add_warnings(*user.run, profile);
  if (user.device.has_value() && user.device->timeline.other_devices > 0) {
    profile.warnings.push_back("Device " + std::to_string(user.device->timeline.device) +
                               " is shown, which did most; " + std::to_string(user.device->timeline.other_devices) +
                               " more worked, too.");
  }
  return profile;
}

}  // namespace ridgeline::analysis
