#include "cli/operations_command.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/collect_times.h"
#include "app/own_operations.h"
#include "app/profiling/known_device.h"
#include "app/profiling/what_if_base.h"
#include "base/result.h"
#include "cli/experiments.h"
#include "cli/failure_text.h"
#include "cli/import_times.h"
#include "cli/operation_plan.h"
#include "cli/options.h"
#include "cli/profile_now.h"
#include "cli/terminal.h"
#include "cli/train_command.h"
#include "operations/table/operation_table.h"
#include "report/operation_times.h"
#include "worker/cache.h"
#include "worker/machine.h"

namespace ridgeline::cli {

namespace {

using operations::OperationTable;

struct MeasureOptions {
  std::shared_ptr<app::ProfileRequest> request = std::make_shared<app::ProfileRequest>();
  std::vector<std::string> changes;
  double seconds = 60;
  MeasureElsewhere elsewhere;  ///< without a host: here
};

int measure(const MeasureOptions& options) {
  const auto target = find_target_or_report(*options.request);
  if (!target) {
    return target.error().value;
  }
  EntryRuns runs(*options.request, *target);
  if (!options.elsewhere.host.empty()) {
    return measure_elsewhere(options.elsewhere, runs, options.changes, options.seconds);
  }
  const auto findings = capture_operations(runs, options.changes, false);
  if (!findings) {
    return findings.error().value;
  }
  const std::vector<std::string> keys = app::operations_of(findings->captured);
  const std::string& gpu = findings->cuda_device;
  const operations::Conditions conditions{gpu.empty() ? worker::processor_name() : gpu, findings->threads,
                                          findings->torch};
  EntryExperiments runner(runs);
  const auto times = std::make_shared<app::CollectedTimes>(app::CollectedTimes{conditions});
  const auto collected = wait_for(*target, app::collect_times(runner, times, keys, options.seconds));
  if (!collected) {
    return collected.error().value;
  }
  for (const std::string& warning : times->warnings) {
    warn(warning);
  }
  const app::TimesForAnswer& timed = times->timed;
  std::ptrdiff_t without = 0;
  for (const auto& [key, time] : timed.known) {
    without += time.reason.empty() ? 0 : 1;
  }
  return write_out(
      fmt::format("{} operations: {} measured now, {} known before, {} that cannot be measured alone\n", keys.size(),
                  timed.measured, std::ssize(timed.known) - timed.measured - without, without),
      {});
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
                        "Also the operations of the step with this change; may be repeated");
  measuring->add_option("--measure-seconds", options->seconds, "Seconds for timing at most")
      ->check(number_in(1, 3600))
      ->capture_default_str();
  CLI::Option* host = measuring->add_option(
      "--host", options->elsewhere.host, "Time them on this host instead, over ssh: only tensor shapes are sent to it");
  host->check(CLI::Validator(
      [](const std::string& name) { return name.empty() || name[0] == '-' ? "HOST is no host" : std::string(); },
      "HOST"));
  measuring->add_option("--host-python", options->elsewhere.python, "With --host: Python with torch on the host")
      ->needs(host)
      ->capture_default_str();
  measuring
      ->add_flag("--all", options->elsewhere.all, "With --host: also time operations already measured on its device")
      ->needs(host);
  measuring->add_option("--ssh-option", "With --host: an option of ssh, such as `-p2222`; may be repeated")
      ->needs(host)
      ->each([options](const std::string& option) { options->elsewhere.ssh_options.push_back(option); })
      ->take_all();
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
