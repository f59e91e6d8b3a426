#include "cli/profile.h"

#include <memory>
#include <string>

#include "cli/options.h"
#include "cli/profile_now.h"
#include "cli/rendered_profile.h"

namespace ridgeline::cli {

namespace {

int run(const app::ProfileRequest& request, const Output& output) {
  const auto target = find_target_or_report(request);
  if (!target) {
    return target.error().value;
  }
  const auto made = profile_now(request, *target);
  return made ? write_out(rendered_profile(made->profile, made->outlook, &made->recorded, output), output)
              : made.error().value;
}

}  // namespace

void add_profile_command(CLI::App& app, int& exit_code) {
  auto request = std::make_shared<app::ProfileRequest>();
  auto output = std::make_shared<Output>();
  CLI::App* command = app.add_subcommand("profile", "Profile an entry point and print the report.");
  add_profile_options(*command, request);
  add_report_options(*command, output);
  command->footer(
      "Examples:\n"
      "  ridgeline profile entry.py\n"
      "  ridgeline profile entry.py --batch-sizes 8,16,32 --format json --output report.json");
  command->callback([request, output, &exit_code] { exit_code = run(*request, *output); });
}

}  // namespace ridgeline::cli
