#include "commands/options.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "base/errno_text.h"
#include "base/file.h"
#include "commands/exit_codes.h"
#include "commands/terminal.h"
#include "profiling/code_names.h"
#include "protocol/worker_messages.h"

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

/// Why a file cannot be written there, found out without touching it; empty when it can, as far as can be seen.
std::string output_problem(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code problem;
  const fs::file_status status = fs::status(file, problem);
  if (fs::is_directory(status)) {
    return "cannot write " + file + ": it is a folder";
  }
  fs::path folder = fs::path(file).parent_path();
  if (folder.empty()) {
    folder = ".";
  }
  if (!fs::is_directory(folder, problem)) {
    return "cannot write " + file + ": there is no folder " + folder.string();
  }
  // A regular file is replaced, which its folder has to allow; anything else is written to.
  const std::string written = fs::exists(status) && !fs::is_regular_file(status) ? file : folder.string();
  return ::access(written.c_str(), W_OK) == 0 ? "" : base::with_errno("cannot write " + file);
}

/// The text must not be lost: what was measured may have taken minutes.
int print_instead(const std::string& text, const std::string& problem) {
  print_error(problem + "; the report is printed instead");
  std::cout << text << std::flush;
  return kExitEnvironment;
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

void add_code_option(CLI::App& command, std::vector<std::string>& code) {
  const auto problem = [](const std::string& name) {
    const std::string found = profiling::code_name_problem(name);
    return found.empty() ? found : found + ": name packages as `import` does, such as transformers,timm";
  };
  command
      .add_option("--code", code,
                  "Packages whose lines have figures of their own, beside the user's, such as transformers,timm")
      ->delimiter(',')
      ->expected(1, static_cast<int>(protocol::kMaxPackages))
      ->check(CLI::Validator(problem, "PACKAGES"));
}

void add_place_options(CLI::App& command, const std::shared_ptr<profiling::ProfileRequest>& request) {
  command.add_option("--python", request->python,
                     "Interpreter with torch and the model's packages; default: .venv, VIRTUAL_ENV or python3");
  command.add_option("--project-root", request->project_root,
                     "Folder whose lines are the user's; default: the nearest project");
  add_code_option(command, request->code);
}

void add_time_limit_option(CLI::App& command, const std::shared_ptr<profiling::ProfileRequest>& request) {
  command
      .add_option_function<int>(
          "--time-limit", [request](int seconds) { request->time_limit = std::chrono::seconds(seconds); },
          "Seconds after which the run is stopped")
      ->check(CLI::Range(1, 86400))
      ->default_str(std::to_string(request->time_limit.count()));
}

void add_measurement_options(CLI::App& command, const std::shared_ptr<profiling::ProfileRequest>& request) {
  command.add_option("--device", request->device, "cpu: run on the CPU even where the code asks for CUDA")
      ->check(CLI::IsMember({"cpu"}));
  add_place_options(command, request);
  command.add_option("--time-budget", request->time_budget_seconds, "Seconds for timing the bare step")
      ->check(number_in(0.1, 86400))
      ->capture_default_str();
  add_time_limit_option(command, request);
  command
      .add_option("--memory-limit", request->memory_limit_bytes,
                  "Bytes that the step may use, such as 8GiB; default: 95 % of what is available")
      ->transform(CLI::AsSizeValue(false));
}

void add_profile_options(CLI::App& command, const std::shared_ptr<profiling::ProfileRequest>& request) {
  command.add_option("ENTRY", request->entry, "Python file that defines the three providers")->required();
  command.add_option("--batch-sizes", request->batch_sizes, "Batch sizes to sample, such as 8,16,32; default: chosen")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 24));
  command
      .add_option("--check-sizes", request->check_sizes,
                  "Further batch sizes to run, to check the predictions of the models")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 24));
  add_measurement_options(command, request);
  command
      .add_option("--co2", request->co2_g_per_kwh,
                  "Grams of CO2 that a kWh of the electricity emits: the report has those of the step")
      ->check(number_in(0, 1e5));
}

void add_report_options(CLI::App& command, const std::shared_ptr<Output>& output) {
  add_output_options(command, output, {"text", "json", "markdown", "html", "perfetto", "speedscope"});
  add_warnings_option(command, output);
}

void add_warnings_option(CLI::App& command, const std::shared_ptr<Output>& output) {
  command.add_flag_callback(
      "--warnings", [output] { output->warnings = report::ShownWarnings::kAll; },
      "Show every warning in a text, not only the one that matters most");
}

void add_output_options(CLI::App& command, const std::shared_ptr<Output>& output,
                        const std::vector<std::string>& formats) {
  command.add_option("--format", output->format, "Format of the output")
      ->check(CLI::IsMember(formats))
      ->capture_default_str();
  add_file_option(command, "--output", output->file, "File to write to, instead of standard output");
}

void add_file_option(CLI::App& command, const std::string& name, std::string& file, const std::string& description) {
  command.add_option(name, file, description)->check(CLI::Validator(output_problem, "FILE"));
}

report::TextOptions text_options(const Output& output) {
  report::TextOptions text;
  text.width = terminal_width();
  text.color = output.file.empty() && wants_color();
  text.warnings = output.warnings;
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
    return file ? kExitOk : print_instead(text, "cannot write " + output.file);
  }
  if (const auto failed = base::write_atomically(output.file, text, base::FileAccess::kUmask)) {
    return print_instead(text, "cannot write " + output.file + ": " + failed.message());
  }
  return kExitOk;
}

}  // namespace ridgeline::commands
