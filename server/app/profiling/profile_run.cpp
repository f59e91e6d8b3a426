#include "app/profiling/profile_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "analysis/allocator/caching_allocator_conf.h"
#include "analysis/attribution/compiled_lines.h"
#include "analysis/build_profile.h"
#include "analysis/out_of_memory.h"
#include "analysis/prediction/answers.h"
#include "app/profiling/code_names.h"
#include "app/profiling/known_device.h"
#include "app/profiling/listed_work.h"
#include "protocol/recording.h"
#include "report/out_of_memory_text.h"
#include "report/units.h"
#include "step/changes/step_schedule.h"
#include "store/repository_mark.h"
#include "worker/machine.h"
#include "worker/versions.h"

namespace ridgeline::app {

namespace {

/// Part of the available memory that a profile may take before an allocation fails: the rest keeps the machine alive.
constexpr double kMemoryShare = 0.95;

/// What the step runs on.
constexpr const char* kDevice = "cpu";

/// How the device's caching allocator was set up; nothing, with a warning, when there is no model of that.
std::optional<analysis::AllocatorSetup> allocator_of(const protocol::RunDevice& device,
                                                     std::vector<std::string>& warnings) {
  std::string conf = device.allocator_conf;
  if (device.memory_fraction < 1) {
    conf += fmt::format("{}per_process_memory_fraction:{}", conf.empty() ? "" : ",", device.memory_fraction);
  }
  if (const auto settings = analysis::parse_allocator_conf(conf); !settings) {
    warnings.push_back("Reserved memory at other batch sizes is not known: " + settings.error().message() + ".");
    return std::nullopt;
  }
  return analysis::AllocatorSetup{conf, device.memory_bytes, device.available_bytes};
}

/// Where the step ran, and the memory that there is.
void add_machine(analysis::RunInput& input, const worker::RunOutput& output, const PlannedRun& plan) {
  const protocol::RunResult& result = output.result;
  input.environment = {output.environment.python,
                       output.environment.torch,
                       kDevice,
                       worker::processor_name(),
                       result.threads,
                       result.in_place_of,
                       result.low_mhz,
                       result.high_mhz,
                       result.others_used,
                       result.processor_share,
                       result.thread_settings};
  input.capacity_bytes = plan.capacity_bytes;
  if (const protocol::RunDevice& device = result.device; !device.kind.empty()) {
    input.environment.device = device.kind;
    input.environment.device_name = device.name;
    input.capacity_bytes = device.available_bytes;
    input.allocator = allocator_of(device, input.warnings);
  }
}

/// The innermost line of the user's; without a file where there is none.
analysis::Location place_in_project(const protocol::Failure& failure, const std::string& root) {
  const protocol::TraceFrame* const frame = protocol::project_frame(failure, root);
  return frame == nullptr
             ? analysis::Location{}
             : analysis::Location{frame->file.substr(root.size() + 1), static_cast<std::uint32_t>(frame->line)};
}

/// The error of a recording that is damaged.
base::Result<analysis::FailedStep> failed_step(worker::FailedStep step, const std::string& root) {
  const protocol::OutOfMemoryAnnounced& error = step.error;
  analysis::FailedStep failed{error.batch_size, error.asked_bytes, error.free_bytes, error.reserved_bytes};
  if (step.recording != nullptr) {
    auto recording = recording::Recording::parse(std::move(step.recording));
    if (recording) {
      recording = analysis::place_compiled_code(*recording);
    }
    if (!recording) {
      return recording.error();
    }
    failed.recording = std::move(*recording);
  }
  if (step.late.has_value()) {
    failed.late_location = place_in_project(*step.late, root);
    failed.allocated_bytes = error.allocated_bytes;
  }
  return failed;
}

/// Adds to the failure of a run what was allocated when its step ran out of memory.
void add_out_of_memory(protocol::Failure& failure, worker::Finished& finished, const PlannedRun& plan) {
  if (!finished.out_of_memory.has_value() || finished.out_of_memory->recording == nullptr ||
      failure.kind != protocol::FailureKind::kOutOfMemory) {
    return;
  }
  const analysis::SourceScope scope{plan.spec.project_root, finished.environment
                                                                ? finished.environment->environment_roots
                                                                : std::vector<std::string>()};
  const auto step = failed_step(std::move(*finished.out_of_memory), plan.spec.project_root);
  if (!step) {
    return;
  }
  analysis::OutOfMemoryError found = analysis::describe_out_of_memory(*step, scope);
  if (found.location.file.empty() && found.operation.empty()) {
    found.location = place_in_project(failure, plan.spec.project_root);
  }
  for (const report::Item& note : report::out_of_memory_notes(found)) {
    failure.message += "\n" + note.value;
  }
}

/// What was recorded, timed and skipped. Takes it out of `output`. The error of a recording that is damaged.
base::Result<void> add_batches(analysis::RunInput& input, worker::RunOutput& output) {
  input.batch_size = output.result.batch_size;
  for (worker::MeasuredBatch& batch : output.batches) {
    if (batch.recording == nullptr) {
      input.timed.push_back({batch.batch_size, std::move(batch.times_ns), batch.per_round});
      continue;
    }
    auto recording = recording::Recording::parse(std::move(batch.recording));
    if (recording) {
      recording = analysis::place_compiled_code(*recording);
    }
    if (!recording) {
      return recording.error();
    }
    input.runs.push_back({batch.batch_size, static_cast<int>(batch.warmup_ns.size()), std::move(batch.times_ns),
                          std::move(*recording), batch.per_round, batch.check});
  }
  for (const protocol::Failure& skipped : output.skipped) {
    input.skipped.push_back({skipped.batch_size.value_or(0), skipped.kind, skipped.message});
  }
  if (output.out_of_memory.has_value()) {
    auto step = failed_step(std::move(*output.out_of_memory), input.scope.project_root);
    if (!step) {
      return step.error();
    }
    input.out_of_memory = std::move(*step);
  }
  return {};
}

/// How many samples the steps of a script train, as all of them showed and not only those before its recording.
void settle_samples(analysis::RunInput& input) {
  if (!input.script.has_value()) {
    return;
  }
  const int size = input.script->samples.batch_size;
  input.batch_size_known = size > 0;
  if (input.runs.size() == 1 && input.timed.empty()) {
    input.batch_size = input.runs.front().batch_size = std::max(1, size);
  }
}

/// Adds the warnings of the run, and about what could not be used.
void add_warnings(analysis::RunInput& input, worker::RunOutput& output, const PlannedRun& plan) {
  std::ranges::move(output.result.warnings, std::back_inserter(input.warnings));
  if (std::string untested = worker::untested_torch(output.environment); !untested.empty()) {
    input.warnings.push_back(std::move(untested));
  }
  if (const double time = worker::processor_time();
      input.environment.device == "cpu" && time < std::min(worker::processor_count(), input.environment.threads)) {
    input.warnings.push_back(fmt::format(
        "The step computes with {} threads, and a control group limits it to the time of {} processors: the system "
        "stops it in between. Compare with OMP_NUM_THREADS={:.0f}.",
        input.environment.threads, report::figure(time), std::max(1.0, std::floor(time))));
  }
  if (!plan.settings_problem.empty()) {
    input.warnings.push_back("Settings are not used: " + plan.settings_problem + ".");
  }
  if (!plan.processor_problem.empty()) {
    input.warnings.push_back("What the operations attain is not known: " + plan.processor_problem + ".");
  }
  if (!plan.programs_problem.empty()) {
    input.warnings.push_back("Programs of your own are not shown: " + plan.programs_problem +
                             ". The next `ridgeline kernel --of` replaces the file.");
  }
}

}  // namespace

RunFailure analysis_failure(const std::exception& error) {
  return {protocol::failure_of(protocol::FailureKind::kInternalError, "analyse",
                               std::string("The analysis failed: ") + error.what() + ". Please report it."),
          ""};
}

std::uint64_t memory_for_user_code() {
  return static_cast<std::uint64_t>(kMemoryShare * static_cast<double>(worker::memory_available()));
}

void take_settings(PlannedRun& plan) {
  if (const auto settings = project_settings(plan.spec.project_root)) {
    plan.settings = *settings;
  } else {
    plan.settings_problem = settings.error().message();
  }
  if (const auto repository = store::find_repository(plan.spec.project_root)) {
    plan.commit = store::head_commit(*repository).value_or("");
  }
}

PlannedRun plan_run(const ProfileRequest& request, const Target& target) {
  PlannedRun plan;
  plan.spec.entry = target.entry;
  plan.spec.project_root = target.project_root;
  plan.spec.batch_sizes = request.batch_sizes;
  plan.spec.check_sizes = request.check_sizes;
  plan.spec.device = request.device;
  plan.spec.time_budget_seconds = request.time_budget_seconds;
  plan.spec.overlay = request.overlay;
  plan.spec.finish_within_seconds = request.finish_within_seconds;
  plan.spec.code = request.code;
  plan.spec.list_operations = request.keep;
  plan.co2_g_per_kwh = request.co2_g_per_kwh;
  take_settings(plan);
  plan.limits.time = request.time_limit;
  const std::uint64_t limit = request.memory_limit_bytes;
  plan.spec.memory_limit_bytes = limit != 0 ? limit : memory_for_user_code();
  plan.capacity_bytes = limit != 0 ? std::min(limit, worker::memory_capacity()) : worker::memory_capacity();
  add_processor(plan, target.cache);
  return plan;
}

void add_processor(PlannedRun& plan, const std::string& cache) {
  if (auto processor = kept_device(cache)) {
    plan.processor = std::move(*processor);
  } else {
    plan.processor_problem = processor.error().message();
  }
  if (auto programs = kept_programs(cache)) {
    plan.programs = std::move(*programs);
  } else {
    plan.programs_problem = programs.error().message();
  }
}

base::Result<ProfileRun, RunFailure> analyse_run(worker::Finished finished, const PlannedRun& plan) {
  if (auto* failed = std::get_if<protocol::Failure>(&finished.outcome)) {
    add_out_of_memory(*failed, finished, plan);
    return RunFailure{std::move(*failed), std::move(finished.output)};
  }
  auto& output = std::get<worker::RunOutput>(finished.outcome);
  analysis::RunInput input;
  input.entry_path = plan.spec.entry;
  input.scope = {plan.spec.project_root, output.environment.environment_roots,
                 imported_code(output.result.code, input.warnings)};
  add_machine(input, output, plan);
  if (const auto added = add_batches(input, output); !added) {
    return RunFailure{protocol::failure_of(protocol::FailureKind::kWorkerProtocol, "analyse",
                                           "The worker sent a damaged recording: " + added.error().message() + "."),
                      std::move(finished.output)};
  }
  for (const protocol::UnusedGradient& unused : output.result.unused_gradients) {
    input.unused_gradients.push_back({unused.parameter, unused.bytes});
  }
  input.script = std::move(output.result.script);
  settle_samples(input);
  input.energy = std::move(output.result.energy);
  input.length = std::move(output.result.length);
  input.co2_g_per_kwh = plan.co2_g_per_kwh;
  if (!input.co2_g_per_kwh && input.energy) {
    input.co2_g_per_kwh = plan.settings.co2_g_per_kwh;
  }
  add_warnings(input, output, plan);
  analysis::Profile profile = analysis::build_profile(input);
  const auto began = std::chrono::duration_cast<std::chrono::seconds>(plan.began.system.time_since_epoch());
  profile.provenance = {static_cast<std::uint64_t>(std::max<std::int64_t>(0, began.count())), RIDGELINE_VERSION,
                        plan.commit, worker::processor_name()};
  const std::optional<step::Graph> graph = step::add_schedule(profile, input);
  if (output.listed.has_value()) {
    add_work(profile, graph, *output.listed, plan.processor, plan.programs);
  }
  analysis::Outlook outlook = analysis::outlook_of(profile);
  const auto own = std::ranges::find(input.runs, input.batch_size, &analysis::BatchRun::batch_size);
  return ProfileRun{std::move(profile),
                    plan.began,
                    std::move(output.result.imported_files),
                    output.result.imported_files_complete,
                    std::move(outlook),
                    {std::move(*own), std::move(input.scope)}};
}

}  // namespace ridgeline::app
