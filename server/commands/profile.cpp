#include "commands/profile.h"

#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/answers.h"
#include "commands/exit_codes.h"
#include "commands/options.h"
#include "commands/profile_now.h"
#include "report/json.h"
#include "report/text.h"

namespace ridgeline::commands {

namespace {

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

std::string render(const analysis::Profile& profile, const Output& output) {
  if (output.format == "json") {
    return report::json_report(profile, analysis::outlook_of(profile));
  }
  auto files = std::make_shared<SourceFiles>(profile.project_root);
  return report::text_report(
      profile, analysis::outlook_of(profile), [files](const analysis::Location& place) { return (*files)(place); },
      text_options(output));
}

int run(const profiling::ProfileRequest& request, const Output& output) {
  int exit_code = kExitOk;
  const std::optional<profiling::Target> target = find_target_or_say(request, exit_code);
  if (!target.has_value()) {
    return exit_code;
  }
  const std::optional<analysis::Profile> profile = profile_now(request, *target, exit_code);
  return profile.has_value() ? write_out(render(*profile, output), output) : exit_code;
}

}  // namespace

void add_profile_command(CLI::App& app, int& exit_code) {
  auto request = std::make_shared<profiling::ProfileRequest>();
  auto output = std::make_shared<Output>();
  CLI::App* command = app.add_subcommand("profile", "Profile an entry point and print the report.");
  add_profile_options(*command, request);
  add_output_options(*command, output);
  command->callback([request, output, &exit_code] { exit_code = run(*request, *output); });
}

}  // namespace ridgeline::commands
