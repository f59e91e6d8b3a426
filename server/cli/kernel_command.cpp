#include "cli/kernel_command.h"

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "app/find_kernel.h"
#include "app/kernels_of_step.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/options.h"
#include "cli/terminal.h"
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

int show_one(const KernelOptions& options, const app::KernelRequest& request, const Output& output) {
  const auto answer = app::find_kernel(request, print_error);
  if (!answer) {
    return report_failure(answer.error());
  }
  if (!options.emit.empty()) {
    const auto source = app::best_source(request, *answer, fs::path(options.emit).extension() == ".py");
    if (!source) {
      return fail(options.emit + " is not written: " + source.error().message());
    }
    if (const int code = write_out(*source, {.format = "text", .file = options.emit}); code != kExitOk) {
      return code;
    }
  }
  return write_out(output.format == "json" ? report::kernel_json(*answer) : report::kernel_text(*answer), output);
}

/// Writes the operators that are faster. The exit code.
int emit_faster(app::StepKernels& made, const std::string& folder) {
  std::error_code problem;
  fs::create_directories(folder, problem);
  for (report::StepKernel& kernel : made.kernels) {
    const auto module = made.modules.find(app::module_file(kernel.candidate));
    if (module == made.modules.end() || !kernel.measured || !kernel.timed().is_faster()) {
      continue;
    }
    const std::string file = (fs::path(folder) / module->first).string();
    if (const int code = write_out(module->second, {.format = "text", .file = file}); code != kExitOk) {
      return code;
    }
    kernel.file = file;
  }
  return kExitOk;
}

int show_those_of_step(const KernelOptions& options, const app::StepKernelsRequest& request, const Output& output) {
  auto made = app::measure_step_kernels(request, print_error);
  if (!made) {
    return report_failure(made.error());
  }
  warn(made->warning);
  if (const int code = options.folder.empty() ? kExitOk : emit_faster(*made, options.folder); code != kExitOk) {
    return code;
  }
  return write_out(output.format == "json" ? report::step_kernels_json(made->profile, made->kernels)
                                           : report::step_kernels_text(made->profile, made->kernels),
                   output);
}

int show(const KernelOptions& options, const Output& output) {
  if (options.operation.empty() == options.profile.empty()) {
    return fail("give either an operation, such as 'matmul 512 1003 768', or --of with a profile", kExitUsage);
  }
  const auto operation = options.operation.empty() ? base::Result<operations::Operation>(operations::Operation())
                                                   : operations::parse_operation(options.operation);
  if (!operation) {
    return fail(operation.error(), kExitUsage);
  }
  const auto cache = worker::cache_folder();
  if (!cache) {
    return fail(cache.error());
  }
  const auto device = app::kernel_device(options.device, *cache);
  if (!device) {
    return fail(device.error());
  }
  const auto top = static_cast<std::size_t>(options.top);
  if (options.profile.empty()) {
    return show_one(options, {*operation, *device, options.python, options.threads, top, options.seconds, *cache},
                    output);
  }
  return show_those_of_step(options, {options.profile, options.python, top, options.seconds, *device, *cache}, output);
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
      "INPUTS', followed by '+ bias' and '+ relu' if these are fused with it; 'conv IMAGES CHANNELS HEIGHT WIDTH "
      "OUTPUTS KERNEL "
      "stride S padding P'; 'elementwise ROWS COLUMNS = EXPRESSION'; 'reduce "
      "sum|mean|max ROWS COLUMNS dim 0|1'");
  CLI::Option* of =
      command->add_option("--of", options->profile,
                          "Instead of OPERATION: all operations that take 2 % or more of the step in this profile (a "
                          "JSON report or the id of a kept profile), with that profile's number of threads");
  command->add_option("--threads", options->threads, "Threads of the kernels and of torch")
      ->check(number_in(1, 1024))
      ->excludes(of)
      ->capture_default_str();
  command->add_option("--top", options->top, "How many kernels to compile and time, the best predicted first")
      ->check(number_in(1, 20))
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "How long to time each kernel")
      ->check(number_in(0.01, 60))
      ->capture_default_str();
  command->add_option("--python", options->python, "Interpreter with torch")->default_str("detected");
  command
      ->add_option(
          "--device", options->device,
          "A file from `ridgeline machine show --format json`, or the name of a GPU, such as A100; kernels for a "
          "GPU are run only where the interpreter's torch uses that GPU")
      ->default_str("this processor as measured");
  add_file_option(*command, "--emit", options->emit,
                  "Write the fastest kernel to this file: as a PyTorch operator with its gradient if the name ends in "
                  ".py, else as C++ source (CUDA for a GPU). If none was run, the one predicted to be fastest");
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
