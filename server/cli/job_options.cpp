#include "cli/job_options.h"

#include <fmt/format.h>

#include "base/file.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"

namespace ridgeline::cli {

void add_change_option(CLI::App& command, std::vector<std::string>& changes, step::Subject subject,
                       const std::string& description) {
  command.add_option("--change", changes, description + ": " + step::changes_of(subject) + "; may be repeated")
      ->allow_extra_args(false);
}

void add_network_option(CLI::App& command, std::string& network) {
  command.add_option(
      "--network", network,
      "File that `ridgeline job network` wrote on the same links: separates the latency of an all-reduce "
      "from its bandwidth");
}

int write_job(const jobs::Job& job, const std::string& file) {
  if (job.ranks.empty()) {
    return fail(file + " was not written: no rank of the command used torch.distributed while it was recorded");
  }
  const auto problem = base::write_atomically(file, jobs::serialise_job(job), base::FileAccess::kUmask);
  return problem ? fail(fmt::format("cannot write {}: {}", file, problem.message())) : kExitOk;
}

}  // namespace ridgeline::cli
