#include "commands/import.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/build_profile.h"
#include "analysis/prediction/answers.h"
#include "commands/exit_codes.h"
#include "commands/options.h"
#include "commands/rendered_profile.h"
#include "commands/terminal.h"
#include "imports/import_error.h"
#include "imports/import_trace.h"
#include "imports/read_trace.h"
#include "profiling/ran_sources.h"
#include "store/fingerprint.h"
#include "whatif/step_schedule.h"

namespace ridgeline::commands {

namespace {

struct ImportOptions {
  std::string trace;
  std::string project_root;
  int batch_size = 0;
  std::vector<std::string> code;
};

std::string absolute(const std::string& path) {
  std::error_code problem;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, problem);
  std::string text = problem ? std::filesystem::absolute(path).string() : real.string();
  while (text.size() > 1 && text.ends_with('/')) {
    text.pop_back();
  }
  return text;
}

/// Null, after printing the reason, when the file cannot be read.
std::shared_ptr<std::ifstream> opened(const std::string& path) {
  std::error_code problem;
  if (std::filesystem::is_directory(path, problem)) {
    print_error(path + " is a folder: name a trace in it.");
    return nullptr;
  }
  auto file = std::make_shared<std::ifstream>(path, std::ios::binary);
  if (!*file) {
    print_error("Cannot read " + path + ".");
    return nullptr;
  }
  return file;
}

imports::ByteSource bytes_of(const std::shared_ptr<std::ifstream>& file) {
  return [file](std::span<char> buffer) {
    file->read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    if (file->bad()) {
      throw imports::ImportError("The trace cannot be read completely.");
    }
    return static_cast<std::size_t>(file->gcount());
  };
}

/// When the trace was written; 1970, before any source was, where that is unknown.
store::Moment time_of(const std::string& trace) {
  std::error_code problem;
  const auto written = std::filesystem::last_write_time(trace, problem);
  store::Moment moment;
  moment.system =
      problem
          ? std::chrono::system_clock::time_point{}
          : std::chrono::time_point_cast<std::chrono::system_clock::duration>(std::chrono::file_clock::to_sys(written));
  return moment;
}

/// The texts of the lines, from files that have not changed since the trace was written. Only of Python files in the
/// project: a trace may name any file of this machine.
void add_texts(analysis::Profile& profile, const std::string& trace) {
  const std::string root = profile.project_root + "/";
  std::vector<std::string> paths = profiling::own_files(profile);
  std::erase_if(paths, [&](const std::string& path) {
    return profile.project_root.empty() || !path.starts_with(root) || !path.ends_with(".py") ||
           std::filesystem::path(path).lexically_normal() != path;
  });
  profiling::add_line_texts(profile, profiling::ran_sources(paths, {}, time_of(trace)).texts);
}

int run(const ImportOptions& options, const Output& output) {
  const std::shared_ptr<std::ifstream> file = opened(options.trace);
  if (file == nullptr) {
    return kExitUsage;
  }
  try {
    imports::ImportOptions how;
    how.trace_path = absolute(options.trace);
    how.project_root = options.project_root.empty() ? "" : absolute(options.project_root);
    how.current = absolute(".");
    how.exists = [](const std::string& path) {
      std::error_code problem;
      return std::filesystem::is_regular_file(path, problem);
    };
    how.batch_size = options.batch_size;
    how.code = options.code;
    analysis::RunInput input = imports::import_trace(imports::read_trace(bytes_of(file)), how);
    analysis::Profile profile = analysis::build_profile(input);
    whatif::add_schedule(profile, input);
    add_texts(profile, how.trace_path);
    const analysis::RecordedRun recorded{std::move(input.runs.front()), std::move(input.scope)};
    return write_out(rendered_profile(profile, analysis::outlook_of(profile), &recorded, output), output);
  } catch (const imports::ImportError& error) {
    print_error(error.what());
    return kExitEntryFailed;
  }
}

}  // namespace

void add_import_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ImportOptions>();
  auto output = std::make_shared<Output>();
  CLI::App* command = app.add_subcommand("import", "Analyse a trace of torch.profiler, also one from another machine.");
  command->add_option("TRACE", options->trace, "Chrome trace of torch.profiler, plain or gzip")->required();
  command->add_option("--project-root", options->project_root, "Folder whose lines are the user's");
  add_code_option(*command, options->code);
  command->add_option("--batch-size", options->batch_size, "Samples in one iteration: a trace does not record it")
      ->check(CLI::Range(1, analysis::kMaxBatchSize));
  add_report_options(*command, output);
  command->footer(
      "Examples:\n"
      "  ridgeline import trace.json.gz --batch-size 32\n"
      "  ridgeline import trace.json --project-root ~/project --output report.txt");
  command->callback([options, output, &exit_code] { exit_code = run(*options, *output); });
}

}  // namespace ridgeline::commands
