#include "cli/guard_command.h"

#include <memory>

#include "cli/exit_codes.h"
#include "worker/guard/guarded_command.h"

namespace ridgeline::cli {

void add_guard_command(CLI::App& app, int& exit_code, const std::vector<std::string>& after_dashes) {
  CLI::App* command = app.add_subcommand("guard", "What `ridgeline profile` runs a command again with.");
  command->group("");  // not for users
  auto folder = std::make_shared<std::string>();
  command->add_option("--folder", *folder, "For its temporary files and the report")->required();
  command->callback([folder, after_dashes, &exit_code] {
    exit_code = after_dashes.empty() ? kExitUsage : worker::run_guarded(after_dashes, *folder);
  });
}

}  // namespace ridgeline::cli
