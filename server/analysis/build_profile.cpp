#include "analysis/build_profile.h"

#include <algorithm>
#include <string>

#include "analysis/breakdown.h"
#include "analysis/line_costs.h"
#include "analysis/models.h"
#include "analysis/peak_model.h"

namespace ridgeline::analysis {

namespace {

constexpr double kNsPerMs = 1e6;

Measured bare_time_ms(const BatchRun& run) {
  const Measured ns = median_interval(run.times_ns);
  return {ns.value / kNsPerMs, ns.low / kNsPerMs, ns.high / kNsPerMs};
}

void add_models(const RunInput& input, Profile& profile) {
  std::vector<const BatchRun*> runs;
  for (const BatchRun& run : input.runs) {
    runs.push_back(&run);
  }
  std::ranges::sort(runs, {}, &BatchRun::batch_size);
  std::vector<Point> times;
  std::vector<Point> peaks;
  for (const BatchRun* run : runs) {
    const bool user = run->batch_size == input.batch_size;
    const std::uint64_t peak = user ? profile.peak_bytes : peak_bytes(run->recording);
    profile.time_samples.push_back({run->batch_size, bare_time_ms(*run), static_cast<int>(run->times_ns.size())});
    profile.memory_samples.push_back({run->batch_size, peak});
    times.push_back({static_cast<double>(run->batch_size), profile.time_samples.back().ms.value});
    peaks.push_back({static_cast<double>(run->batch_size), static_cast<double>(peak)});
  }
  profile.time_model = fit_line(times);
  profile.memory_model = fit_line(peaks);
  std::vector<SampledMemory> sampled;
  for (const BatchRun* run : runs) {
    sampled.push_back({run->batch_size, &run->recording});
  }
  std::string why_not;
  profile.peak_model = fit_peak_model(sampled, input.scope, why_not);
  if (!profile.peak_model.has_value() && runs.size() > 1) {
    profile.warnings.push_back("Memory at other batch sizes is a straight line through the sampled peaks: " + why_not +
                               ".");
  }
  if (profile.time_model.has_value() && profile.time_model->slope > 0) {
    profile.max_samples_per_second = 1000.0 / profile.time_model->slope;
  }
}

void add_warnings(const BatchRun& run, Profile& profile) {
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
  const double width = profile.iteration.ms.high - profile.iteration.ms.low;
  if (profile.iteration.ms.value > 0 && width / profile.iteration.ms.value > 0.1) {
    profile.warnings.push_back("The iteration time varies much: its 95 % interval is " +
                               std::to_string(static_cast<int>(100 * width / profile.iteration.ms.value)) +
                               " % wide. Another program may be using this machine.");
  }
  if (profile.scale < 0.8 || profile.scale > 1.25) {
    profile.warnings.push_back(
        "The recorded iterations took " + std::to_string(static_cast<int>(100 / profile.scale)) +
        " % of the bare ones after the cost of recording was taken out: shares of small lines are less certain.");
  }
}

}  // namespace

Profile build_profile(const RunInput& input) {
  const auto user = std::ranges::find(input.runs, input.batch_size, &BatchRun::batch_size);
  const BatchRun& run = *user;
  CallTree tree(run.recording, input.scope);
  const Attribution attribution = attribute(run.recording, tree);
  const Timeline timeline = build_timeline(run.recording, attribution, tree);
  const MemoryAnalysis memory = analyse_memory(run.recording, attribution, tree);

  Profile profile;
  profile.entry_path = input.entry_path;
  profile.project_root = input.scope.project_root;
  profile.batch_size = input.batch_size;
  profile.environment = input.environment;
  profile.capacity_bytes = input.capacity_bytes;
  profile.skipped = input.skipped;
  profile.warnings = input.warnings;
  profile.iteration.ms = bare_time_ms(run);
  profile.iteration.iterations = static_cast<int>(run.times_ns.size());
  profile.iteration.warmup_iterations = run.warmup_iterations;
  profile.samples_per_second =
      profile.iteration.ms.value > 0 ? 1000.0 * input.batch_size / profile.iteration.ms.value : 0;
  profile.scale = timeline.total_ns > 0 ? profile.iteration.ms.value * kNsPerMs / timeline.total_ns : 1;
  profile.recording_overhead =
      profile.iteration.ms.value > 0 ? timeline.recorded_ns / (profile.iteration.ms.value * kNsPerMs) - 1 : 0;
  profile.recorded_iterations = timeline.iterations;

  const BreakdownInput parts{run.recording, input.scope, tree, timeline, memory, profile.scale};
  LineTable lines = build_lines(parts);
  profile.user_line_share = profile.iteration.ms.value > 0 ? lines.user_ms / profile.iteration.ms.value : 0;
  profile.lines = std::move(lines.lines);
  profile.other = std::move(lines.other);
  profile.breakdown = build_breakdown(parts);
  profile.iteration.by_phase = profile.breakdown.by_phase;
  profile.peak_bytes = memory.peak_bytes;
  for (const MemoryCost& cost : memory.at_peak) {
    profile.by_category[static_cast<std::size_t>(cost.category)] += cost.bytes;
  }
  add_models(input, profile);
  add_warnings(run, profile);
  return profile;
}

}  // namespace ridgeline::analysis
