#include "cli/job_network_command.h"

#include <memory>
#include <string>

#include "app/measure_network.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/options.h"
#include "cli/terminal.h"

namespace ridgeline::cli {

namespace {

struct NetworkRequest {
  app::NetworkQuestion question;
  int rank = -1;  ///< of several machines: this process; -1: all ranks are here
  std::string address;
  Output output;  ///< of which the file is used
};

int measure(const NetworkRequest& request) {
  if ((request.rank >= 0) == request.address.empty()) {
    return fail("give both --rank and --address on each of several machines, or neither for this one alone",
                kExitUsage);
  }
  app::NetworkQuestion question = request.question;
  if (request.rank >= 0) {
    question.process = {request.rank, request.address};
  }
  const auto network = app::measure_network(question);
  if (!network) {
    return fail(network.error());
  }
  if (!network->has_value()) {
    return kExitOk;  // rank 0 has the figures
  }
  write_to_error(printable_lines(jobs::network_text(**network)));
  return write_out(jobs::network_toml(**network), request.output);
}

}  // namespace

void add_job_network_command(CLI::App& job, int& exit_code) {
  auto request = std::make_shared<NetworkRequest>();
  CLI::App* command =
      job.add_subcommand("network", "Measure the network links between processes, and write a cluster file.");
  command->add_option("--python", request->question.python, "Interpreter with torch")->default_str("detected");
  command
      ->add_option("--ranks", request->question.ranks,
                   "Total number of processes; with four, how transfers share a link is measured too")
      ->check(number_in(2, 1024))
      ->capture_default_str();
  command->add_option("--rank", request->rank, "On several machines: the number of this process, from 0")
      ->check(number_in(0, 1023));
  command->add_option("--address", request->address, "On several machines: HOST:PORT of rank 0, the same on all");
  command->add_option("--largest", request->question.largest_mib, "The largest message, in MiB")
      ->check(number_in(1, 256))
      ->capture_default_str();
  command->add_option("--seconds", request->question.seconds, "How long to measure each size of message")
      ->check(number_in(0.01, 60))
      ->capture_default_str();
  add_file_option(*command, "--output", request->output.file, "File to write to, instead of standard output");
  command->footer(
      "Examples:\n"
      "  ridgeline job network --output cluster.toml\n"
      "  ridgeline job network --ranks 2 --rank 0 --address node1:29400   # on node1; on node2 with --rank 1");
  command->callback([request, &exit_code] { exit_code = measure(*request); });
}

}  // namespace ridgeline::cli
