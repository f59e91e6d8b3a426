#include "cli/options.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "app/profiling/code_names.h"
#include "base/errno_text.h"
#include "base/file.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/terminal.h"
#include "protocol/worker_messages.h"
#include "worker/process.h"

namespace ridgeline::cli {

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
  return ::isatty(STDOUT_FILENO) != 0 && !is_dumb_terminal() && (no_color == nullptr || *no_color == '\0');
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

/// What was measured may have taken minutes: it is kept in a file of the temporary folder. A terminal gets no page of
/// HTML that nobody asked it to show.
int keep_elsewhere(const std::string& text, const std::string& problem) {
  std::error_code no_folder;
  std::string file = (std::filesystem::temp_directory_path(no_folder) / "ridgeline-output-XXXXXX").string();
  const worker::Descriptor descriptor(no_folder ? -1 : ::mkstemp(file.data()));
  const bool kept = descriptor.get() >= 0 && !base::write_all(descriptor.get(), text);
  return fail(problem + (kept ? ". The output is in " + file + " instead." : ""));
}

/// To a regular file, or in its place. What is none, a device or a pipe such as /dev/null, is not replaced.
std::error_code write_to(const std::string& path, const std::string& text) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown) || std::filesystem::is_regular_file(path, unknown)) {
    return base::write_atomically(path, text, base::FileAccess::kUmask);
  }
  const worker::Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.get() < 0 ? std::error_code(errno, std::generic_category()) : base::write_all(file.get(), text);
}

void add_seconds_option(CLI::App& command, const std::shared_ptr<app::ProfileRequest>& request) {
  command.add_option("--seconds", request->time_budget_seconds, "How long to time the step without instrumentation")
      ->check(number_in(0.1, 3600))
      ->capture_default_str();
}

CLI::Option* add_memory_limit_option(CLI::App& command, const std::shared_ptr<app::ProfileRequest>& request) {
  return command
      .add_option("--memory-limit", request->memory_limit_bytes,
                  "Memory that the step may use, such as 8GiB; default: 95 % of what is available")
      ->transform(CLI::AsSizeValue(false));
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

void take_one_value_each(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    const bool is_positional = option->get_lnames().empty() && option->get_snames().empty();
    if (!is_positional && option->get_expected_max() > 1) {
      option->allow_extra_args(false);
    }
  }
  for (CLI::App* one : command.get_subcommands([](const CLI::App*) { return true; })) {
    take_one_value_each(*one);
  }
}

void refuse_options_of(const CLI::App& command, std::string_view group, const std::string& why) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group() == group && option->count() > 0) {
      throw CLI::ValidationError(option->get_name(), why);
    }
  }
}

CLI::Option* add_code_option(CLI::App& command, std::vector<std::string>& code) {
  const auto problem = [](const std::string& name) {
    const std::string found = app::code_name_problem(name);
    return found.empty() ? found : found + ": name packages as `import` does, such as transformers,timm";
  };
  return command
      .add_option(
          "--code", code,
          "Packages whose lines are reported too, such as transformers,timm; by default only your own code has lines")
      ->delimiter(',')
      ->expected(1, static_cast<int>(protocol::kMaxPackages))
      ->check(CLI::Validator(problem, "PACKAGES"));
}

void add_place_options(CLI::App& command, const std::shared_ptr<app::ProfileRequest>& request) {
  command.add_option("--python", request->python,
                     "Interpreter with torch and the model's packages; default: .venv, VIRTUAL_ENV or python3");
  command.add_option("--project-root", request->project_root, "Root folder of your code; default: the nearest project");
  add_code_option(command, request->code);
}

CLI::Option* add_timeout_option(CLI::App& command, const std::shared_ptr<app::ProfileRequest>& request) {
  return command
      .add_option_function<int>(
          "--timeout", [request](int seconds) { request->time_limit = std::chrono::seconds(seconds); },
          "Seconds after which the run is stopped")
      ->check(CLI::Range(1, 86400))
      ->default_str(std::to_string(request->time_limit.count()));
}

void add_device_option(CLI::App& command, const std::shared_ptr<app::ProfileRequest>& request) {
  command.add_option("--device", request->device, "Run on the CPU even where the code asks for CUDA")
      ->check(CLI::IsMember({"cpu"}));
}

void add_step_options(CLI::App& command, const std::shared_ptr<app::ProfileRequest>& request) {
  add_device_option(command, request);
  add_place_options(command, request);
  add_seconds_option(command, request);
}

void add_measurement_options(CLI::App& command, const std::shared_ptr<app::ProfileRequest>& request) {
  add_step_options(command, request);
  add_timeout_option(command, request);
  add_memory_limit_option(command, request);
}

std::vector<CLI::Option*> add_entry_options(CLI::App& command, const std::shared_ptr<app::ProfileRequest>& request) {
  return {
      command
          .add_option("--check-sizes", request->check_sizes,
                      "Batch sizes to measure only for checking predictions; the models do not use them")
          ->delimiter(',')
          ->check(CLI::Range(1, 1 << 24)),
      add_timeout_option(command, request),
      add_memory_limit_option(command, request),
      command
          .add_option("--co2", request->co2_g_per_kwh,
                      "Carbon intensity of your electricity in g CO2/kWh: adds the step's emissions to the report")
          ->check(number_in(0, 1e5)),
  };
}

void add_profile_options(CLI::App& command, const std::shared_ptr<app::ProfileRequest>& request) {
  command
      .add_option("ENTRY", request->entry,
                  "Python file that defines model_provider, input_provider and iteration_provider")
      ->required();
  command.add_option("--batch-sizes", request->batch_sizes, "Batch sizes to sample, such as 8,16,32; default: chosen")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 24));
  add_step_options(command, request);
  add_entry_options(command, request);
}

void may_be_left_out(CLI::App& command, const std::string& description) {
  command.get_option("ENTRY")->required(false)->description(description +
                                                            ". Without it: what was profiled last in this folder");
}

void add_report_options(CLI::App& command, const std::shared_ptr<Output>& output) {
  add_output_options(command, output, {"text", "json", "markdown", "html", "perfetto", "speedscope"});
  add_warnings_option(command, output);
}

void add_warnings_option(CLI::App& command, const std::shared_ptr<Output>& output) {
  command.add_flag_callback(
      "--warnings", [output] { output->warnings = report::ShownWarnings::kAll; },
      "Show all warnings in text output, not only the most important one");
}

void add_output_options(CLI::App& command, const std::shared_ptr<Output>& output,
                        const std::vector<std::string>& formats) {
  command.add_option("--format", output->format, "Format of the output")
      ->check(CLI::IsMember(formats))
      ->capture_default_str();
  add_file_option(command, "--output", output->file, "File to write to, instead of standard output");
}

CLI::Option* add_ssh_option(CLI::App& command, std::vector<std::string>& ssh, const std::string& description) {
  const std::string text = description + "; may be repeated";
  return command.add_option("--ssh-option", text)
      ->each([&ssh](const std::string& option) { ssh.push_back(option); })
      ->take_all();
}

CLI::Validator host_name(const std::string& name) {
  return {[](const std::string& host) { return host.empty() || host[0] == '-' ? "HOST is no host" : std::string(); },
          name};
}

CLI::Option* add_file_option(CLI::App& command, const std::string& name, std::string& file,
                             const std::string& description) {
  return command.add_option(name, file, description)->check(CLI::Validator(output_problem, "FILE"));
}

CLI::Option* add_step_boundary_option(CLI::App& command, std::string& value) {
  return command.add_option(
      "--step-boundary", value,
      "What ends a step of a trace: optimizer, dataloader, backward, none, the line where a function "
      "begins, as FILE:LINE, or the name of a range; default: detected");
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
    std::cout << std::flush;
    const auto failed = base::write_all(STDOUT_FILENO, text);
    return failed ? fail("cannot write to standard output: " + failed.message()) : kExitOk;
  }
  const auto failed = write_to(output.file, text);
  return failed ? keep_elsewhere(text, "cannot write " + output.file + ": " + failed.message()) : kExitOk;
}

}  // namespace ridgeline::cli
