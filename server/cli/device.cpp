#include "cli/device.h"

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

struct DeviceOptions {
  bool measure = false;
  std::string sheet;
  double seconds = 0.25;
};

operations::Measured measured(const DeviceOptions& options) {
  operations::MeasureRequest request;
  request.name = worker::processor_name();
  request.memory_bytes = static_cast<double>(worker::memory_capacity());
  request.each = std::chrono::milliseconds(static_cast<int>(options.seconds * 1000));
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
  print_error("there is no data sheet of " + name + "; there are: " + operations::data_sheet_names());
  return kExitUsage;
}

int show(const DeviceOptions& options, const Output& output) {
  if (!options.sheet.empty()) {
    return show_sheet(options.sheet, output);
  }
  const auto cache = worker::cache_folder();
  if (!cache) {
    return fail(cache.error().message());
  }
  if (!options.measure) {
    const auto kept = app::kept_device(*cache);
    if (!kept) {
      return fail(kept.error().message() + ". Measure again with --measure.");
    }
    if (*kept) {
      return write(**kept, output);
    }
  }
  const auto [device, disturbed] = measured(options);
  if (disturbed) {
    print_error(
        "other processes used the processor meanwhile: some rates are too low, and nothing is kept. Measure on "
        "a quiet machine.");
    return write(device, output);
  }
  if (const auto done = app::keep_device(*cache, device); !done) {
    return fail(done.error().message());
  }
  return write(device, output);
}

}  // namespace

void add_device_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<DeviceOptions>();
  auto output = std::make_shared<Output>();
  CLI::App* command = app.add_subcommand(
      "device", "What this processor can do: peaks by type and bandwidths of caches and memory, measured once.");
  command->add_flag("--measure", options->measure, "Measure again, although it was measured before");
  command->add_option("--sheet", options->sheet, "The data sheet of a GPU instead, such as V100; nothing is measured");
  command->add_option("--seconds", options->seconds, "For each of about 20 benchmarks")
      ->check(number_in(0.01, 10))
      ->capture_default_str();
  add_output_options(*command, output);
  command->footer(
      "Examples:\n"
      "  ridgeline device --measure\n"
      "  ridgeline device --sheet A100 --format json --output a100.json");
  command->callback([options, output, &exit_code] { exit_code = show(*options, *output); });
}

}  // namespace ridgeline::cli
