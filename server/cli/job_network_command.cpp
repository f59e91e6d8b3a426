#include "cli/job_network_command.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "jobs/record/network.h"
#include "worker/cache.h"
#include "worker/interpreter.h"
#include "worker/program_output.h"

namespace ridgeline::cli {

namespace {

constexpr std::chrono::minutes kLimit{30};

struct NetworkRequest {
  std::string python;
  int ranks = 4;
  int rank = -1;        ///< of several machines: this process; -1: all ranks are here
  std::string address;  ///< of rank 0, likewise
  double seconds = 0.5;
  int largest_mib = 256;
  Output output;  ///< of which the file is used
};

std::vector<std::string> command_of(const NetworkRequest& request, const std::string& python,
                                    const std::string& sources) {
  std::vector<std::string> command = {python,      sources + "/profiler/runner/ridgeline_runner/measure/network.py",
                                      "--ranks",   std::to_string(request.ranks),
                                      "--seconds", std::to_string(request.seconds),
                                      "--largest", std::to_string(static_cast<long long>(request.largest_mib) << 20U)};
  if (request.rank >= 0) {
    command.insert(command.end(), {"--rank", std::to_string(request.rank), "--address", request.address});
  }
  return command;
}

int measure(const NetworkRequest& request) {
  if ((request.rank >= 0) == request.address.empty()) {
    print_error("give both --rank and --address on each of several machines, or neither for this one alone");
    return kExitUsage;
  }
  const auto cache = worker::cache_folder();
  if (!cache) {
    return fail(cache.error().message());
  }
  const auto sources = worker::unpack_sources(*cache);
  if (!sources) {
    return fail(sources.error().message());
  }
  std::error_code problem;
  const std::string here = (std::filesystem::current_path(problem) / "-").string();
  const std::string python = worker::find_interpreter(request.python, here, worker::find_project_root(here)).path;
  const auto line = worker::first_line_of(command_of(request, python, *sources), kLimit);
  if (!line.has_value()) {
    return fail("the links could not be measured with " + python +
                ": it needs torch with Gloo, and all ranks must be started with the same --ranks and --address");
  }
  if (request.rank > 0) {
    return kExitOk;  // rank 0 has the figures
  }
  const auto network = jobs::parse_network(*line);
  if (!network) {
    return fail("what was measured cannot be read: " + network.error().message());
  }
  write_to_error(printable_lines(jobs::network_text(*network)));
  return write_out(jobs::network_toml(*network), request.output);
}

}  // namespace

void add_job_network_command(CLI::App& job, int& exit_code) {
  auto request = std::make_shared<NetworkRequest>();
  CLI::App* command =
      job.add_subcommand("network", "Measure the network links between processes, and write a cluster file.");
  command->add_option("--python", request->python, "Interpreter with torch")->default_str("detected");
  command
      ->add_option("--ranks", request->ranks,
                   "Total number of processes; with four, how transfers share a link is measured too")
      ->check(number_in(2, 1024))
      ->capture_default_str();
  command->add_option("--rank", request->rank, "On several machines: the number of this process, from 0")
      ->check(number_in(0, 1023));
  command->add_option("--address", request->address, "On several machines: HOST:PORT of rank 0, the same on all");
  command->add_option("--largest", request->largest_mib, "The largest message, in MiB")
      ->check(number_in(1, 256))
      ->capture_default_str();
  command->add_option("--seconds", request->seconds, "How long to measure each size of message")
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
