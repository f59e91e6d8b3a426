#include "cli/operations_command.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/measure_operations.h"
#include "app/own_operations.h"
#include "app/profiling/known_device.h"
#include "base/result.h"
#include "cli/entry_runs.h"
#include "cli/failure_text.h"
#include "cli/import_times.h"
#include "cli/operation_plan.h"
#include "cli/options.h"
#include "cli/remote_host.h"
#include "cli/terminal.h"
#include "cli/train_command.h"
#include "cli/wait_for.h"
#include "operations/table/operation_table.h"
#include "report/operation_times.h"
#include "report/units.h"
#include "worker/cache.h"

namespace ridgeline::cli {

namespace {

using operations::OperationTable;

struct MeasureOptions {
  std::shared_ptr<app::ProfileRequest> request = std::make_shared<app::ProfileRequest>();
  std::vector<std::string> changes;
  double seconds = 60;
  std::string host;  ///< as ssh knows it; empty: here
  std::vector<std::string> ssh_options;
  std::string host_python = "python3";
  bool all = false;
};

app::OtherHost other_host(const MeasureOptions& options) {
  RemoteOptions remote{.host = options.host, .ssh = {"ssh"}, .program = {}};
  remote.ssh.insert(remote.ssh.end(), options.ssh_options.begin(), options.ssh_options.end());
  const auto run = [remote, python = "exec " + shell_quoted(options.host_python) + " - "](
                       const std::string& arguments, const std::string& script, std::size_t most_bytes) {
    return output_of_host(remote, python + arguments, script, most_bytes);
  };
  return {options.host, options.all, run};
}

std::string text_of(const app::MeasuredElsewhere& done, const std::string& host) {
  if (done.is_all_known) {
    return fmt::format("All operations of the step are known of {}: none was timed. --all times them again.\n",
                       report::printable(done.device));
  }
  return done.merged ? report::text_merged(host, *done.merged)
                     : host + ": no operation could be timed, none was added\n";
}

std::string text_of(const app::MeasuredOperations& done) {
  return fmt::format("{} operations: {} measured now, {} known before, {} that cannot be measured alone\n",
                     done.operations, done.measured, done.known, done.without);
}

template <typename Done>
int show(const Done& done, const std::string& text) {
  for (const std::string& warning : done.warnings) {
    warn(warning);
  }
  return write_out(text, {});
}

int measure(const MeasureOptions& options) {
  const auto opened = open_entry_runs(*options.request);
  if (!opened) {
    return opened.error();
  }
  EntryRuns& runs = **opened;
  const app::ListedSteps steps{runs.target().project_root, options.changes};
  if (options.host.empty()) {
    const auto done = answer_of(app::measure_operations(runs, steps, options.seconds));
    return done ? show(*done, text_of(*done)) : done.error();
  }
  const auto done = answer_of(app::measure_elsewhere(runs, steps, other_host(options), options.seconds));
  return done ? show(*done, text_of(*done, options.host)) : done.error();
}

int list(const Output& output, std::size_t most) {
  auto table = app::own_operation_table();
  if (!table) {
    return fail(table.error(), kExitEntryFailed);
  }
  const auto count = table->count();
  auto listed = table->list(most);
  if (!count || !listed) {
    return fail(count ? listed.error() : count.error(), kExitEntryFailed);
  }
  const auto cache = worker::cache_folder();
  const auto kept = cache ? app::kept_device(*cache) : base::Result<std::optional<operations::Device>>(cache.error());
  if (!kept) {
    warn(kept.error().message());
  }
  const operations::Device* device = kept && *kept ? &**kept : nullptr;
  return write_out(output.format == "json"
                       ? report::json_operation_times(*listed, device)
                       : report::text_operation_times(*listed, *count, device, text_options(output)),
                   output);
}

}  // namespace

void add_operations_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("operations", "Time single operations, and list or share the results.");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  ridgeline operations measure entry.py\n"
      "  ridgeline operations list --most 20");

  auto options = std::make_shared<MeasureOptions>();
  CLI::App* measuring = command->add_subcommand("measure", "Time the operations of an entry point's step.");
  measuring->add_option("--change", options->changes,
                        "Also time the operations of the step with this change; may be repeated");
  measuring->add_option("--measure-seconds", options->seconds, "Time limit for the measurements, in seconds")
      ->check(number_in(1, 3600))
      ->capture_default_str();
  CLI::Option* host = measuring->add_option(
      "--host", options->host, "Time them on this host instead, over ssh: only tensor shapes are sent to it");
  host->check(host_name("HOST"));
  measuring->add_option("--host-python", options->host_python, "With --host: Python with torch on the host")
      ->needs(host)
      ->capture_default_str();
  measuring->add_flag("--all", options->all, "With --host: also time operations already measured on its device")
      ->needs(host);
  add_ssh_option(*measuring, options->ssh_options, "With --host: an option of ssh, such as `-p2222`")->needs(host);
  add_profile_options(*measuring, options->request);
  measuring->footer(
      "Examples:\n"
      "  ridgeline operations measure entry.py --change bf16-autocast\n"
      "  ridgeline operations measure entry.py --host gpu-box --host-python .venv/bin/python");
  measuring->callback([options, &exit_code] { exit_code = measure(*options); });

  auto output = std::make_shared<Output>();
  auto most = std::make_shared<std::size_t>(50);
  CLI::App* listing = command->add_subcommand("list", "List the times, the slowest operations first.");
  listing->add_option("--most", *most, "Number of operations to list")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  add_output_options(*listing, output);
  listing->footer(
      "Examples:\n"
      "  ridgeline operations list --most 20\n"
      "  ridgeline operations list --format json --output times.json");
  listing->callback([output, most, &exit_code] { exit_code = list(*output, *most); });

  auto file = std::make_shared<std::string>();
  CLI::App* exporting = command->add_subcommand("export", "Write all times to a file that others can import.");
  exporting->add_option("FILE", *file, "A file that does not exist yet")->required();
  exporting->footer(
      "Examples:\n"
      "  ridgeline operations export team.sqlite\n"
      "  ridgeline operations export /mnt/shared/times/gpu-box.sqlite");
  exporting->callback([file, &exit_code] {
    auto table = app::own_operation_table();
    const auto written = table ? table->export_to(*file) : base::Result<void>(table.error());
    exit_code = written ? 0 : fail(written.error(), kExitEntryFailed);
  });

  add_import_and_merge_commands(*command, exit_code);
  add_plan_command(*command, exit_code);
  add_train_command(*command, exit_code);
}

}  // namespace ridgeline::cli
