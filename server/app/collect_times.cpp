#include "app/collect_times.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "app/profiling/kept_profiles.h"
#include "worker/machine.h"

namespace ridgeline::app {

namespace {

using Measured = std::vector<operations::OperationTime>;

void add_warning(CollectedTimes& times, std::string text) {
  if (std::ranges::find(times.warnings, text) == times.warnings.end()) {
    times.warnings.push_back(std::move(text));
  }
}

std::optional<operations::OperationTable> open_table(const std::string& cache, CollectedTimes& times) {
  auto table = operations::OperationTable::open(operation_table_path(cache));
  if (!table) {
    add_warning(times, table.error().message() + ". Operations are measured anew.");
    return std::nullopt;
  }
  return std::move(*table);
}

/// Takes from `keys` what the table has.
void look_up(const std::string& cache, CollectedTimes& times, std::vector<std::string>& keys) {
  auto table = open_table(cache, times);
  if (!table.has_value()) {
    return;
  }
  auto missing = unknown_operations(*table, times.conditions, keys, times.timed.known);
  if (missing) {
    keys = std::move(*missing);
  } else {
    add_warning(times, missing.error().message());
  }
}

void keep(const std::string& cache, CollectedTimes& times, const Measured& measured) {
  if (measured.empty()) {
    return;
  }
  if (auto table = open_table(cache, times)) {
    const auto added = table->add(times.conditions, measured, seconds_since_1970(), worker::host_name());
    if (!added) {
      add_warning(times, added.error().message());
    }
  }
}

}  // namespace

base::Task<base::Result<void, RunFailure>> collect_times(ExperimentRunner& runner,
                                                         std::shared_ptr<CollectedTimes> times,
                                                         std::vector<std::string> keys, double seconds) {
  const bool is_first = times->timed.measured == 0;
  auto unknown = std::make_shared<std::vector<std::string>>();
  std::ranges::copy_if(keys, std::back_inserter(*unknown),
                       [&](const std::string& key) { return !times->timed.known.contains(key); });
  if (unknown->empty()) {
    co_return base::Result<void, RunFailure>();
  }
  auto looking = runner.off_loop([cache = runner.cache(), times, unknown] { look_up(cache, *times, *unknown); });
  co_await std::move(looking);
  for (int attempt = 0; attempt < kMostMeasurements && !unknown->empty(); ++attempt) {
    const std::vector<std::string> asked = is_first ? with_references(*unknown, times->timed.known) : *unknown;
    auto measuring =
        runner.run({.kind = protocol::Experiment::Kind::kMeasure, .operations = asked, .seconds = seconds});
    const ExperimentOutcome findings = co_await std::move(measuring);
    if (!findings) {
      co_return findings.error();
    }
    auto measured = std::make_shared<const Measured>(take_times(*findings, times->timed, asked, *unknown));
    auto keeping = runner.off_loop([cache = runner.cache(), times, measured] { keep(cache, *times, *measured); });
    co_await std::move(keeping);
  }
  co_return base::Result<void, RunFailure>();
}

}  // namespace ridgeline::app
