#include "profiling/listed_work.h"

#include <algorithm>
#include <utility>

#include "efficiency/step_work.h"
#include "graph/from_recording.h"
#include "hardware/data_sheets.h"

namespace ridgeline::profiling {

namespace {

constexpr double kNsPerMs = 1e6;

std::optional<hardware::Device> device_of(const analysis::Environment& environment,
                                          const std::optional<hardware::Device>& processor) {
  return environment.device == "cpu" ? processor : hardware::find_data_sheet(environment.device_name);
}

}  // namespace

void add_work(analysis::Profile& profile, const analysis::RunInput& input, const protocol::StepListed& listed,
              const std::optional<hardware::Device>& processor) {
  const auto run = std::ranges::find(input.runs, input.batch_size, &analysis::BatchRun::batch_size);
  const double bare_ms = profile.iteration.ms.value;
  if (!listed.step.has_value() || run == input.runs.end() || !(bare_ms > 0)) {
    profile.work.emplace().not_listed = listed.reason;
    return;
  }
  const graph::Graph graph = graph::graph_of(run->recording, input.scope, bare_ms * kNsPerMs);
  const auto device = device_of(profile.environment, processor);
  if (!device.has_value()) {
    profile.work = efficiency::step_work(graph, *listed.step, bare_ms, nullptr);
    return;
  }
  const bool on_cpu = profile.environment.device == "cpu";
  const efficiency::BoundsOf bounds{*device, on_cpu ? profile.environment.threads : device->compute_units, on_cpu};
  profile.work = efficiency::step_work(graph, *listed.step, bare_ms, &bounds);
}

}  // namespace ridgeline::profiling
