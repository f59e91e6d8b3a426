#include "app/measure_operations.h"

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

#include "app/collect_times.h"
#include "app/measuring_script.h"
#include "app/own_operations.h"
#include "app/profiling/kept_profiles.h"
#include "app/profiling/what_if_base.h"
#include "operations/device/data_sheets.h"
#include "operations/table/time_csv.h"
#include "step/changes/change_table.h"
#include "worker/machine.h"

namespace ridgeline::app {

namespace {

using protocol::Experiment;

constexpr std::size_t kMaxDescription = 4096;

struct StepOperations {
  worker::ExperimentFindings findings;
  std::vector<std::string> warnings{};  ///< which changes do not apply
};

/// `for_cuda`: those of a CUDA device where the step is on the host, too.
base::Task<Answer<StepOperations>> list_operations(ExperimentRunner& runner, ListedSteps steps, bool for_cuda) {
  std::vector<protocol::ChangeRequest> requests;
  for (const std::string& change : steps.changes) {
    if (const auto kind = step::find_change_of(step::Subject::kStep, change); !kind) {
      co_return refusal(Cause::kRequest, kind.error().message());
    }
    requests.push_back({change});
  }
  auto capturing = runner.run({.kind = Experiment::Kind::kCapture, .changes = requests, .for_cuda = for_cuda});
  ExperimentOutcome findings = co_await std::move(capturing);
  if (!findings) {
    co_return FailedProjectRun{findings.error(), steps.project_root};
  }
  StepOperations listed{std::move(*findings)};
  for (const protocol::Captured& captured : listed.findings.captured) {
    if (!captured.reason.empty()) {
      listed.warnings.push_back(steps.changes.at(static_cast<std::size_t>(captured.change) - 1) +
                                " does not apply: " + captured.reason);
    }
  }
  co_return listed;
}

base::Result<operations::MeasuringPlan> plan_for(const std::string& device, const std::vector<std::string>& keys) {
  auto table = own_operation_table();
  return table ? operations::plan_measuring(*table, device, keys)
               : base::Result<operations::MeasuringPlan>(table.error());
}

struct DeviceThere {
  std::string name;
  bool is_cuda = false;
};

/// As measure_elsewhere.py describes it. Untrusted.
base::Result<DeviceThere> device_there(const OtherHost& host, double seconds) {
  const auto description = host.run("--describe", measuring_script({}, seconds), kMaxDescription);
  if (!description) {
    return description.error();
  }
  const auto read = nlohmann::json::parse(*description, nullptr, false);
  if (!read.is_object() || !read.contains("device") || !read["device"].is_string()) {
    return base::error("it does not say what it would time on");
  }
  return DeviceThere{read["device"].get<std::string>(), read.value("kind", nlohmann::json()) == "cuda"};
}

/// The operations to time on the host's device: those that the table does not know, or all of them.
base::Result<std::vector<std::string>> keys_to_time(const OtherHost& host, const std::string& device,
                                                    const std::vector<std::string>& keys,
                                                    std::vector<std::string>& warnings) {
  auto plan = plan_for(device, keys);
  if (!plan) {
    return plan.error();
  }
  if (plan->kept_here > 0) {
    warnings.push_back(fmt::format(
        "{} operations are not torch's own, or hold a text of yours: they are not timed there.", plan->kept_here));
  }
  if (host.all) {
    plan->missing.insert(plan->missing.end(), plan->known.begin(), plan->known.end());
  }
  return std::move(plan->missing);
}

/// Adds what the host wrote to this user's table; absent where it timed nothing.
base::Result<std::optional<operations::Merged>> add_times(const std::string& host, const std::string& csv) {
  if (csv.find('\n') + 1 >= csv.size()) {  // the names of the columns alone
    return std::optional<operations::Merged>();
  }
  constexpr std::int64_t kClockDifference = 86400;
  const auto rows = operations::parse_times(csv, host, {.measured_s = seconds_since_1970() + kClockDifference});
  if (!rows) {
    return rows.error();
  }
  auto table = own_operation_table();
  const auto merged = table ? table->add_rows(*rows) : base::Result<operations::Merged>(table.error());
  if (!merged) {
    return merged.error();
  }
  return std::optional(*merged);
}

Refusal not_timed(const OtherHost& host, const base::Error& why) {
  return refusal(Cause::kMachine, "Operations could not be timed on " + host.name + ": " + why.message() +
                                      ". Python there needs torch: name it with --host-python.");
}

}  // namespace

base::Task<Answer<OperationPlan>> plan_operations(ExperimentRunner& runner, ListedSteps steps, std::string device) {
  auto listing = list_operations(runner, std::move(steps), operations::find_data_sheet(device).has_value());
  auto listed = co_await std::move(listing);
  if (!listed) {
    co_return listed.error();
  }
  auto plan = plan_for(device, operations_of(listed->findings.captured));
  if (!plan) {
    co_return refusal(Cause::kMachine, plan.error());
  }
  co_return OperationPlan{std::move(*plan), std::move(listed->warnings)};
}

base::Task<Answer<MeasuredOperations>> measure_operations(ExperimentRunner& runner, ListedSteps steps, double seconds) {
  const std::string root = steps.project_root;
  auto listing = list_operations(runner, std::move(steps), false);
  auto listed = co_await std::move(listing);
  if (!listed) {
    co_return listed.error();
  }
  const std::vector<std::string> keys = operations_of(listed->findings.captured);
  const std::string& gpu = listed->findings.cuda_device;
  const operations::Conditions conditions{gpu.empty() ? worker::processor_name() : gpu, listed->findings.threads,
                                          listed->findings.torch};
  const auto times = std::make_shared<CollectedTimes>(CollectedTimes{conditions});
  auto collecting = collect_times(runner, times, keys, seconds);
  const auto collected = co_await std::move(collecting);
  if (!collected) {
    co_return FailedProjectRun{collected.error(), root};
  }
  MeasuredOperations done{keys.size(), times->timed.measured, 0, 0, std::move(listed->warnings)};
  for (const auto& [key, time] : times->timed.known) {
    done.without += time.reason.empty() ? 0 : 1;
  }
  done.known = static_cast<int>(times->timed.known.size()) - done.measured - done.without;
  done.warnings.insert(done.warnings.end(), times->warnings.begin(), times->warnings.end());
  co_return done;
}

base::Task<Answer<MeasuredElsewhere>> measure_elsewhere(ExperimentRunner& runner, ListedSteps steps, OtherHost host,
                                                        double seconds) {
  const auto device = device_there(host, seconds);
  if (!device) {
    co_return not_timed(host, device.error());
  }
  auto listing = list_operations(runner, std::move(steps), device->is_cuda);
  auto listed = co_await std::move(listing);
  if (!listed) {
    co_return listed.error();
  }
  MeasuredElsewhere done{device->name, false, {}, std::move(listed->warnings)};
  const auto keys = keys_to_time(host, device->name, operations_of(listed->findings.captured), done.warnings);
  if (!keys) {
    co_return refusal(Cause::kMachine, keys.error());
  }
  if (keys->empty()) {
    done.is_all_known = true;
    co_return done;
  }
  const auto csv = host.run("", measuring_script(*keys, seconds), operations::kMaxCsvBytes);
  if (!csv) {
    co_return not_timed(host, csv.error());
  }
  auto merged = add_times(host.name, *csv);
  if (!merged) {
    co_return refusal(Cause::kMachine, merged.error());
  }
  done.merged = std::move(*merged);
  co_return done;
}

}  // namespace ridgeline::app
