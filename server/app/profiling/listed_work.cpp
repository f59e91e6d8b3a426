#include "app/profiling/listed_work.h"

#include <algorithm>
#include <utility>

#include "operations/device/data_sheets.h"
#include "operations/work/own_programs.h"
#include "operations/work/recorded_work.h"
#include "operations/work/work_of_step.h"

namespace ridgeline::app {

namespace {

std::optional<operations::Device> device_of(const analysis::Environment& environment,
                                            const std::optional<operations::Device>& processor) {
  return environment.device == "cpu" ? processor : operations::find_data_sheet(environment.device_name);
}

}  // namespace

void add_work(analysis::Profile& profile, const std::optional<step::Graph>& graph, const protocol::StepListed& listed,
              const std::optional<operations::Device>& processor, std::span<const KeptProgram> programs) {
  if (!listed.step.has_value() || !graph.has_value()) {
    profile.work.emplace().not_listed = listed.reason;
    return;
  }
  const double bare_ms = profile.iteration.ms.value;
  const auto device = device_of(profile.environment, processor);
  const bool on_cpu = profile.environment.device == "cpu";
  if (device.has_value()) {
    const operations::BoundsOf bounds{*device, on_cpu ? profile.environment.threads : device->compute_units, on_cpu,
                                      listed.tf32};
    profile.work = operations::step_work(*graph, *listed.step, bare_ms, &bounds);
  } else {
    profile.work = operations::step_work(*graph, *listed.step, bare_ms, nullptr);
  }
  if (on_cpu) {
    profile.work->own_programs = operations::own_programs(
        *profile.work, bare_ms, timed_like(programs, profile.environment.threads, profile.environment.torch));
  }
}

void add_recorded_work(analysis::Profile& profile, const step::Graph& graph,
                       const std::optional<analysis::RecordedKeys>& keys) {
  protocol::StepListed listed;
  if (keys.has_value()) {
    listed.step = operations::recorded_operations(graph, *keys);
  } else {
    listed.reason =
        "the trace has no shapes of operations: torch.profiler records them with profile(record_shapes=True)";
  }
  add_work(profile, graph, listed, std::nullopt);
}

}  // namespace ridgeline::app
