#include "cli/init_command.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "app/profiling/entry_name.h"
#include "app/profiling/unsaved_text.h"
#include "assistant/mcp_texts.h"
#include "base/errno_text.h"
#include "cli/entry_runs.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/terminal.h"
#include "report/units.h"
#include "source/entry_point_text.h"

namespace ridgeline::cli {

namespace {

struct InitOptions {
  std::string script;  ///< empty: only the skill is written
  bool for_assistants = false;
  std::string output;  ///< empty: beside the script
  bool try_it = false;
  std::shared_ptr<app::ProfileRequest> request = std::make_shared<app::ProfileRequest>();  ///< of the try
};

/// Writes a file that was not there before; else says why not, and returns false.
bool write_new_file(const std::string& path, const std::string& text) {
  std::FILE* const file = std::fopen(path.c_str(), "wx");
  if (file == nullptr) {
    print_error(base::with_errno("cannot write " + path));
    return false;
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed) {
    print_error(base::with_errno("cannot write all of " + path));
  }
  return written && closed;
}

/// Runs what was written: a short profile at its own batch size, which is not kept. What fails is written to stderr.
int try_entry(const std::string& entry, app::ProfileRequest request) {
  request.entry = entry;
  request.time_budget_seconds = 1;
  request.keep = false;
  const auto made = profile_now(request);
  if (!made) {
    return made.error();
  }
  const analysis::Profile& profile = made->profile;
  print_error("tried: an iteration with batch size " + std::to_string(profile.batch_size) + " takes " +
              report::duration(profile.iteration.ms.value) + ".");
  return kExitOk;
}

/// Where assistants look for a project's skills. A file that is there is replaced only by the same one of another
/// version.
int write_skill() {
  namespace fs = std::filesystem;
  for (const char* const folder : {".agents/skills/ridgeline", ".claude/skills/ridgeline"}) {
    const std::string path = std::string(folder) + "/SKILL.md";
    std::error_code problem;
    fs::create_directories(folder, problem);
    if (fs::exists(fs::symlink_status(path))) {
      const auto text = app::text_of(path);
      if (!text.has_value() || !text->starts_with("---\nname: ridgeline\n")) {
        return fail(path + " exists and is not ours: it is not replaced.", kExitUsage);
      }
      fs::remove(path, problem);
    }
    if (!write_new_file(path, assistant::skill())) {
      return kExitEnvironment;
    }
  }
  print_error("wrote .agents/skills/ridgeline/SKILL.md and .claude/skills/ridgeline/SKILL.md.");
  return kExitOk;
}

int run(const InitOptions& options) {
  namespace fs = std::filesystem;
  if (options.for_assistants) {
    if (const int written = write_skill(); written != kExitOk || options.script.empty()) {
      return written;
    }
  } else if (options.script.empty()) {
    return fail("name the training script, or give --assistant", kExitUsage);
  }
  const fs::path script = options.script;
  const fs::path folder = script.has_parent_path() ? script.parent_path() : fs::path(".");
  const auto text = app::text_of(options.script);
  if (!text.has_value()) {
    return fail("cannot read " + options.script + ": name a Python file", kExitUsage);
  }
  const std::string output =
      options.output.empty() ? (folder / app::free_entry_name(folder)).lexically_normal().string() : options.output;
  std::error_code problem;
  if (fs::exists(fs::symlink_status(output, problem))) {
    return fail(output + " exists, and is not replaced. Name another file with --output.", kExitUsage);
  }
  const fs::path parent = fs::path(output).has_parent_path() ? fs::path(output).parent_path() : fs::path(".");
  const bool beside = fs::equivalent(parent, folder, problem);
  const auto entry_point = source::entry_point_text(*text, script.filename().string(), beside);
  if (!entry_point) {
    return fail(options.script + ": " + entry_point.error().message(), kExitEntryFailed);
  }
  if (!write_new_file(output, entry_point->text)) {
    return kExitEnvironment;
  }
  std::string message = "wrote " + output + ". Read it before you profile it.";
  for (const std::string& unknown : entry_point->unknown) {
    message += "\nto fill in: " + unknown;
  }
  print_error(message);
  return options.try_it ? try_entry(output, *options.request) : kExitOk;
}

}  // namespace

void add_init_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<InitOptions>();
  CLI::App* command = app.add_subcommand("init", "Write an entry point for a training script, without running it.");
  CLI::Option* const try_it = command->add_flag(
      "--try", options->try_it, "Then run what was written, for a few iterations, to see that it works");
  command->add_option("SCRIPT", options->script, "Python file that trains, or defines a model");
  command->add_flag("--assistant", options->for_assistants,
                    "Write how assistants work with `ridgeline mcp` into this folder: a skill");
  command->add_option("--output", options->output,
                      "File to write, which must not exist; default: entry.py beside the script, or entry_2.py ...");
  command->add_option("--python", options->request->python, "Python interpreter with the project's packages, for --try")
      ->needs(try_it);
  command->footer(
      "Examples:\n"
      "  ridgeline init train.py --try\n"
      "  ridgeline init train.py --output profile_entry.py");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ridgeline::cli
