#include "profiling/script_sizes.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "profiling/run.h"

namespace ridgeline::profiling {

namespace {

using protocol::FailureKind;
using worker::RunOutput;

constexpr std::size_t kShown = 4;  ///< of a list

template <typename T>
std::string listed(const std::vector<T>& items) {
  const auto end = items.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, items.size()));
  return fmt::format("{}{}", fmt::join(items.begin(), end, ", "), items.size() > kShown ? ", …" : "");
}

/// Half, one and a half times, and twice the size: three points beside the script's own.
std::vector<int> automatic(int size) { return {size / 2, size + size / 2, 2 * size}; }

/// Nothing where the loaders cannot give a step so many samples.
std::vector<protocol::LoaderSize> scaled(const std::vector<int>& loader_sizes, int from, int to) {
  std::vector<protocol::LoaderSize> sizes;
  for (const int constructed : loader_sizes) {
    const std::int64_t product = std::int64_t{constructed} * to;
    if (product % from != 0 || product < from) {
      return {};
    }
    sizes.push_back({constructed, static_cast<int>(product / from)});
  }
  return sizes;
}

std::vector<RunOutput*> outputs_of(worker::JobEnd& end) {
  std::vector<RunOutput*> outputs;
  for (worker::JobProcess& process : end.processes) {
    if (auto* output = std::get_if<RunOutput>(&process.outcome)) {
      outputs.push_back(output);
    }
  }
  return outputs;
}

protocol::Failure skipped(FailureKind kind, int size, const std::string& message) {
  protocol::Failure failure = protocol::failure_of(kind, "iteration", message);
  failure.batch_size = size;
  return failure;
}

/// Why a process of a run measured nothing.
protocol::Failure why_nothing(const worker::JobEnd& end, int size) {
  for (const worker::JobProcess& process : end.processes) {
    if (const auto* failure = std::get_if<protocol::Failure>(&process.outcome)) {
      return skipped(failure->kind, size, failure->message);
    }
  }
  return skipped(FailureKind::kNoTrainingStep, size, "No process took a training step.");
}

/// Adds to `output` what a process measured at another batch size.
void add(RunOutput& output, RunOutput* measured, const worker::JobEnd& end, int size) {
  if (measured == nullptr) {
    output.skipped.push_back(why_nothing(end, size));
  } else if (measured->result.batch_size != size) {
    output.skipped.push_back(skipped(FailureKind::kException, size,
                                     fmt::format("The data loaders gave a step {} samples: their batch size could not "
                                                 "be replaced, or the data set is smaller.",
                                                 measured->result.batch_size)));
  } else {
    std::ranges::move(measured->batches, std::back_inserter(output.batches));
  }
}

void skip(const std::vector<RunOutput*>& outputs, const protocol::Failure& why) {
  for (RunOutput* output : outputs) output->skipped.push_back(why);
}

/// One run of the command; whether there may be another.
bool sample(const std::vector<RunOutput*>& outputs, const worker::JobOptions& options, int size,
            const RunJob& run_job) {
  auto ended = run_job(options);
  if (!ended) {
    skip(outputs, skipped(ended.error().kind, size, ended.error().message));
    return true;
  }
  const std::vector<RunOutput*> measured = outputs_of(*ended);
  for (std::size_t rank = 0; rank < outputs.size(); ++rank) {
    add(*outputs[rank], measured.size() == outputs.size() ? measured[rank] : nullptr, *ended, size);
  }
  return !ended->interrupted;
}

}  // namespace

base::Result<std::vector<SizeRun>> plan_sizes(const protocol::RunResult& first, const SizesRequest& request) {
  constexpr const char* kNone = "No other batch size was run: ";
  if (!first.script.has_value()) {
    return base::error(std::string(kNone) + "the script ended too early.");
  }
  const protocol::ScriptRun& script = *first.script;
  if (!script.sizes_obstacle.empty() || script.loader_sizes.empty()) {
    return base::error(
        kNone + (script.sizes_obstacle.empty() ? "its data loaders are not known" : script.sizes_obstacle) + ".");
  }
  if (!request.allow_writes && !script.writes.empty()) {
    return base::error(std::string(kNone) + "the script writes files, and would write them again (" +
                       listed(script.writes) + "). Add --allow-writes to run it all the same.");
  }
  std::vector<SizeRun> runs;
  std::set<int> seen = {first.batch_size};
  for (const int size : request.sizes.empty() ? automatic(first.batch_size) : request.sizes) {
    auto loader_sizes = scaled(script.loader_sizes, first.batch_size, size);
    if (loader_sizes.empty() && !request.sizes.empty()) {
      return base::error(fmt::format("{}the data loaders' batches, of {} samples, cannot add up to {} in a step.",
                                     kNone, listed(script.loader_sizes), size));
    }
    if (!loader_sizes.empty() && seen.insert(size).second) {
      runs.push_back({size, std::move(loader_sizes)});
    }
  }
  return runs;
}

void sample_sizes(worker::JobEnd& first, worker::JobOptions options, const SizesRequest& request, const RunJob& run_job,
                  const std::function<void(const std::string&)>& note) {
  const std::vector<RunOutput*> outputs = outputs_of(first);
  if (outputs.empty() || first.interrupted) {
    return;
  }
  const auto runs = plan_sizes(outputs.front()->result, request);
  if (!runs) {
    for (RunOutput* output : outputs) output->result.warnings.push_back(runs.error().message());
    return;
  }
  options.spec.stop = true;
  options.watch_writes = false;
  options.discards_output = true;
  options.spec.memory_limit_bytes = memory_for_user_code() / outputs.size();
  for (const SizeRun& run : *runs) {
    options.spec.loader_sizes = run.loader_sizes;
    note(fmt::format("running the command again, with a batch size of {} ({} of {})", run.batch_size,
                     &run - runs->data() + 1, runs->size()));
    if (!sample(outputs, options, run.batch_size, run_job)) {
      break;
    }
  }
}

}  // namespace ridgeline::profiling
