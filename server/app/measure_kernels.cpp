#include "app/measure_kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "base/file.h"
#include "base/work_folder.h"
#include "operations/device/data_sheets.h"
#include "worker/agent_build.h"
#include "worker/cache.h"
#include "worker/interpreter.h"
#include "worker/machine.h"
#include "worker/program_output.h"

namespace ridgeline::app {

namespace {

constexpr std::chrono::minutes kTimingLimit{30};

std::string runner_file(const KernelConditions& conditions, const char* name) {
  return conditions.sources + "/profiler/runner/ridgeline_runner/" + name;
}

/// An error where the file cannot be written.
base::Result<void> write_source(const std::string& file, const std::string& text) {
  if (const auto problem = base::write_atomically(file, text, base::FileAccess::kOwner, base::Durability::kNone)) {
    return base::error(file + ": cannot be written: " + problem.message());
  }
  return {};
}

/// `compiler`: as KernelConditions has it.
base::Result<KernelConditions> conditions_with(const std::string& compiler, const std::string& python,
                                               const std::string& cache, int threads, double seconds) {
  const auto sources = worker::unpack_sources(cache);
  if (!sources) {
    return sources.error();
  }
  return KernelConditions{worker::find_interpreter_here(python).path, compiler, *sources, cache, threads, seconds};
}

}  // namespace

base::Result<KernelConditions> kernel_conditions(const std::string& python, const std::string& cache, int threads,
                                                 double seconds) {
  const std::string compiler = worker::find_compiler();
  if (compiler.empty()) {
    return base::error("there is no C++ compiler. Install one (Debian: apt-get install g++) or set CXX.");
  }
  return conditions_with(compiler, python, cache, threads, seconds);
}

base::Result<KernelConditions> gpu_conditions(const operations::Device& gpu, const std::string& python,
                                              const std::string& cache, double seconds) {
  const auto is_gpu = [&](const std::string& model) { return operations::names_device(model, gpu.name); };
  if (std::ranges::none_of(worker::nvidia_gpus().value_or(std::vector<std::string>()), is_gpu)) {
    return base::error("this machine has no " + gpu.name);
  }
  return conditions_with("", python, cache, 1, seconds);
}

base::Result<operations::MeasuredKernels> measure_kernels(const KernelConditions& conditions,
                                                          const operations::Operation& operation,
                                                          const std::vector<operations::Plan>& plans) {
  const base::WorkFolder folder(conditions.cache + "/kernels-");
  const std::size_t count = plans.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (const auto written =
            write_source(fmt::format("{}/{}{}", folder.path(), i, conditions.compiler.empty() ? ".cu" : ".cpp"),
                         operations::program_source(plans[i]));
        !written) {
      return written.error();
    }
  }
  std::vector<std::string> command = {conditions.python, runner_file(conditions, "measure/kernels.py"),
                                      "--folder",        folder.path(),
                                      "--operation",     operations::runner_operation(operation),
                                      "--threads",       std::to_string(conditions.threads),
                                      "--count",         std::to_string(count),
                                      "--seconds",       std::to_string(conditions.seconds)};
  if (!conditions.compiler.empty()) {
    command.insert(command.end(), {"--compiler", conditions.compiler});
  }
  const auto line = worker::first_line_of(command, kTimingLimit);
  if (!line) {
    return base::error("the programs could not be timed with " + conditions.python +
                       ": it needs torch; or one of them crashed: try another --top");
  }
  return operations::parse_measured_kernels(*line, count);
}

base::Result<operations::MeasuredOperator> measure_operator(const KernelConditions& conditions,
                                                            const std::string& module,
                                                            const operations::StepOperation& call,
                                                            const std::string& key) {
  const base::WorkFolder folder(conditions.cache + "/kernels-");
  const std::string file = folder.path() + "/emitted.py";
  if (const auto written = write_source(file, module); !written) {
    return written.error();
  }
  const auto line = worker::first_line_of(
      {conditions.python, runner_file(conditions, "measure/emitted_operator.py"), "--compiler", conditions.compiler,
       "--module", file, "--key", key, "--operands", fmt::format("[{}]", fmt::join(call.operands, ",")), "--threads",
       std::to_string(conditions.threads), "--seconds", std::to_string(conditions.seconds)},
      kTimingLimit);
  if (!line) {
    return base::error("the operator ended its process");
  }
  return operations::parse_measured_operator(*line);
}

}  // namespace ridgeline::app
