#include "cli/kernel_command.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/profiling/known_device.h"
#include "app/profiling/step_on_devices.h"
#include "cli/exit_codes.h"
#include "cli/kernel_description.h"
#include "cli/kernel_runs.h"
#include "cli/kernels_of_step.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "operations/device/data_sheets.h"
#include "operations/kernels/operation.h"
#include "operations/kernels/operator_source.h"
#include "worker/cache.h"

namespace ridgeline::cli {

namespace {

namespace fs = std::filesystem;

struct KernelOptions {
  std::string operation;  ///< empty: those of a profile
  std::string profile;    ///< a report in JSON, or the id of a kept profile
  std::string python;
  std::string device;  ///< a file, or a GPU's name; empty: what was measured here
  std::string emit;    ///< a file; empty: none
  std::string folder;  ///< for a profile's operators; empty: none
  int threads = 1;
  int top = 10;
  double seconds = 0.5;
};

int environment_failure(const std::string& why) {
  print_error(why);
  return kExitEnvironment;
}

base::Result<operations::Device> device_of(const KernelOptions& options, const std::string& cache) {
  if (!options.device.empty()) {
    auto named = app::named_device(options.device);
    return named ? base::Result<operations::Device>(std::move(named->device)) : named.error();
  }
  const auto kept = app::kept_device(cache);
  if (!kept) {
    return kept.error();
  }
  if (!*kept) {
    return base::error("this processor has not been measured; run `ridgeline machine measure` once");
  }
  return **kept;
}

base::Result<MeasuredKernels> measure(const KernelOptions& options, const operations::Operation& operation,
                                      const std::vector<operations::Plan>& plans, const std::string& cache) {
  const auto conditions = kernel_conditions(options.python, cache, options.threads, options.seconds);
  if (!conditions) {
    return conditions.error();
  }
  print_error(fmt::format("compiling {} generated programs with {}; {} runs them beside torch.", plans.size(),
                          conditions->compiler, conditions->python));
  return measure_kernels(*conditions, operation, plans);
}

/// On the GPU that torch uses in the interpreter; an error where that is not `gpu`.
base::Result<MeasuredKernels> measure_on_gpu(const KernelOptions& options, const operations::Operation& operation,
                                             const std::vector<operations::Plan>& plans, const operations::Device& gpu,
                                             const std::string& cache) {
  const auto conditions = gpu_conditions(gpu, options.python, cache, options.seconds);
  if (!conditions) {
    return conditions.error();
  }
  print_error(fmt::format("{} compiles {} generated programs with NVRTC and runs them beside torch.",
                          conditions->python, plans.size()));
  auto measured = measure_kernels(*conditions, operation, plans);
  if (measured && !operations::names_device(measured->gpu, gpu.name)) {
    return base::error("torch uses another GPU there, " + measured->gpu);
  }
  return measured;
}

/// Where programs for a GPU cannot be run, their predictions remain.
MeasuredKernels not_run(std::size_t count, const std::string& why) {
  return {"", 0, std::vector<MeasuredKernel>(count, MeasuredKernel{0, why})};
}

/// A source in C++, or where the file is a Python one an operator of PyTorch.
int emit(const KernelOptions& options, const KernelAnswer& answer, const operations::Device& device) {
  const bool was_run = answer.measured.library_ns > 0;
  const MeasuredKernel* best = was_run ? fastest(answer.measured) : answer.measured.kernels.data();
  if (best == nullptr) {
    return environment_failure("no program could be run, so none is written to " + options.emit + ": " +
                               answer.measured.kernels.front().problem);
  }
  const auto index = static_cast<std::size_t>(best - answer.measured.kernels.data());
  const operations::Plan& plan = answer.construction.plans[index];
  if (fs::path(options.emit).extension() != ".py") {
    return write_out(operations::program_source(plan), {.format = "text", .file = options.emit});
  }
  const auto module = operations::operator_module(plan, device, options.threads);
  return module ? write_out(*module, {.format = "text", .file = options.emit})
                : environment_failure(module.error().message());
}

int show_one(const KernelOptions& options, const Output& output, const operations::Device& device,
             const operations::Operation& operation, const std::string& cache) {
  const bool for_gpu = device.kind == operations::DeviceKind::kGpu;
  if (!for_gpu && options.threads > device.compute_units) {
    print_error(fmt::format("--threads {}: {} has {} cores that may be used", options.threads, device.name,
                            device.compute_units));
    return kExitUsage;
  }
  const auto begin = std::chrono::steady_clock::now();
  auto construction = operations::construct(operation, device, options.threads, static_cast<std::size_t>(options.top));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  if (!construction) {
    return environment_failure(construction.error().message());
  }
  auto measured = for_gpu ? measure_on_gpu(options, operation, construction->plans, device, cache)
                          : measure(options, operation, construction->plans, cache);
  if (!measured && for_gpu) {
    measured = not_run(construction->plans.size(), measured.error().message());
  }
  if (!measured) {
    return environment_failure(measured.error().message());
  }
  const KernelAnswer answer{device.name,  for_gpu ? 0 : options.threads, operation, std::move(*construction),
                            took.count(), std::move(*measured)};
  if (!options.emit.empty()) {
    if (const int code = emit(options, answer, device); code != kExitOk) {
      return code;
    }
  }
  return write_out(output.format == "json" ? kernel_json(answer) : kernel_text(answer), output);
}

int show(const KernelOptions& options, const Output& output) {
  if (options.operation.empty() == options.profile.empty()) {
    print_error("give either an operation, such as 'matmul 512 1003 768', or --of with a profile");
    return kExitUsage;
  }
  std::optional<operations::Operation> operation;  // absent: those of the profile
  if (options.profile.empty()) {
    auto parsed = operations::parse_operation(options.operation);
    if (!parsed) {
      print_error(parsed.error().message());
      return kExitUsage;
    }
    operation = std::move(*parsed);
  }
  const auto cache = worker::cache_folder();
  if (!cache) {
    return environment_failure(cache.error().message());
  }
  const auto device = device_of(options, *cache);
  if (!device) {
    return environment_failure(device.error().message());
  }
  if (operation) {
    return show_one(options, output, *device, *operation, *cache);
  }
  return show_step_kernels({options.profile, options.python, options.folder, static_cast<std::size_t>(options.top),
                            options.seconds, *device, *cache},
                           output);
}

}  // namespace

void add_kernel_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<KernelOptions>();
  auto output = std::make_shared<Output>();
  CLI::App* command = app.add_subcommand(
      "kernel", "Generate kernels for an operation on this processor, compile the most promising, and time them.");
  command->add_option(
      "OPERATION", options->operation,
      "One operation in float32: 'matmul ROWS COLUMNS DEPTH', 'bmm BATCHES ROWS COLUMNS DEPTH' or 'linear ROWS OUTPUTS "
      "INPUTS', with '+ bias' and "
      "'+ relu' behind it where they are fused with it; 'conv IMAGES CHANNELS HEIGHT WIDTH OUTPUTS KERNEL "
      "stride S padding P'; 'elementwise ROWS COLUMNS = EXPRESSION'; 'reduce "
      "sum|mean|max ROWS COLUMNS dim 0|1'");
  CLI::Option* of = command->add_option("--of", options->profile,
                                        "Instead of OPERATION: the operations of this profile that take 2 % of its "
                                        "step or more, with its threads; a report in JSON, "
                                        "or the id of a kept profile");
  command->add_option("--threads", options->threads, "Threads of the programs and of torch")
      ->check(number_in(1, 1024))
      ->excludes(of)
      ->capture_default_str();
  command->add_option("--top", options->top, "Programs that are compiled and timed, the best predicted first")
      ->check(number_in(1, 20))
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "How long to time each program")
      ->check(number_in(0.01, 60))
      ->capture_default_str();
  command->add_option("--python", options->python, "Interpreter with torch")->default_str("detected");
  command
      ->add_option("--device", options->device,
                   "The processor, as `ridgeline machine show --format json` writes it, or a GPU by its name, such as "
                   "A100: then "
                   "programs are planned and predicted, and run where the interpreter's torch uses that GPU")
      ->default_str("as it was measured");
  add_file_option(
      *command, "--emit", options->emit,
      "Write the fastest program to this file: an operator of PyTorch with its gradient where the "
      "name ends in .py, else its source in C++ (for a GPU in CUDA; where none was run, the best predicted one's)");
  command->get_option("--emit")->excludes(of);
  command
      ->add_option("--emit-folder", options->folder,
                   "With --of: write the operators that are faster than torch's into this folder")
      ->needs(of);
  add_output_options(*command, output);
  command->footer(
      "Examples:\n"
      "  ridgeline kernel 'matmul 512 1003 768'\n"
      "  ridgeline kernel --of report.json --emit-folder operators");
  command->callback([options, output, &exit_code] { exit_code = show(*options, *output); });
}

}  // namespace ridgeline::cli
