#include "commands/profile_run.h"

#include <signal.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <filesystem>
#include <utility>

#include "analysis/build_profile.h"
#include "worker/cache.h"
#include "worker/interpreter.h"
#include "worker/machine.h"
#include "worker/versions.h"
#include "worker/worker.h"

namespace ridgeline::commands {

namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

/// Part of the available memory that a profile may take before an allocation fails: the rest keeps the machine alive.
constexpr double kMemoryShare = 0.95;

RunFailure failure(const std::string& kind, const std::string& message) {
  return {{kind, "start", message, {}, std::nullopt}, ""};
}

std::string real_path(const std::string& path) {
  std::error_code problem;
  const fs::path real = fs::canonical(path, problem);
  return problem ? "" : real.string();
}

worker::Finished run_worker(const worker::WorkerOptions& options, const protocol::RunSpec& spec,
                            worker::RunLimits limits, const std::function<void(const protocol::Progress&)>& progress) {
  asio::io_context loop;
  worker::Reaper reaper(loop);
  worker::Worker worker(loop, reaper, options);
  asio::signal_set interrupts(loop, SIGINT, SIGTERM);
  interrupts.async_wait([&worker](const auto& error, int /*signal*/) {
    if (!error) {
      worker.cancel();
    }
  });
  std::optional<worker::Finished> finished;
  worker.run(spec, limits, [&](worker::Event event) {
    if (const auto* step = std::get_if<protocol::Progress>(&event)) {
      progress(*step);
    } else {
      finished = std::move(std::get<worker::Finished>(event));
      loop.stop();
    }
  });
  if (!finished.has_value()) {
    loop.run();
  }
  return std::move(*finished);
}

analysis::Profile analyse(worker::RunOutput output, const std::string& entry, const protocol::RunSpec& spec,
                          std::uint64_t capacity) {
  analysis::RunInput input;
  input.entry_path = entry;
  input.scope = {spec.project_root, output.environment.environment_roots};
  input.environment = {output.environment.python, output.environment.torch, "cpu", worker::processor_name(),
                       output.result.threads};
  input.capacity_bytes = capacity;
  input.batch_size = output.result.batch_size;
  for (protocol::SampledBatch& sample : output.result.samples) {
    const auto recorded = std::ranges::find(output.recordings, sample.batch_size, &worker::RecordedBatch::batch_size);
    input.runs.push_back(
        {sample.batch_size, sample.warmup_iterations, std::move(sample.times_ns), recorded->recording});
  }
  for (const protocol::Failure& skipped : output.result.skipped) {
    input.skipped.push_back({skipped.batch_size.value_or(0), skipped.kind, skipped.message});
  }
  if (std::string untested = worker::untested_torch(output.environment); !untested.empty()) {
    input.warnings.push_back(std::move(untested));
  }
  return analysis::build_profile(input);
}

}  // namespace

std::variant<analysis::Profile, RunFailure> run_profile(
    const ProfileRequest& request, const std::function<void(const protocol::Progress&)>& progress) {
  const std::string entry = real_path(request.entry);
  if (entry.empty() || !fs::is_regular_file(entry)) {
    return failure("entry-unreadable", "There is no file " + request.entry + ".");
  }
  protocol::RunSpec spec;
  spec.entry = entry;
  spec.project_root = request.project_root.empty() ? worker::find_project_root(entry) : real_path(request.project_root);
  if (spec.project_root.empty()) {
    return failure("entry-unreadable", "There is no folder " + request.project_root + ".");
  }
  const worker::Interpreter interpreter = worker::find_interpreter(request.python, entry, spec.project_root);
  if (interpreter.path.empty()) {
    return failure("interpreter", request.python.empty() ? "There is no python3 on PATH. Name one with --python."
                                                         : "There is no interpreter " + request.python + ".");
  }
  std::string error;
  const std::string cache = worker::cache_folder(error);
  if (cache.empty()) {
    return failure("cache", error);
  }
  spec.batch_sizes = request.batch_sizes;
  spec.time_budget_seconds = request.time_budget_seconds;
  const std::uint64_t limit = request.memory_limit_bytes;
  spec.memory_limit_bytes =
      limit != 0 ? limit : static_cast<std::uint64_t>(kMemoryShare * static_cast<double>(worker::memory_available()));
  const worker::RunLimits limits{request.time_limit};
  worker::Finished finished = run_worker({interpreter.path, cache}, spec, limits, progress);
  if (auto* failed = std::get_if<protocol::Failure>(&finished.outcome)) {
    return RunFailure{std::move(*failed), std::move(finished.output)};
  }
  progress({"analyse", 1, "Analysing"});
  const std::uint64_t capacity = limit != 0 ? std::min(limit, worker::memory_capacity()) : worker::memory_capacity();
  return analyse(std::move(std::get<worker::RunOutput>(finished.outcome)), entry, spec, capacity);
}

}  // namespace ridgeline::commands
