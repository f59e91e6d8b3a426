// Which batch sizes a run times beside its first ones.
#pragma once

#include <cstddef>
#include <vector>

#include "app/profiling/profile_run.h"
#include "worker/worker.h"

namespace ridgeline::app {

/// Recordings that are larger than this together are not parsed: the runner does not wait so long.
inline constexpr std::size_t kMaxParsedBytes = std::size_t{128} << 20U;

/// The batch sizes that the time model is least sure of, given what was timed so far and where the recordings show that
/// the step changes; the first call parses the recordings. Without `choose` when the plan names its batch sizes: then
/// only those are run.
worker::Chooser chooser_of(const PlannedRun& plan, boost::asio::any_io_executor executor);

}  // namespace ridgeline::app
