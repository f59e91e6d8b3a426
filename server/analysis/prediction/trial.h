// A batch size that is tried after the profile, in a run of its own: whether it may be tried, and the profile extended
// by the result. Pure.
//
// The run has the profile's own batch size, too: the reference. What the machine does differently by then is in both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"
#include "base/result.h"

namespace ridgeline::analysis {

/// A trial that would take longer is not started, since the user did not request it.
inline constexpr double kMaxTrialSeconds = 20;

/// Why a batch size stays predicted, in a sentence; nothing when it may be tried: the upper end of what it needs leaves
/// room in the memory that is available, and the run is short by the upper end of its iteration time. What is not
/// known is not tried. `batch` with what a device reserves (add_reserved()), where there is one; `available_bytes`:
/// that can be allocated now without pushing anything out.
std::optional<std::string> why_not_tried(const Profile& profile, const BatchPrediction& batch,
                                         std::uint64_t available_bytes);

/// The profile with what a trial saw of a batch size: its times scaled to the machine as it was in the profile, or that
/// it failed. `trial` is the profile of the run, with that size as its only check. An error when the reference
/// shows that the step is no longer what was profiled, or was not measured.
base::Result<Profile> with_trial(const Profile& profile, const Profile& trial, int batch_size);

/// The profile with the failure of a trial as a whole.
Profile with_failed_trial(Profile profile, Skipped failure);

}  // namespace ridgeline::analysis
