#include "app/profiling/script_sizes.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/profiling/further_run.h"
#include "app/profiling/profile_run.h"

namespace ridgeline::app {

namespace {

using protocol::FailureKind;
using worker::RunOutput;

constexpr std::size_t kShown = 4;  ///< of a list
constexpr const char* kNoOther = "No other batch size was run: ";

template <typename T>
std::string listed(const std::vector<T>& items) {
  const auto end = items.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, items.size()));
  return fmt::format("{}{}", fmt::join(items.begin(), end, ", "), items.size() > kShown ? ", …" : "");
}

/// Half, one and a half times, and twice the size: three points beside the script's own.
std::vector<int> automatic(int size) { return {size / 2, size + size / 2, 2 * size}; }

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
      return skipped(failure->kind, size, failure->message + run_note(end));
    }
  }
  return skipped(FailureKind::kNoTrainingStep, size, "No process took a training step." + run_note(end));
}

/// Adds to `output` what a process measured at another batch size.
void add(RunOutput& output, RunOutput* measured, const worker::JobEnd& end, int size) {
  if (measured == nullptr) {
    output.skipped.push_back(why_nothing(end, size));
  } else if (measured->result.batch_size != size) {
    output.skipped.push_back(skipped(FailureKind::kException, size,
                                     fmt::format("A step took {} samples: the batch size could not be replaced, or the "
                                                 "data set is smaller.",
                                                 measured->result.batch_size)));
  } else {
    std::ranges::move(measured->batches, std::back_inserter(output.batches));
  }
}

void skip(const std::vector<RunOutput*>& outputs, const protocol::Failure& why) {
  for (RunOutput* output : outputs) {
    output->skipped.push_back(why);
  }
}

void warn(const std::vector<RunOutput*>& outputs, const std::string& warning) {
  for (RunOutput* output : outputs) {
    output->result.warnings.push_back(warning);
  }
}

/// Adds what a run of the command at that size gave; whether there may be another run.
bool add_run(const std::vector<RunOutput*>& outputs, int size, worker::JobEnd& ended) {
  const bool sampled = outputs.front()->batches.size() > 1;  // another size was measured before
  const std::vector<RunOutput*> measured = outputs_of(ended);
  const std::string obstacle = measured.size() == outputs.size() ? "" : write_obstacle(ended.guard);
  if (!obstacle.empty()) {
    warn(outputs, (sampled ? "No further batch size was run: " : kNoOther) + obstacle);
    return false;
  }
  for (std::size_t rank = 0; rank < outputs.size(); ++rank) {
    add(*outputs[rank], measured.size() == outputs.size() ? measured[rank] : nullptr, ended, size);
  }
  return !ended.interrupted;
}

}  // namespace

std::vector<protocol::LoaderSize> scaled_loader_sizes(const std::vector<int>& loader_sizes, int from, int to) {
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

base::Result<std::vector<SizeRun>> plan_sizes(const protocol::RunResult& first, const SizesRequest& request,
                                              const std::optional<ScriptNumber>& number) {
  if (!first.script.has_value()) {
    return base::error(std::string(kNoOther) + "the script ended too early.");
  }
  const protocol::ScriptRun& script = *first.script;
  const bool has_loaders = script.sizes_obstacle.empty() && !script.loader_sizes.empty();
  if (!has_loaders && !number.has_value()) {
    return base::error(
        kNoOther + (script.sizes_obstacle.empty() ? "its data loaders are not known" : script.sizes_obstacle) + ".");
  }
  std::vector<SizeRun> runs;
  std::set<int> seen = {first.batch_size};
  for (const int size : request.sizes.empty() ? automatic(first.batch_size) : request.sizes) {
    auto loader_sizes = has_loaders ? scaled_loader_sizes(script.loader_sizes, first.batch_size, size)
                                    : std::vector<protocol::LoaderSize>();
    if (has_loaders && loader_sizes.empty() && !request.sizes.empty()) {
      return base::error(fmt::format("{}the data loaders' batches, of {} samples, cannot add up to {} in a step.",
                                     kNoOther, listed(script.loader_sizes), size));
    }
    if ((!loader_sizes.empty() || !has_loaders) && size > 0 && seen.insert(size).second) {
      runs.push_back({size, std::move(loader_sizes)});
    }
  }
  return runs;
}

base::Task<void> sample_sizes(ScriptRunner& runner, worker::JobEnd& first, worker::JobOptions options,
                              SizesRequest request) {
  const std::vector<RunOutput*> outputs = outputs_of(first);
  if (outputs.empty() || first.interrupted) {
    co_return;
  }
  auto reading = read_script_number(runner, options.command, outputs.front()->result.batch_size);
  const std::optional<ScriptNumber> number = co_await std::move(reading);
  const auto runs = plan_sizes(outputs.front()->result, request, number);
  if (!runs) {
    warn(outputs, runs.error().message());
    co_return;
  }
  options.spec.stop = true;
  options.spec.time_budget_seconds /= 2;
  options.guarded = !request.allow_writes;
  options.discards_output = true;
  options.spec.memory_limit_bytes = memory_for_user_code() / outputs.size();
  for (const SizeRun& run : *runs) {
    options.spec.loader_sizes = run.loader_sizes;
    if (run.loader_sizes.empty()) {
      set_batch_size(options, *number, run.batch_size);
    }
    runner.announce(fmt::format("running the command again, with a batch size of {} ({} of {})", run.batch_size,
                                &run - runs->data() + 1, runs->size()));
    auto running = runner.run(options);
    const auto ended = co_await std::move(running);
    if (!ended) {
      skip(outputs, skipped(ended.error().kind, run.batch_size, ended.error().message));
    } else if (!add_run(outputs, run.batch_size, **ended)) {
      break;
    }
  }
}

}  // namespace ridgeline::app
