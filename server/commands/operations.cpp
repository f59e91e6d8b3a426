#include "commands/operations.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "commands/operation_times.h"
#include "commands/options.h"
#include "commands/profile_now.h"
#include "commands/terminal.h"
#include "operations/operation_table.h"
#include "profiling/known_device.h"
#include "profiling/what_if.h"
#include "report/operation_times.h"
#include "report/units.h"
#include "whatif/change_table.h"
#include "worker/cache.h"
#include "worker/machine.h"

namespace ridgeline::commands {

namespace {

using operations::OperationTable;
using protocol::ChangeRequest;
using protocol::Experiment;

constexpr int kFailed = 1;

int fail(const base::Error& why) {
  print_error(why.message());
  return kFailed;
}

/// This user's table.
base::Result<OperationTable> own_table() {
  auto cache = worker::cache_folder();
  if (!cache) {
    return cache.error();
  }
  return OperationTable::open(profiling::operation_table_path(*cache));
}

struct MeasureOptions {
  std::shared_ptr<profiling::ProfileRequest> request = std::make_shared<profiling::ProfileRequest>();
  std::vector<std::string> changes;
  double seconds = 60;
};

int measure(const MeasureOptions& options) {
  const auto target = find_target_or_report(*options.request);
  if (!target) {
    return target.error().value;
  }
  std::vector<ChangeRequest> requests;
  for (const std::string& change : options.changes) {
    if (whatif::find_change(change) == nullptr) {
      print_error("no change is called " + change + ". `ridgeline what-if --help` names them.");
      return 2;
    }
    requests.push_back({change});
  }
  auto findings = run_experiment(*options.request, *target, {.kind = Experiment::Kind::kCapture, .changes = requests});
  if (!findings) {
    return findings.error().value;
  }
  for (const protocol::Captured& captured : findings->captured) {
    if (!captured.reason.empty()) {
      warn(options.changes.at(static_cast<std::size_t>(captured.change) - 1) + " does not apply: " + captured.reason);
    }
  }
  const std::vector<std::string> keys = profiling::operations_of(findings->captured);
  const operations::Conditions conditions{worker::processor_name(), findings->threads, findings->torch};
  const auto timed = times_of_operations(*options.request, *target, conditions, keys, options.seconds);
  if (!timed) {
    return timed.error().value;
  }
  std::ptrdiff_t without = 0;
  for (const auto& [key, time] : timed->known) {
    without += time.reason.empty() ? 0 : 1;
  }
  return write_out(
      fmt::format("{} operations: {} measured now, {} known before, {} that cannot be measured alone\n", keys.size(),
                  timed->measured, std::ssize(timed->known) - timed->measured - without, without),
      {});
}

int list(const Output& output, std::size_t most) {
  auto table = own_table();
  if (!table) {
    return fail(table.error());
  }
  const auto count = table->count();
  auto listed = table->list(most);
  if (!count || !listed) {
    return fail(count ? listed.error() : count.error());
  }
  const auto cache = worker::cache_folder();
  const auto kept =
      cache ? profiling::kept_device(*cache) : base::Result<std::optional<hardware::Device>>(cache.error());
  if (!kept) {
    warn(kept.error().message());
  }
  const hardware::Device* device = kept && *kept ? &**kept : nullptr;
  return write_out(output.format == "json"
                       ? report::json_operation_times(*listed, device)
                       : report::text_operation_times(*listed, *count, device, text_options(output)),
                   output);
}

int merge_into(OperationTable& table, const std::vector<std::string>& files) {
  std::string text;
  for (const std::string& file : files) {
    const auto added = table.merge(file);
    if (!added) {
      return fail(added.error());
    }
    text += fmt::format("{}: {} times added or replaced\n", report::printable(file), *added);
  }
  return write_out(text, {});
}

}  // namespace

void add_operations_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("operations", "Times of operations alone: measure, list and share them.");
  command->require_subcommand(1);

  auto options = std::make_shared<MeasureOptions>();
  CLI::App* measuring = command->add_subcommand("measure", "Time the operations of an entry point's step.");
  measuring->add_option("--change", options->changes, "Also those of the step with this change; may be repeated");
  measuring->add_option("--measure-time", options->seconds, "Seconds for timing at most")
      ->check(number_in(1, 3600))
      ->capture_default_str();
  add_profile_options(*measuring, options->request);
  measuring->footer("Example:\n  ridgeline operations measure entry.py --change bf16-autocast");
  measuring->callback([options, &exit_code] { exit_code = measure(*options); });

  auto output = std::make_shared<Output>();
  auto most = std::make_shared<std::size_t>(50);
  CLI::App* listing = command->add_subcommand("list", "List the times, the slowest operations first.");
  listing->add_option("--most", *most, "How many")->check(CLI::Range(1, 1'000'000))->capture_default_str();
  add_output_options(*listing, output);
  listing->callback([output, most, &exit_code] { exit_code = list(*output, *most); });

  auto file = std::make_shared<std::string>();
  CLI::App* exporting = command->add_subcommand("export", "Write all times to a file that others can import.");
  exporting->add_option("FILE", *file, "A file that does not exist yet")->required();
  exporting->callback([file, &exit_code] {
    auto table = own_table();
    const auto written = table ? table->export_to(*file) : base::Result<void>(table.error());
    exit_code = written ? 0 : fail(written.error());
  });

  auto imported = std::make_shared<std::vector<std::string>>();
  CLI::App* importing = command->add_subcommand("import", "Add the times of files to this machine's table.");
  importing->add_option("FILES", *imported, "Files that `export` or `merge` wrote")->required();
  importing->callback([imported, &exit_code] {
    auto table = own_table();
    exit_code = table ? merge_into(*table, *imported) : fail(table.error());
  });

  auto merged = std::make_shared<std::vector<std::string>>();
  auto into = std::make_shared<std::string>();
  CLI::App* merging = command->add_subcommand("merge", "Merge files of times into one.");
  merging->add_option("--output", *into, "The file to add to; it is made when it does not exist")->required();
  merging->add_option("FILES", *merged, "Files that `export` or `merge` wrote")->required();
  merging->callback([merged, into, &exit_code] {
    auto table = OperationTable::open(*into);
    exit_code = table ? merge_into(*table, *merged) : fail(table.error());
  });
}

}  // namespace ridgeline::commands
