// What was allocated when a step ran out of memory. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/prediction/predictor.h"
#include "analysis/values/input.h"
#include "analysis/values/profile.h"

namespace ridgeline::analysis {

/// Of a step that was run. By line and category, at the moment when the memory was not to be had: the begin of the last
/// operation, or the last allocation if that came later. What is freed after it is freed by the error, which leaves the
/// code that called.
OutOfMemoryError describe_out_of_memory(const FailedStep& step, const SourceScope& scope);

/// Of a script's step after `profile` was recorded: what the error says.
OutOfMemoryError late_out_of_memory(const FailedStep& step, const Profile& profile);

/// A step that was not run, by the profile's model of the peak; nothing without one.
std::optional<OutOfMemoryError> predict_out_of_memory(const Profile& profile, int batch_size);

/// What the step needs, and in how many parts it fits, as smaller batch sizes say.
void add_what_fits(const Predictor& predictor, std::uint64_t capacity_bytes, OutOfMemoryError& found);

}  // namespace ridgeline::analysis
