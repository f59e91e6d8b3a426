// A batch size that is tried after the profile: the request, and the rest of the run.
#pragma once

#include "app/profiling/profile_run.h"
#include "app/profiling/profile_with_sources.h"
#include "app/profiling/request.h"

namespace ridgeline::app {

/// A short run of the profile's own batch size and of another. `settings`: interpreter, device and limits as for a
/// profile; the overlay has to make the texts those that were profiled.
ProfileRequest trial_request(ProfileRequest settings, const analysis::Profile& profile, int batch_size);

/// The held profile with what the run saw of the batch size, which may be that it failed; kept in the cache in place of
/// the one without it. A failure when nothing was learned about the batch size. Writes the store; for a thread that may
/// wait.
ProfileOutcome make_trial(worker::Finished finished, const ProfileRequest& request, const Target& target,
                          const PlannedRun& plan, const ProfileWithSources& held);

}  // namespace ridgeline::app
