// The figures of a script that ran as it is, from the sums that were taken while it ran.
#pragma once

#include "analysis/values/input.h"
#include "analysis/values/script.h"
#include "protocol/script_run.h"

namespace ridgeline::analysis {

/// How the data of the timed steps were loaded; nothing where no step was timed. Pure.
std::optional<DataLoading> data_loading(const protocol::LoaderUse& use);

/// Samples per second of the steps that were timed, where these train different numbers of samples. Pure.
std::optional<double> varying_throughput(const protocol::ScriptRun& run);

/// Pure. Paths become those of the report.
Script script_figures(const protocol::ScriptRun& run, const SourceScope& scope);

}  // namespace ridgeline::analysis
