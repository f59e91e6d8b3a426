#include "cli/job_collect_command.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/jobs/collect_job.h"
#include "app/jobs/job_files.h"
#include "base/file.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/job_options.h"
#include "cli/options.h"
#include "cli/remote_host.h"
#include "cli/terminal.h"
#include "protocol/shown_text.h"

namespace ridgeline::cli {

namespace {

struct CollectRequest {
  std::vector<std::string> places;
  std::vector<std::string> ssh{"ssh"};
  std::string output;
};

/// As scp reads it: a colon before any slash ends the name of a host.
struct Place {
  std::string host{};  ///< empty: this machine
  std::string file{};
};

Place place_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || text.find('/') < colon) {
    return {"", text};
  }
  return {text.substr(0, colon), text.substr(colon + 1)};
}

std::string place_problem(const std::string& text) {
  const Place place = place_of(text);
  return place.file.empty() || place.host.starts_with('-') || text.starts_with(':')
             ? text + " is neither HOST:FILE nor a file of this machine"
             : std::string();
}

base::Result<std::string> bytes_at(const Place& place, const std::vector<std::string>& ssh) {
  if (place.host.empty()) {
    return base::read_text(place.file, app::kMostJobBytes);
  }
  const RemoteOptions remote{.host = place.host, .ssh = ssh, .program = {}};
  return output_of_host(remote, "exec cat -- " + shell_quoted(place.file), "", app::kMostJobBytes);
}

int collect(const CollectRequest& request) {
  const auto job = app::collect_job(request.places,
                                    [&](const std::string& place) { return bytes_at(place_of(place), request.ssh); });
  if (!job) {
    return fail(protocol::printable(job.error().message()));
  }
  const int written = write_job(*job, request.output);
  if (written == kExitOk) {
    print_error(fmt::format("{}: {}", request.output, app::ranks_summary(*job)));
  }
  return written;
}

}  // namespace

void add_job_collect_command(CLI::App& job, int& exit_code) {
  auto request = std::make_shared<CollectRequest>();
  CLI::App* command = job.add_subcommand(
      "collect",
      "Fetch what `ridgeline profile --job` wrote on each machine of a job, by ssh, and make one file of it.");
  command
      ->add_option(
          "PLACES", request->places,
          "HOST:FILE, with HOST as ssh knows it and FILE relative to the home folder there; or a file of this machine")
      ->required()
      ->check(CLI::Validator(place_problem, ""));
  add_file_option(*command, "--output", request->output, "File to write the job to");
  command->get_option("--output")->required();
  add_ssh_option(*command, request->ssh);
  command->footer(
      "Examples:\n"
      "  ridgeline job collect node1:run.ridgeline-job node2:run.ridgeline-job --output mine.ridgeline-job\n"
      "  ridgeline job collect here.ridgeline-job me@node2:/data/run.ridgeline-job --output mine.ridgeline-job");
  command->callback([request, &exit_code] { exit_code = collect(*request); });
}

}  // namespace ridgeline::cli
