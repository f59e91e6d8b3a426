#include "cli/machine_command.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "app/profiling/known_device.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/options.h"
#include "cli/progress_line.h"
#include "cli/terminal.h"
#include "operations/device/data_sheets.h"
#include "operations/device/device_file.h"
#include "operations/microbenchmarks/measure_device.h"
#include "report/device_description.h"
#include "worker/cache.h"
#include "worker/machine.h"

namespace ridgeline::cli {

namespace {

using operations::Device;

operations::Measured measured(double seconds) {
  operations::MeasureRequest request;
  request.name = worker::processor_name();
  request.memory_bytes = static_cast<double>(worker::memory_capacity());
  request.each = std::chrono::milliseconds(static_cast<int>(seconds * 1000));
  ProgressLine progress;
  return operations::measure_processor(request, operations::read_processor("/sys/devices/system/cpu"),
                                       [&](const std::string& what) {
                                         const protocol::Progress step{"device", 0, "Measuring: " + what};
                                         progress.show(step, step);
                                       });
}

int write(const Device& device, const Output& output) {
  return write_out(output.format == "json" ? operations::device_json(device) : report::text_device(device), output);
}

int show_sheet(const std::string& name, const Output& output) {
  if (const auto device = operations::find_data_sheet(name)) {
    return write(*device, output);
  }
  return fail("there is no data sheet of " + name + "; there are: " + operations::data_sheet_names(), kExitUsage);
}

int measure(double seconds, const Output& output) {
  const auto cache = worker::cache_folder();
  if (!cache) {
    return fail(cache.error());
  }
  const auto [device, disturbed] = measured(seconds);
  if (disturbed) {
    print_error(
        "other processes used the processor meanwhile: some rates are too low, and nothing is kept. Measure on "
        "a quiet machine.");
    return write(device, output);
  }
  if (const auto done = app::keep_device(*cache, device); !done) {
    return fail(done.error());
  }
  return write(device, output);
}

int show(const std::string& name, const Output& output) {
  if (!name.empty()) {
    return show_sheet(name, output);
  }
  const auto cache = worker::cache_folder();
  if (!cache) {
    return fail(cache.error());
  }
  const auto kept = app::kept_device(*cache);
  if (!kept) {
    return fail(kept.error().message() + ". Measure again with `ridgeline machine measure`.");
  }
  if (!kept->has_value()) {
    return fail("this processor has not been measured: `ridgeline machine measure` does that, in some seconds");
  }
  return write(**kept, output);
}

void add_show_command(CLI::App& machine, int& exit_code) {
  auto name = std::make_shared<std::string>();
  auto output = std::make_shared<Output>();
  CLI::App* command = machine.add_subcommand(
      "show", "Show the measured peaks and bandwidths of this processor, or those of a GPU's data sheet.");
  command->add_option("GPU", *name, "A GPU, such as V100: its data sheet instead; nothing is measured");
  add_output_options(*command, output);
  command->footer(
      "Examples:\n"
      "  ridgeline machine show\n"
      "  ridgeline machine show A100 --format json --output a100.json");
  command->callback([name, output, &exit_code] { exit_code = show(*name, *output); });
}

void add_measure_command(CLI::App& machine, int& exit_code) {
  auto seconds = std::make_shared<double>(0.25);
  auto output = std::make_shared<Output>();
  CLI::App* command = machine.add_subcommand(
      "measure",
      "Measure this processor's peak throughput for each data type, and the bandwidths of its caches and memory.");
  command->add_option("--seconds", *seconds, "How long each of about 20 benchmarks takes")
      ->check(number_in(0.01, 10))
      ->capture_default_str();
  add_output_options(*command, output);
  command->footer(
      "Results are kept for this machine: reports show what share of these peaks operations reach.\n"
      "\n"
      "Examples:\n"
      "  ridgeline machine measure\n"
      "  ridgeline machine measure --seconds 1 --format json --output mine.json");
  command->callback([seconds, output, &exit_code] { exit_code = measure(*seconds, *output); });
}

}  // namespace

void add_machine_command(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("machine", "Show or measure the limits of this processor, or show those of a GPU.");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  ridgeline machine measure\n"
      "  ridgeline machine show A100");
  add_show_command(*command, exit_code);
  add_measure_command(*command, exit_code);
}

}  // namespace ridgeline::cli
