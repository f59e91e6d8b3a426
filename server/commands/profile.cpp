#include "commands/profile.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "commands/failure_text.h"
#include "commands/profile_run.h"
#include "commands/progress_line.h"
#include "report/json.h"
#include "report/text.h"
#include "worker/cache.h"
#include "worker/interpreter.h"

namespace ridgeline::commands {

namespace {

struct Options {
  ProfileRequest request;
  std::string format = "text";
  std::string output;
  int time_limit = 600;
};

/// Lines of the user's files, each file read once. The files may have changed since: then the text is of today.
class SourceFiles {
 public:
  explicit SourceFiles(std::string root) : root_(std::move(root)) {}

  std::optional<std::string> operator()(const analysis::Location& place) {
    const auto [found, inserted] = files_.try_emplace(place.file);
    if (inserted) {
      std::ifstream file(place.file.starts_with("/") ? place.file : root_ + "/" + place.file);
      for (std::string line; found->second.size() < kMaxLines && std::getline(file, line);) {
        found->second.push_back(line);
      }
    }
    if (place.line == 0 || place.line > found->second.size()) {
      return std::nullopt;
    }
    return found->second[place.line - 1];
  }

 private:
  static constexpr std::size_t kMaxLines = 1'000'000;
  std::string root_;
  std::map<std::string, std::vector<std::string>> files_;
};

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

std::string render(const analysis::Profile& profile, const Options& options) {
  if (options.format == "json") {
    return report::json_report(profile);
  }
  report::TextOptions text;
  text.width = terminal_width();
  text.color = options.output.empty() && wants_color();
  auto files = std::make_shared<SourceFiles>(profile.project_root);
  return report::text_report(
      profile, [files](const analysis::Location& place) { return (*files)(place); }, text);
}

int write_out(const std::string& text, const std::string& path) {
  if (path.empty()) {
    std::cout << text << std::flush;
    return std::cout ? kExitOk : kExitEnvironment;
  }
  std::error_code problem;
  if (std::filesystem::exists(path, problem) && !std::filesystem::is_regular_file(path, problem)) {
    // A device or a pipe, such as /dev/null, must not be replaced by a file.
    std::ofstream file(path, std::ios::binary);
    file << text << std::flush;
    if (!file) {
      std::cerr << "ridgeline: cannot write " << path << "\n";
      return kExitEnvironment;
    }
    return kExitOk;
  }
  std::string error;
  if (!worker::write_atomically(path, text, error)) {
    std::cerr << "ridgeline: " << error << "\n";
    return kExitEnvironment;
  }
  return kExitOk;
}

int run(const Options& options) {
  ProgressLine progress;
  const auto outcome = run_profile(options.request, [&](const protocol::Progress& step) { progress.show(step); });
  progress.clear();
  if (const auto* failed = std::get_if<RunFailure>(&outcome)) {
    std::string root = options.request.project_root;
    std::error_code problem;
    const auto entry = std::filesystem::canonical(options.request.entry, problem);
    if (root.empty() && !problem) {
      root = worker::find_project_root(entry.string());
    }
    std::cerr << failure_text(*failed, root);
    return exit_code_of(failed->failure);
  }
  return write_out(render(std::get<analysis::Profile>(outcome), options), options.output);
}

}  // namespace

void add_profile_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("profile", "Profile an entry point and print the report.");
  command->add_option("ENTRY", options->request.entry, "Python file that defines the three providers")->required();
  command->add_option("--batch-sizes", options->request.batch_sizes, "Batch sizes to sample, such as 8,16,32")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 24));
  command->add_option("--device", options->request.device, "cpu: run on the CPU also what asks for CUDA")
      ->check(CLI::IsMember({"cpu"}));
  command->add_option("--python", options->request.python, "Interpreter that has torch and the model's packages");
  command->add_option("--project-root", options->request.project_root, "Folder whose lines are the user's");
  command->add_option("--format", options->format, "text or json")->check(CLI::IsMember({"text", "json"}));
  command->add_option("--output", options->output, "File to write the report to");
  command->add_option("--time-budget", options->request.time_budget_seconds, "Seconds for timing the bare step")
      ->check(CLI::Range(0.1, 86400.0));
  command->add_option("--time-limit", options->time_limit, "Seconds after which the profile is stopped")
      ->check(CLI::Range(1, 86400));
  command
      ->add_option("--memory-limit", options->request.memory_limit_bytes, "Bytes that the step may use, such as 8GiB")
      ->transform(CLI::AsSizeValue(false));
  command->callback([options, &exit_code] {
    options->request.time_limit = std::chrono::seconds(options->time_limit);
    exit_code = run(*options);
  });
}

}  // namespace ridgeline::commands
