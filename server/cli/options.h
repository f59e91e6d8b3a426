// Options that several commands have, each defined once.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/profiling/request.h"
#include "report/text_report.h"

namespace ridgeline::cli {

/// A number from `low` to `high`. CLI::Range accepts text that is not a number.
CLI::Validator number_in(double low, double high);

/// Lets each option of the command and of those below it take one value each time it is given, so that what follows may
/// be a file: `devices --on a100 entry.py`.
void take_one_value_each(CLI::App& command);

/// Throws, with the reason, where an option of that group of the command is given.
void refuse_options_of(const CLI::App& command, std::string_view group, const std::string& why);

/// --code: packages whose lines have figures of their own.
CLI::Option* add_code_option(CLI::App& command, std::vector<std::string>& code);

/// --python, --project-root and --code: where the user's code runs, and what of it has figures.
void add_place_options(CLI::App& command, const std::shared_ptr<app::ProfileRequest>& request);

/// --device.
void add_device_option(CLI::App& command, const std::shared_ptr<app::ProfileRequest>& request);

/// --device, those of add_place_options(), and --seconds: where the step runs, and how long it is timed.
void add_step_options(CLI::App& command, const std::shared_ptr<app::ProfileRequest>& request);

/// --timeout.
CLI::Option* add_timeout_option(CLI::App& command, const std::shared_ptr<app::ProfileRequest>& request);

/// How to measure: device, place, time and memory.
void add_measurement_options(CLI::App& command, const std::shared_ptr<app::ProfileRequest>& request);

/// What only entry points have: further batch sizes, limits and emissions.
std::vector<CLI::Option*> add_entry_options(CLI::App& command, const std::shared_ptr<app::ProfileRequest>& request);

/// All that says what to profile and how, of commands for entry points: ENTRY, the batch sizes, and how to measure.
void add_profile_options(CLI::App& command, const std::shared_ptr<app::ProfileRequest>& request);

/// Lets ENTRY be left out: the command is then about what was profiled last (find_named_entry()).
void may_be_left_out(CLI::App& command, const std::string& description);

/// --format and --output: how an answer is written, and where to.
struct Output {
  std::string format = "text";
  std::string file;  ///< empty: standard output
  report::ShownWarnings warnings = report::ShownWarnings::kFirst;
};
void add_output_options(CLI::App& command, const std::shared_ptr<Output>& output,
                        const std::vector<std::string>& formats = {"text", "json"});
/// `--warnings`: of answers that come with any.
void add_warnings_option(CLI::App& command, const std::shared_ptr<Output>& output);
/// For a profile, which has more formats, and warnings.
void add_report_options(CLI::App& command, const std::shared_ptr<Output>& output);

/// The group of options that commands have for traces only.
inline constexpr const char* kOfTraces = "Options for traces";

/// --step-boundary of commands that read traces.
CLI::Option* add_step_boundary_option(CLI::App& command, std::string& value);

/// --ssh-option, which is added to the words of the command. They outlive the option.
CLI::Option* add_ssh_option(CLI::App& command, std::vector<std::string>& ssh,
                            const std::string& description = "An option of ssh, such as `-p2222` or `-Fconfig`");

/// Of a host as ssh knows it, which must not be an option of ssh. `name`: what help calls it.
CLI::Validator host_name(const std::string& name);

/// A file to write to; where that is not possible the command line is refused.
CLI::Option* add_file_option(CLI::App& command, const std::string& name, std::string& file,
                             const std::string& description);

/// The terminal's width, and colour where it is wanted.
report::TextOptions text_options(const Output& output);

/// Writes the answer out. The exit code.
int write_out(const std::string& text, const Output& output);

}  // namespace ridgeline::cli
