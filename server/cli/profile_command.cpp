#include "cli/profile_command.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "app/profiling/entry_check.h"
#include "cli/entry_runs.h"
#include "cli/failure_text.h"
#include "cli/options.h"
#include "cli/profile_script.h"
#include "cli/rendered_profile.h"
#include "cli/script_options.h"
#include "cli/terminal.h"

namespace ridgeline::cli {

namespace {

constexpr const char* kOfEntries = "Options for entry points";
constexpr const char* kOfScripts = "Options for scripts and commands";

struct ProfileOptions {
  std::shared_ptr<app::ProfileRequest> request = std::make_shared<app::ProfileRequest>();
  std::shared_ptr<Output> output = std::make_shared<Output>();
  ScriptProfile script;  ///< but for what an entry point has, too
};

void add_options(CLI::App& command, const std::shared_ptr<ProfileOptions>& options) {
  app::ScriptRequest& script = options->script.script;
  command.add_option("--batch-sizes", options->script.batch_sizes,
                     "Also measure these batch sizes, such as 8,16,64, or auto; a script is run again for them. "
                     "Default: chosen for an entry point, none for a script");
  add_step_options(command, options->request);
  add_report_options(command, options->output);
  for (CLI::Option* option : add_entry_options(command, options->request)) {
    option->group(kOfEntries);
  }
  const std::array of_scripts = {
      command.add_option("--steps", script.steps, "Steps to record")
          ->check(number_in(1, 1000))
          ->default_str("as many as fit into a second"),
      command.add_flag("--stop", script.stop,
                       "Stop the script once its steps are recorded and timed, instead of letting it finish"),
      command.add_option("--step-boundary", options->script.step_boundary,
                         "What ends a step: optimizer, dataloader, forward (the next call of the model), or a line as "
                         "FILE:LINE; default: detected"),
      command.add_option("--batch-size", script.batch_size, "Samples per training step; default: detected")
          ->check(number_in(1, 1 << 24)),
      command.add_flag("--allow-writes", options->script.allow_writes,
                       "With --batch-sizes: let the extra runs of the script write files and use the network"),
      command
          .add_option("--ranks", options->script.ranks,
                      "Which ranks of a job are recorded: all, or numbers such as 0,3")
          ->capture_default_str(),
      add_file_option(command, "--job", options->script.job_file,
                      "Save the communication between ranks to this file, for `ridgeline job`"),
  };
  for (CLI::Option* option : of_scripts) {
    option->group(kOfScripts);
  }
}

int profile_entry(const ProfileOptions& options) {
  const auto sizes = parse_batch_sizes(options.script.batch_sizes);
  if (!sizes) {
    return fail(sizes.error(), kExitUsage);
  }
  app::ProfileRequest request = *options.request;
  request.batch_sizes = *sizes;
  const auto made = profile_now(request);
  return made ? write_out(rendered_profile(made->profile, made->outlook, &made->recorded, *options.output),
                          *options.output)
              : made.error();
}

/// `words`: the script with its arguments, or a command.
int profile_command(const ProfileOptions& options, std::vector<std::string> words) {
  ScriptProfile script = options.script;
  script.script.place = *options.request;
  script.script.command = std::move(words);
  script.output = *options.output;
  return profile_script(script);
}

/// Whether this is a training script or a command. A folder, and a file that cannot be read or run, is neither: what
/// reads entry points says so.
bool runs_as_it_is(const std::string& name) {
  std::error_code problem;
  if (!std::filesystem::exists(name, problem)) {
    return !problem;
  }
  return name.ends_with(".py") ? app::is_training_script(name)
                               : std::filesystem::is_regular_file(name, problem) && ::access(name.c_str(), X_OK) == 0;
}

/// `words`: what follows the options, and `after_dashes`, what follows "--".
int profile(const CLI::App& command, const std::shared_ptr<ProfileOptions>& options, std::vector<std::string> words,
            const std::vector<std::string>& after_dashes) {
  if (words.empty() && after_dashes.empty()) {
    throw CLI::RequiredError("a file: an entry point or a training script, or a command after --,");
  }
  if (!words.empty() && words.front().starts_with('-')) {
    throw CLI::ExtrasError(command.get_name(), {words.front()});
  }
  const std::string name = words.empty() ? after_dashes.front() : words.front();
  if (after_dashes.empty() && !runs_as_it_is(name)) {
    CLI::App after(command.get_description(), command.get_name());
    add_options(after, options);
    take_one_value_each(after);
    after.parse(std::vector<std::string>(words.rbegin(), words.rend() - 1));
    const std::string why = fmt::format(
        "it is for scripts and commands, and {} names the providers of an entry point; after -- it runs as a script",
        name);
    refuse_options_of(command, kOfScripts, why);
    refuse_options_of(after, kOfScripts, why);
    options->request->entry = name;
    return profile_entry(*options);
  }
  refuse_options_of(command, kOfEntries,
                    fmt::format("it is for entry points, and {} is none: it names no provider", name));
  if (after_dashes.empty()) {
    print_error(name + " is no entry point: it is run as it is");
  }
  if (!words.empty() && !after_dashes.empty()) {
    words.emplace_back("--");  // it is the script's own
  }
  words.insert(words.end(), after_dashes.begin(), after_dashes.end());
  return profile_command(*options, std::move(words));
}

}  // namespace

std::vector<std::string> take_command_to_run(int& argc, char** argv) {
  char** const end = argv + argc;
  char** const dashes = std::find(argv, end, std::string_view("--"));
  constexpr std::array<std::string_view, 5> kRunCommands = {"profile", "predict", "what-if", "devices", "guard"};
  if (argc < 3 || std::ranges::find(kRunCommands, argv[1]) == kRunCommands.end() || dashes == end) {
    return {};
  }
  argc = static_cast<int>(dashes - argv);
  return {dashes + 1, end};
}

void add_profile_command(CLI::App& app, int& exit_code, const std::vector<std::string>& after_dashes) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* command = app.add_subcommand(
      "profile", "Profile an entry point, a training script with its arguments, or any command after --.");
  command->prefix_command();
  add_options(*command, options);
  command->footer(
      "An entry point is a Python file that defines model_provider, input_provider and iteration_provider "
      "(docs/user/entry-points.md). A script or\n"
      "command is run once, as it is: its own arguments follow it.\n"
      "\n"
      "Examples:\n"
      "  ridgeline profile entry.py --format html --output report.html\n"
      "  ridgeline profile -- torchrun --nproc-per-node 2 train.py");
  command->callback([command, options, after_dashes, &exit_code] {
    exit_code = profile(*command, options, command->remaining(), after_dashes);
  });
}

}  // namespace ridgeline::cli
