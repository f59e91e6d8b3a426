#include "commands/operation_times.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include "commands/failure_text.h"
#include "commands/profile_now.h"
#include "commands/progress_line.h"
#include "commands/terminal.h"
#include "profiling/kept_profiles.h"
#include "worker/machine.h"

namespace ridgeline::commands {

namespace {

/// The table, or nothing with a warning.
std::optional<operations::OperationTable> open_table(const std::string& cache) {
  auto table = operations::OperationTable::open(profiling::operation_table_path(cache));
  if (!table) {
    warn(table.error().message() + ". Operations are measured anew.");
    return std::nullopt;
  }
  return std::move(*table);
}

void keep(std::optional<operations::OperationTable>& table, const operations::Conditions& conditions,
          const std::vector<operations::OperationTime>& times) {
  if (table.has_value() && !times.empty()) {
    if (const auto added = table->add(
            conditions, times, profiling::seconds_since_1970(std::chrono::system_clock::now()), worker::host_name());
        !added) {
      warn(added.error().message());
    }
  }
}

}  // namespace

base::Result<worker::ExperimentFindings, ExitCode> run_experiment(EntryRuns& runs, protocol::Experiment experiment) {
  const profiling::PlannedRun plan = profiling::plan_experiment(runs.request(), runs.target(), std::move(experiment));
  ProgressLine line;
  const auto show = [&](const protocol::Progress& step) { line.show(step, step); };
  worker::Finished finished = runs.run(plan, show);
  line.clear();
  auto findings = profiling::findings_of(std::move(finished));
  if (!findings) {
    write_to_error(failure_text(findings.error(), runs.target().project_root));
    return exit_code_of(findings.error());
  }
  return std::move(*findings);
}

base::Result<profiling::TimesForAnswer, ExitCode> times_of_operations(EntryRuns& runs,
                                                                      const operations::Conditions& conditions,
                                                                      const std::vector<std::string>& keys,
                                                                      double seconds) {
  profiling::TimesForAnswer timed;
  if (const auto added = add_times_of_operations(runs, conditions, keys, seconds, timed); !added) {
    return added.error();
  }
  return timed;
}

base::Result<void, ExitCode> add_times_of_operations(EntryRuns& runs, const operations::Conditions& conditions,
                                                     const std::vector<std::string>& keys, double seconds,
                                                     profiling::TimesForAnswer& timed) {
  auto table = open_table(runs.target().cache);
  const bool is_first = timed.measured == 0;
  std::vector<std::string> unknown;
  std::ranges::copy_if(keys, std::back_inserter(unknown),
                       [&](const std::string& key) { return !timed.known.contains(key); });
  if (table.has_value()) {
    auto missing = profiling::unknown_operations(*table, conditions, unknown, timed.known);
    if (missing) {
      unknown = std::move(*missing);
    } else {
      warn(missing.error().message());
    }
  }
  for (int attempt = 0; attempt < profiling::kMostMeasurements && !unknown.empty(); ++attempt) {
    const std::vector<std::string> asked = is_first ? profiling::with_references(unknown, timed.known) : unknown;
    auto findings =
        run_experiment(runs, {.kind = protocol::Experiment::Kind::kMeasure, .operations = asked, .seconds = seconds});
    if (!findings) {
      return findings.error();
    }
    keep(table, conditions, profiling::take_times(*findings, timed, asked, unknown));
  }
  return {};
}

}  // namespace ridgeline::commands
