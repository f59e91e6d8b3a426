#include "commands/operation_plan.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "commands/measuring_script.h"
#include "commands/operation_times.h"
#include "commands/options.h"
#include "commands/own_operations.h"
#include "commands/profile_now.h"
#include "commands/remote_host.h"
#include "commands/terminal.h"
#include "operations/measuring_plan.h"
#include "operations/shapes_only.h"
#include "operations/time_csv.h"
#include "profiling/kept_profiles.h"
#include "profiling/what_if.h"
#include "report/operation_times.h"
#include "report/units.h"
#include "whatif/change_table.h"

namespace ridgeline::commands {

namespace {

using protocol::Experiment;

struct PlanOptions {
  std::shared_ptr<profiling::ProfileRequest> request = std::make_shared<profiling::ProfileRequest>();
  std::shared_ptr<Output> output = std::make_shared<Output>();
  std::string device;
  std::vector<std::string> changes;
  std::string script;
  double seconds = 600;
};

int plan(const PlanOptions& options) {
  const auto target = find_target_or_report(*options.request);
  if (!target) {
    return target.error().value;
  }
  EntryRuns runs(*options.request, *target);
  const auto findings = capture_operations(runs, options.changes);
  if (!findings) {
    return findings.error().value;
  }
  auto table = own_operation_table();
  const auto made =
      table ? operations::plan_measuring(*table, options.device, profiling::operations_of(findings->captured))
            : base::Result<operations::MeasuringPlan>(table.error());
  if (!made) {
    print_error(made.error().message());
    return kExitEnvironment;
  }
  if (!options.script.empty()) {
    const int written = write_out(measuring_script(made->missing, options.seconds), {.file = options.script});
    if (written != kExitOk) {
      return written;
    }
  }
  return write_out(options.output->format == "json" ? report::json_measuring_plan(*made)
                                                    : report::text_measuring_plan(*made, options.script),
                   *options.output);
}

}  // namespace

base::Result<worker::ExperimentFindings, ExitCode> capture_operations(EntryRuns& runs,
                                                                      const std::vector<std::string>& changes) {
  std::vector<protocol::ChangeRequest> requests;
  for (const std::string& change : changes) {
    if (whatif::find_change(change) == nullptr) {
      print_error("no change is called " + change + ". `ridgeline what-if --help` names them.");
      return ExitCode{kExitUsage};
    }
    requests.push_back({change});
  }
  auto findings = run_experiment(runs, {.kind = Experiment::Kind::kCapture, .changes = requests});
  if (findings) {
    for (const protocol::Captured& captured : findings->captured) {
      if (!captured.reason.empty()) {
        warn(changes.at(static_cast<std::size_t>(captured.change) - 1) + " does not apply: " + captured.reason);
      }
    }
  }
  return findings;
}

int measure_elsewhere(const MeasureElsewhere& where, const std::vector<std::string>& keys, double seconds) {
  const std::vector<std::string> told = operations::shapes_only(keys);
  if (told.size() < keys.size()) {
    warn(fmt::format("{} operations are not torch's own, or hold a text of yours: they are not timed there.",
                     keys.size() - told.size()));
  }
  RemoteOptions remote{.host = where.host, .ssh = {"ssh"}, .program = {}};
  remote.ssh.insert(remote.ssh.end(), where.ssh_options.begin(), where.ssh_options.end());
  const auto csv = output_of_host(remote, "exec " + shell_quoted(where.python) + " -", measuring_script(told, seconds),
                                  operations::kMaxCsvBytes);
  if (!csv) {
    print_error("Operations could not be timed on " + where.host + ": " + csv.error().message() +
                ". Python there needs torch: name it with --python-there.");
    return kExitEnvironment;
  }
  const std::int64_t now = profiling::seconds_since_1970(std::chrono::system_clock::now());
  constexpr std::int64_t kClockDifference = 86400;
  const auto rows = operations::parse_times(*csv, where.host, {.measured_s = now + kClockDifference});
  auto table = own_operation_table();
  const auto merged = !rows    ? base::Result<operations::Merged>(rows.error())
                      : !table ? base::Result<operations::Merged>(table.error())
                               : table->add_rows(*rows);
  if (!merged) {
    print_error(merged.error().message());
    return kExitEnvironment;
  }
  return write_out(report::text_merged(where.host, *merged), {});
}

void add_plan_command(CLI::App& operations, int& exit_code) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command = operations.add_subcommand(
      "plan", "Which operations of an entry point's step are not known for a device, and how long timing them takes.");
  command->add_option("ENTRY", options->request->entry, "Python file that defines the three providers")->required();
  command->add_option("--device", options->device, "The device, as `operations list` or its driver names it")
      ->required();
  command->add_option("--change", options->changes, "Also those of the step with this change; may be repeated");
  add_file_option(*command, "--script", options->script,
                  "Write a Python file that times them on a machine with Python and torch: it holds shapes only");
  command->add_option("--measure-time", options->seconds, "Seconds that the script may take at most")
      ->check(number_in(1, 86400))
      ->capture_default_str();
  add_place_options(*command, options->request);
  add_time_limit_option(*command, options->request);
  add_output_options(*command, options->output);
  command->footer(
      "Examples:\n"
      "  ridgeline operations plan entry.py --device \"NVIDIA A100-SXM4-40GB\"\n"
      "  ridgeline operations plan entry.py --device T4 --script measure_t4.py");
  command->callback([options, &exit_code] { exit_code = plan(*options); });
}

}  // namespace ridgeline::commands
