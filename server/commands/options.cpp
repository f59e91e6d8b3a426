#include "commands/options.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "base/file.h"
#include "commands/exit_codes.h"
#include "commands/terminal.h"

namespace ridgeline::commands {

namespace {

int terminal_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return size.ws_col;
  }
  return report::TextOptions{}.width;
}

bool wants_color() {
  // https://no-color.org
  const char* no_color = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): never written
  return ::isatty(STDOUT_FILENO) != 0 && (no_color == nullptr || *no_color == '\0');
}

}  // namespace

CLI::Validator number_in(double low, double high) {
  const std::string range = fmt::format("a number from {} to {}", low, high);
  return {[=](const std::string& text) {
            double value = std::nan("");
            const bool good = CLI::detail::lexical_cast(text, value) && value >= low && value <= high;
            return good ? std::string() : text + " is not " + range;
          },
          range};
}

void add_place_options(CLI::App& command, const std::shared_ptr<profiling::ProfileRequest>& request) {
  command.add_option("--python", request->python, "Interpreter that has torch and the model's packages");
  command.add_option("--project-root", request->project_root, "Folder whose lines are the user's");
}

void add_time_limit_option(CLI::App& command, const std::shared_ptr<profiling::ProfileRequest>& request) {
  command
      .add_option_function<int>(
          "--time-limit", [request](int seconds) { request->time_limit = std::chrono::seconds(seconds); },
          "Seconds after which the run is stopped")
      ->check(CLI::Range(1, 86400));
}

void add_profile_options(CLI::App& command, const std::shared_ptr<profiling::ProfileRequest>& request) {
  command.add_option("ENTRY", request->entry, "Python file that defines the three providers")->required();
  command.add_option("--batch-sizes", request->batch_sizes, "Batch sizes to sample, such as 8,16,32")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 24));
  command
      .add_option("--check-sizes", request->check_sizes,
                  "Further batch sizes to run, to check the predictions of the models")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 24));
  command.add_option("--device", request->device, "cpu: run on the CPU even where the code asks for CUDA")
      ->check(CLI::IsMember({"cpu"}));
  add_place_options(command, request);
  command.add_option("--time-budget", request->time_budget_seconds, "Seconds for timing the bare step")
      ->check(number_in(0.1, 86400));
  add_time_limit_option(command, request);
  command.add_option("--memory-limit", request->memory_limit_bytes, "Bytes that the step may use, such as 8GiB")
      ->transform(CLI::AsSizeValue(false));
}

void add_output_options(CLI::App& command, const std::shared_ptr<Output>& output) {
  command.add_option("--format", output->format, "text or json")->check(CLI::IsMember({"text", "json"}));
  command.add_option("--output", output->file, "File to write to, instead of standard output");
}

report::TextOptions text_options(const Output& output) {
  report::TextOptions text;
  text.width = terminal_width();
  text.color = output.file.empty() && wants_color();
  return text;
}

int write_out(const std::string& text, const Output& output) {
  if (output.file.empty()) {
    std::cout << text << std::flush;
    return std::cout ? kExitOk : kExitEnvironment;
  }
  std::error_code problem;
  if (std::filesystem::exists(output.file, problem) && !std::filesystem::is_regular_file(output.file, problem)) {
    // A device or a pipe, such as /dev/null, must not be replaced by a file.
    std::ofstream file(output.file, std::ios::binary);
    file << text << std::flush;
    if (!file) {
      print_error("cannot write " + output.file);
      return kExitEnvironment;
    }
    return kExitOk;
  }
  if (const auto failed = base::write_atomically(output.file, text, base::FileAccess::kUmask)) {
    print_error("cannot write " + output.file + ": " + failed.message());
    return kExitEnvironment;
  }
  return kExitOk;
}

}  // namespace ridgeline::commands
