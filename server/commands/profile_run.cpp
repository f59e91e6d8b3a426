#include "commands/profile_run.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "analysis/build_profile.h"
#include "commands/worker_run.h"
#include "worker/cache.h"
#include "worker/interpreter.h"
#include "worker/machine.h"
#include "worker/versions.h"
#include "worker/worker.h"

namespace ridgeline::commands {

namespace {

namespace fs = std::filesystem;

/// Part of the available memory that a profile may take before an allocation fails: the rest keeps the machine alive.
constexpr double kMemoryShare = 0.95;

/// What the step runs on.
constexpr const char* kDevice = "cpu";
/// Code may take another path where it is told that there is CUDA: such a profile is kept apart.
constexpr const char* kInPlaceOfCuda = "cpu in place of cuda";

RunFailure failure(const std::string& kind, const std::string& message) {
  return {protocol::failure_of(kind, "start", message), ""};
}

/// An entry point is a page of code; a file of another kind must not become a long wait.
constexpr std::uintmax_t kMaxEntryBytes = std::uintmax_t{16} << 20U;

std::string real_path(const std::string& path) {
  std::error_code problem;
  const fs::path real = fs::canonical(path, problem);
  return problem ? "" : real.string();
}

analysis::Profile analyse(worker::RunOutput output, const std::string& entry, const protocol::RunSpec& spec,
                          std::uint64_t capacity) {
  analysis::RunInput input;
  input.entry_path = entry;
  input.scope = {spec.project_root, output.environment.environment_roots};
  input.environment = {output.environment.python, output.environment.torch, kDevice,
                       worker::processor_name(),  output.result.threads,    output.result.in_place_of,
                       output.result.low_mhz,     output.result.high_mhz};
  input.capacity_bytes = capacity;
  input.batch_size = output.result.batch_size;
  for (protocol::SampledBatch& sample : output.result.samples) {
    const auto recorded = std::ranges::find(output.recordings, sample.batch_size, &worker::RecordedBatch::batch_size);
    input.runs.push_back({sample.batch_size, sample.warmup_iterations, std::move(sample.times_ns), recorded->recording,
                          sample.per_round, sample.check});
  }
  for (const protocol::Failure& skipped : output.result.skipped) {
    input.skipped.push_back({skipped.batch_size.value_or(0), skipped.kind, skipped.message});
  }
  input.warnings = std::move(output.result.warnings);
  if (std::string untested = worker::untested_torch(output.environment); !untested.empty()) {
    input.warnings.push_back(std::move(untested));
  }
  return analysis::build_profile(input);
}

}  // namespace

std::string entry_problem(const std::string& path) {
  std::error_code problem;
  const fs::file_status status = fs::status(path, problem);
  if (status.type() == fs::file_type::not_found) {
    return "There is no file " + path + ".";
  }
  if (fs::is_directory(status)) {
    return path + " is a folder. Name the file in it that defines the providers.";
  }
  if (problem || ::access(path.c_str(), R_OK) != 0) {
    return path + " cannot be read: " + (problem ? problem.message() : std::strerror(errno)) + ".";
  }
  if (!fs::is_regular_file(status)) {
    return path + " is no regular file.";
  }
  const std::uintmax_t size = fs::file_size(path, problem);
  if (problem || size > kMaxEntryBytes) {
    return path + " is " + std::to_string(size >> 20U) + " MiB long. An entry point is a Python file of at most " +
           std::to_string(kMaxEntryBytes >> 20U) + " MiB; keep data in files of their own.";
  }
  return {};
}

std::variant<Target, RunFailure> find_target(const ProfileRequest& request) {
  Target target;
  target.device = request.device.empty() ? kDevice : kInPlaceOfCuda;
  if (const std::string problem = entry_problem(request.entry); !problem.empty()) {
    return failure("entry-unreadable", problem);
  }
  target.entry = real_path(request.entry);
  target.project_root =
      request.project_root.empty() ? worker::find_project_root(target.entry) : real_path(request.project_root);
  if (target.project_root.empty()) {
    return failure("entry-unreadable", "There is no folder " + request.project_root + ".");
  }
  target.interpreter = worker::find_interpreter(request.python, target.entry, target.project_root);
  if (target.interpreter.path.empty()) {
    return failure("interpreter", request.python.empty() ? "There is no python3 on PATH. Name one with --python."
                                                         : "There is no interpreter " + request.python + ".");
  }
  std::string error;
  target.cache = worker::cache_folder(error);
  if (target.cache.empty()) {
    return failure("cache", error);
  }
  return target;
}

std::variant<ProfileRun, RunFailure> run_profile(const ProfileRequest& request, const Target& target,
                                                 const std::function<void(const protocol::Progress&)>& progress) {
  ProfileRun run;
  run.began = std::chrono::system_clock::now();
  protocol::RunSpec spec;
  spec.entry = target.entry;
  spec.project_root = target.project_root;
  spec.batch_sizes = request.batch_sizes;
  spec.check_sizes = request.check_sizes;
  spec.device = request.device;
  spec.time_budget_seconds = request.time_budget_seconds;
  const std::uint64_t limit = request.memory_limit_bytes;
  spec.memory_limit_bytes =
      limit != 0 ? limit : static_cast<std::uint64_t>(kMemoryShare * static_cast<double>(worker::memory_available()));
  const worker::RunLimits limits{request.time_limit};
  worker::Finished finished = run_worker({target.interpreter.path, target.cache}, spec, limits, progress);
  if (auto* failed = std::get_if<protocol::Failure>(&finished.outcome)) {
    return RunFailure{std::move(*failed), std::move(finished.output)};
  }
  progress({"analyse", 1, "Analysing"});
  auto& output = std::get<worker::RunOutput>(finished.outcome);
  run.imported_files = std::move(output.result.imported_files);
  run.imported_files_complete = output.result.imported_files_complete;
  const std::uint64_t capacity = limit != 0 ? std::min(limit, worker::memory_capacity()) : worker::memory_capacity();
  run.profile = analyse(std::move(output), target.entry, spec, capacity);
  return run;
}

}  // namespace ridgeline::commands
