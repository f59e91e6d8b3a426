#include "cli/job_options.h"

namespace ridgeline::cli {

void add_change_option(CLI::App& command, std::vector<std::string>& changes, step::Subject subject,
                       const std::string& description) {
  command.add_option("--change", changes, description + ": " + step::changes_of(subject) + "; may be repeated")
      ->allow_extra_args(false);
}

void add_network_option(CLI::App& command, std::string& network) {
  command.add_option("--network", network,
                     "Written by `ridgeline job network` on the same links: separates the latency of an all-reduce "
                     "from its bandwidth");
}

}  // namespace ridgeline::cli
