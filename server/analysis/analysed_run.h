// The recording of one batch size, analysed: what profiles and models are made of.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/attribution/timeline.h"
#include "analysis/breakdown/breakdown.h"
#include "analysis/breakdown/line_costs.h"
#include "analysis/device/device_waits.h"
#include "analysis/memory/memory.h"
#include "analysis/memory/peak_model.h"
#include "analysis/values/input.h"
#include "analysis/values/profile.h"

namespace ridgeline::analysis {

/// Refers to the run and the scope, which must outlive it.
struct AnalysedRun {
  const BatchRun* run = nullptr;
  const SourceScope* scope = nullptr;
  Timeline timeline;  ///< with the call tree of the run
  MemoryAnalysis memory{};
  int backward_passes = 1;  ///< of an iteration
  TimeSample time{};
  double scale = 1;  ///< bare time / recorded time
  std::optional<DeviceParts> device{};
  LineTable lines{};

  int batch_size() const { return run->batch_size; }
};

/// Stacks, time, memory, device and lines, in this order. Pure.
AnalysedRun analyse_batch(const BatchRun& run, const SourceScope& scope);

/// The bare iteration time of a run.
TimeSample bare_time(const BatchRun& run);

/// What the breakdown is made from; refers to the analysed run.
BreakdownInput parts_of(const AnalysedRun& run);

/// The category and the line of the block that an event of the recording allocated.
MemoryLabel label_of(const AnalysedRun& run, std::uint32_t event);

}  // namespace ridgeline::analysis
