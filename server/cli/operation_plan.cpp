#include "cli/operation_plan.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "app/own_operations.h"
#include "app/profiling/kept_profiles.h"
#include "app/profiling/what_if_base.h"
#include "cli/experiments.h"
#include "cli/measuring_script.h"
#include "cli/options.h"
#include "cli/profile_now.h"
#include "cli/remote_host.h"
#include "cli/terminal.h"
#include "operations/device/data_sheets.h"
#include "operations/table/measuring_plan.h"
#include "operations/table/time_csv.h"
#include "report/operation_times.h"
#include "report/units.h"
#include "step/changes/change_table.h"

namespace ridgeline::cli {

namespace {

using protocol::Experiment;

struct PlanOptions {
  std::shared_ptr<app::ProfileRequest> request = std::make_shared<app::ProfileRequest>();
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
  const auto findings =
      capture_operations(runs, options.changes, operations::find_data_sheet(options.device).has_value());
  if (!findings) {
    return findings.error().value;
  }
  auto table = app::own_operation_table();
  const auto made = table ? operations::plan_measuring(*table, options.device, app::operations_of(findings->captured))
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

struct DeviceThere {
  std::string name;
  bool is_cuda = false;
};

constexpr std::size_t kMaxDescription = 4096;

/// As measure_elsewhere.py describes it. Untrusted.
base::Result<DeviceThere> device_there(const std::string& description) {
  const auto read = nlohmann::json::parse(description, nullptr, false);
  if (!read.is_object() || !read.contains("device") || !read["device"].is_string()) {
    return base::error("it does not say what it would time on");
  }
  return DeviceThere{read["device"].get<std::string>(), read.value("kind", nlohmann::json()) == "cuda"};
}

/// The operations to time on the host's device: those that the table does not know, or, where.all, all of them.
base::Result<std::vector<std::string>> keys_to_time(const MeasureElsewhere& where, const std::string& device,
                                                    const std::vector<std::string>& keys) {
  auto table = app::own_operation_table();
  auto plan =
      table ? operations::plan_measuring(*table, device, keys) : base::Result<operations::MeasuringPlan>(table.error());
  if (!plan) {
    return plan.error();
  }
  if (plan->kept_here > 0) {
    warn(fmt::format("{} operations are not torch's own, or hold a text of yours: they are not timed there.",
                     plan->kept_here));
  }
  if (where.all) {
    plan->missing.insert(plan->missing.end(), plan->known.begin(), plan->known.end());
  }
  return std::move(plan->missing);
}

/// Adds what the host wrote to this user's table. The exit code.
int add_times(const std::string& host, const std::string& csv) {
  if (csv.find('\n') + 1 >= csv.size()) {  // the names of the columns alone
    return write_out(host + ": no operation could be timed, none was added\n", {});
  }
  const std::int64_t now = app::seconds_since_1970();
  constexpr std::int64_t kClockDifference = 86400;
  const auto rows = operations::parse_times(csv, host, {.measured_s = now + kClockDifference});
  auto table = app::own_operation_table();
  const auto merged = !rows    ? base::Result<operations::Merged>(rows.error())
                      : !table ? base::Result<operations::Merged>(table.error())
                               : table->add_rows(*rows);
  if (!merged) {
    print_error(merged.error().message());
    return kExitEnvironment;
  }
  return write_out(report::text_merged(host, *merged), {});
}

}  // namespace

base::Result<worker::ExperimentFindings, ExitCode> capture_operations(EntryRuns& runs,
                                                                      const std::vector<std::string>& changes,
                                                                      bool for_cuda) {
  std::vector<protocol::ChangeRequest> requests;
  for (const std::string& change : changes) {
    if (step::find_change(change) == nullptr) {
      print_error("no change is called " + change + ". `ridgeline what-if --help` names them.");
      return ExitCode{kExitUsage};
    }
    requests.push_back({change});
  }
  auto findings = run_experiment(runs, {.kind = Experiment::Kind::kCapture, .changes = requests, .for_cuda = for_cuda});
  if (findings) {
    for (const protocol::Captured& captured : findings->captured) {
      if (!captured.reason.empty()) {
        warn(changes.at(static_cast<std::size_t>(captured.change) - 1) + " does not apply: " + captured.reason);
      }
    }
  }
  return findings;
}

int measure_elsewhere(const MeasureElsewhere& where, EntryRuns& runs, const std::vector<std::string>& changes,
                      double seconds) {
  RemoteOptions remote{.host = where.host, .ssh = {"ssh"}, .program = {}};
  remote.ssh.insert(remote.ssh.end(), where.ssh_options.begin(), where.ssh_options.end());
  const std::string python = "exec " + shell_quoted(where.python) + " - ";
  const auto fail = [&](const base::Error& why) {
    print_error("Operations could not be timed on " + where.host + ": " + why.message() +
                ". Python there needs torch: name it with --host-python.");
    return kExitEnvironment;
  };
  const auto described = output_of_host(remote, python + "--describe", measuring_script({}, seconds), kMaxDescription);
  const auto device = described ? device_there(*described) : base::Result<DeviceThere>(described.error());
  if (!device) {
    return fail(device.error());
  }
  const auto findings = capture_operations(runs, changes, device->is_cuda);
  if (!findings) {
    return findings.error().value;
  }
  const auto keys = keys_to_time(where, device->name, app::operations_of(findings->captured));
  if (!keys) {
    print_error(keys.error().message());
    return kExitEnvironment;
  }
  if (keys->empty()) {
    return write_out(
        fmt::format("All operations of the step are known of {}: none was timed. --all times them again.\n",
                    report::printable(device->name)),
        {});
  }
  const auto csv = output_of_host(remote, python, measuring_script(*keys, seconds), operations::kMaxCsvBytes);
  return csv ? add_times(where.host, *csv) : fail(csv.error());
}

void add_plan_command(CLI::App& operations, int& exit_code) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command = operations.add_subcommand(
      "plan", "Which operations of an entry point's step are not known for a device, and how long timing them takes.");
  command->add_option("ENTRY", options->request->entry, "Python file that defines the three providers")->required();
  command->add_option("--device", options->device, "The device, as `operations list` or its driver names it")
      ->required();
  command->add_option("--change", options->changes,
                      "Also the operations of the step with this change; may be repeated");
  add_file_option(*command, "--script", options->script,
                  "Write a Python file that times them on a machine with Python and torch: it holds shapes only");
  command->add_option("--measure-seconds", options->seconds, "Seconds that the script may take at most")
      ->check(number_in(1, 86400))
      ->capture_default_str();
  add_place_options(*command, options->request);
  add_timeout_option(*command, options->request);
  add_output_options(*command, options->output);
  command->footer(
      "Examples:\n"
      "  ridgeline operations plan entry.py --device \"NVIDIA A100-SXM4-40GB\"\n"
      "  ridgeline operations plan entry.py --device T4 --script measure_t4.py");
  command->callback([options, &exit_code] { exit_code = plan(*options); });
}

}  // namespace ridgeline::cli
