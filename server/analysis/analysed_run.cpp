#include "analysis/analysed_run.h"

#include <algorithm>

#include "analysis/attribution/attribution.h"
#include "analysis/time/time_sample.h"

namespace ridgeline::analysis {

AnalysedRun analyse_batch(const BatchRun& run, const SourceScope& scope) {
  constexpr double kNsPerMs = 1e6;
  const Attribution attribution = attribute(run.recording, scope);
  AnalysedRun analysed{&run, &scope, build_timeline(run.recording, attribution)};
  const CallTree& tree = analysed.timeline.tree;
  analysed.memory = analyse_memory(run.recording, attribution, tree);
  analysed.backward_passes = backward_passes(run.recording, attribution);
  analysed.time = bare_time(run);
  const double bare_ns = analysed.time.ms.value * kNsPerMs;
  analysed.scale = analysed.timeline.total_ns > 0 ? bare_ns / analysed.timeline.total_ns : 1;
  analysed.device = analyse_device(run.recording, attribution, tree, bare_ns);
  analysed.lines = build_lines(parts_of(analysed));
  return analysed;
}

TimeSample bare_time(const BatchRun& run) { return time_sample(run.batch_size, run.times_ns, run.per_round); }

BreakdownInput parts_of(const AnalysedRun& run) {
  return {run.run->recording,
          *run.scope,
          run.timeline.tree,
          run.timeline,
          run.memory,
          run.scale,
          run.device ? &*run.device : nullptr};
}

MemoryLabel label_of(const AnalysedRun& run, std::uint32_t event) {
  const auto block = std::ranges::lower_bound(run.memory.blocks, event, {}, &MemoryCost::event);
  const LineId line = run.timeline.tree[block->owner].self_line;
  return {block->category,
          line == 0 ? Location{} : location_of(line, run.run->recording, run.timeline.tree, *run.scope)};
}

}  // namespace ridgeline::analysis
