// The recordings of the profiles that were kept last, for formats that show a step instant by instant.
#pragma once

#include <optional>
#include <string>

#include "analysis/values/input.h"
#include "base/result.h"

namespace ridgeline::app {

/// As text, and read again: an error where the text is none of these. Pure.
std::string recorded_run_text(const analysis::RecordedRun& recorded);
base::Result<analysis::RecordedRun> parse_recorded_run(std::string text);

/// Keeps the recording of the kept profile of that id, as store::RecordingBounds allows. Returns a warning, mostly
/// empty. Writes files.
[[nodiscard]] std::string keep_recording(const std::string& cache, const std::string& id,
                                         const analysis::RecordedRun& recorded);

/// The recording of a kept profile; nothing: it is not kept, or not any more. An error: it is damaged. Reads files.
base::Result<std::optional<analysis::RecordedRun>> find_recording(const std::string& id);

}  // namespace ridgeline::app
