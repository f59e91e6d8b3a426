#include "commands/kernel.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "commands/exit_codes.h"
#include "commands/kernel_description.h"
#include "commands/options.h"
#include "commands/terminal.h"
#include "commands/work_folder.h"
#include "kernels/operation.h"
#include "kernels/operator_source.h"
#include "profiling/known_device.h"
#include "worker/agent_build.h"
#include "worker/cache.h"
#include "worker/interpreter.h"
#include "worker/program_output.h"

namespace ridgeline::commands {

namespace {

namespace fs = std::filesystem;

struct KernelOptions {
  std::string operation;
  std::string python;
  std::string device;  ///< a file; empty: what was measured here
  std::string emit;    ///< a file; empty: none
  int threads = 1;
  int top = 10;
  double seconds = 0.5;
};

int environment_failure(const std::string& why) {
  print_error(why);
  return kExitEnvironment;
}

base::Result<hardware::Device> device_of(const KernelOptions& options, const std::string& cache) {
  if (!options.device.empty()) {
    return profiling::read_device(options.device);
  }
  const auto kept = profiling::kept_device(cache);
  if (!kept) {
    return kept.error();
  }
  if (!*kept) {
    return base::error("this processor has not been measured; run `ridgeline device` once");
  }
  return **kept;
}

/// Compiles, checks and times the programs in another process.
base::Result<MeasuredKernels> measure(const KernelOptions& options, const kernels::Operation& operation,
                                      const std::vector<kernels::Plan>& plans, const std::string& cache) {
  const auto sources = worker::unpack_sources(cache);
  if (!sources) {
    return sources.error();
  }
  const std::string compiler = worker::find_compiler();
  if (compiler.empty()) {
    return base::error("there is no C++ compiler. Install one (Debian: apt-get install g++) or set CXX.");
  }
  const WorkFolder folder(cache + "/kernels-" + base::unique_suffix());
  const std::size_t count = plans.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string file = fmt::format("{}/{}.cpp", folder.path(), i);
    if (const auto problem =
            base::write_atomically(file, kernels::program_source(plans[i]), base::FileAccess::kOwner)) {
      return base::error(file + ": cannot be written: " + problem.message());
    }
  }
  const std::string python = worker::find_interpreter_here(options.python).path;
  print_error(
      fmt::format("compiling {} generated programs with {}; {} runs them beside torch.", count, compiler, python));
  const std::vector<std::string> command = {python,        *sources + "/profiler/runner/ridgeline_runner/kernels.py",
                                            "--compiler",  compiler,
                                            "--folder",    folder.path(),
                                            "--operation", runner_operation(operation),
                                            "--threads",   std::to_string(options.threads),
                                            "--count",     std::to_string(count),
                                            "--seconds",   std::to_string(options.seconds)};
  const auto line = worker::first_line_of(command, std::chrono::minutes(30));
  if (!line) {
    return base::error("the programs could not be timed with " + python +
                       ": it needs torch; or one of them crashed: try another --top");
  }
  auto measured = parse_measured_kernels(*line, count);
  return measured ? std::move(measured)
                  : base::error("what was measured cannot be read: " + measured.error().message());
}

/// A source in C++, or where the file is a Python one an operator of PyTorch.
int emit(const KernelOptions& options, const KernelAnswer& answer, const hardware::Device& device) {
  const MeasuredKernel* best = fastest(answer);
  if (best == nullptr) {
    return environment_failure("no program could be run, so none is written to " + options.emit + ": " +
                               answer.measured.kernels.front().problem);
  }
  const auto index = static_cast<std::size_t>(best - answer.measured.kernels.data());
  const kernels::Plan& plan = answer.construction.plans[index];
  if (fs::path(options.emit).extension() != ".py") {
    return write_out(kernels::program_source(plan), {.format = "text", .file = options.emit});
  }
  const auto module = kernels::operator_module(plan, device, options.threads);
  return module ? write_out(*module, {.format = "text", .file = options.emit})
                : environment_failure(module.error().message());
}

int show(const KernelOptions& options, const Output& output) {
  const auto operation = kernels::parse_operation(options.operation);
  if (!operation) {
    print_error(operation.error().message());
    return kExitUsage;
  }
  const auto cache = worker::cache_folder();
  if (!cache) {
    return environment_failure(cache.error().message());
  }
  const auto device = device_of(options, *cache);
  if (!device) {
    return environment_failure(device.error().message());
  }
  if (options.threads > device->compute_units) {
    print_error(fmt::format("--threads {}: {} has {} cores that may be used", options.threads, device->name,
                            device->compute_units));
    return kExitUsage;
  }
  const auto begin = std::chrono::steady_clock::now();
  auto construction = kernels::construct(*operation, *device, options.threads, static_cast<std::size_t>(options.top));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  if (!construction) {
    return environment_failure(construction.error().message());
  }
  auto measured = measure(options, *operation, construction->plans, *cache);
  if (!measured) {
    return environment_failure(measured.error().message());
  }
  const KernelAnswer answer{device->name, options.threads,     *operation, std::move(*construction),
                            took.count(), std::move(*measured)};
  if (!options.emit.empty()) {
    if (const int code = emit(options, answer, *device); code != kExitOk) {
      return code;
    }
  }
  return write_out(output.format == "json" ? kernel_json(answer) : kernel_text(answer), output);
}

}  // namespace

void add_kernel_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<KernelOptions>();
  auto output = std::make_shared<Output>();
  CLI::App* command = app.add_subcommand(
      "kernel", "Programs for an operation, constructed for this processor: predicted, then compiled and timed.");
  command
      ->add_option("OPERATION", options->operation,
                   "Of float32: 'matmul ROWS COLUMNS DEPTH' or 'bmm BATCHES ROWS COLUMNS DEPTH', with '+ bias' and "
                   "'+ relu' behind it where they are fused with it; 'conv IMAGES CHANNELS HEIGHT WIDTH OUTPUTS KERNEL "
                   "stride S padding P'; 'elementwise ROWS COLUMNS = EXPRESSION'; 'reduce "
                   "sum|mean|max ROWS COLUMNS dim 0|1'")
      ->required();
  command->add_option("--threads", options->threads, "For the programs and for torch")
      ->check(number_in(1, 1024))
      ->capture_default_str();
  command->add_option("--top", options->top, "Programs that are compiled and timed, the best predicted first")
      ->check(number_in(1, 20))
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "For timing each program")
      ->check(number_in(0.01, 60))
      ->capture_default_str();
  command->add_option("--python", options->python, "Interpreter with torch")->default_str("found");
  command->add_option("--device", options->device, "The processor, as `ridgeline device --format json` writes it")
      ->default_str("as it was measured");
  add_file_option(*command, "--emit", options->emit,
                  "Write the fastest program to this file: an operator of PyTorch with its gradient where the "
                  "name ends in .py, else its source in C++");
  add_output_options(*command, output);
  command->footer(
      "Examples:\n"
      "  ridgeline kernel 'matmul 512 1003 768'\n"
      "  ridgeline kernel 'elementwise 512 1000 = gelu(x * y + b[1000])' --threads 2 --emit chain.py");
  command->callback([options, output, &exit_code] { exit_code = show(*options, *output); });
}

}  // namespace ridgeline::commands
