// What the operations of a profile's step ask of the machine, from their list and from what is known of the device.
#pragma once

#include <optional>
#include <span>

#include "analysis/values/input.h"
#include "analysis/values/profile.h"
#include "app/profiling/kept_programs.h"
#include "operations/device/device.h"
#include "protocol/experiment.h"
#include "step/graph/graph.h"

namespace ridgeline::app {

/// Sets profile.work. `graph`: of the recorded step, as step::add_schedule() has it. `processor`: what `ridgeline
/// device` measured, for a step on the CPU; one on a GPU has the vendor's data sheet. `programs`: timed on this
/// processor; those of the step's threads and torch count. Reads no files.
void add_work(analysis::Profile& profile, const std::optional<step::Graph>& graph, const protocol::StepListed& listed,
              const std::optional<operations::Device>& processor, std::span<const KeptProgram> programs = {});

/// Sets profile.work of an imported trace with the keys of its operations: on a GPU by the data sheet of the one that
/// the trace names, on a processor without bounds. `graph`: of the trace's step.
void add_recorded_work(analysis::Profile& profile, const step::Graph& graph,
                       const std::optional<analysis::RecordedKeys>& keys);

}  // namespace ridgeline::app
