// What can be said of an entry file before anything of it runs.
#pragma once

#include <optional>
#include <string>

#include "app/profiling/request.h"
#include "base/result.h"

namespace ridgeline::app {

/// Whether the file is Python without a provider of an entry point, also a misspelt one, by its text. False where it
/// cannot be read.
bool is_training_script(const std::string& path);

/// Whether it also trains when it is run, or has a main guard: an editor that is asked to profile it runs it. `text`:
/// what the editor has open in place of the file; nothing: the file is read.
bool runs_as_script(const std::string& path, std::optional<std::string> text);

/// Fails as `provider-missing` when the file certainly lacks a provider: running a whole training script would only
/// tell the same, later. `text`: what an editor has open in place of the file; nothing: the file is read. What is
/// uncertain, or cannot be read, is left to the run.
base::Result<void, RunFailure> check_entry(const Target& target, std::optional<std::string> text);

}  // namespace ridgeline::app
