#include "cli/report.h"

#include <memory>
#include <string>

#include "analysis/prediction/answers.h"
#include "cli/exit_codes.h"
#include "cli/options.h"
#include "cli/rendered_profile.h"
#include "cli/stored_profile.h"
#include "cli/terminal.h"

namespace ridgeline::cli {

namespace {

int run(const std::string& name, const Output& output) {
  if (needs_recording(output.format)) {
    print_error(
        "--format " + output.format +
        " needs the recording, which is not kept with a profile: give it to ridgeline profile, ridgeline run or "
        "ridgeline import");
    return kExitUsage;
  }
  const auto profile = stored_profile(name);
  if (!profile) {
    print_error(profile.error().message());
    return kExitUsage;
  }
  return write_out(rendered_profile(*profile, analysis::outlook_of(*profile), nullptr, output), output);
}

}  // namespace

void add_report_command(CLI::App& app, int& exit_code) {
  auto name = std::make_shared<std::string>();
  auto output = std::make_shared<Output>();
  CLI::App* command = app.add_subcommand("report", "Show a profile that was made before, in any format.");
  command->add_option("PROFILE", *name, "Report in JSON, or the id of a kept profile")->required();
  add_report_options(*command, output);
  command->footer(
      "Examples:\n"
      "  ridgeline report report.json\n"
      "  ridgeline report 5b978a880ee3d73e --format markdown --output report.md");
  command->callback([name, output, &exit_code] { exit_code = run(*name, *output); });
}

}  // namespace ridgeline::cli
