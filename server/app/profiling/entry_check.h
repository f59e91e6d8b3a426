// What can be said of an entry file before anything of it runs.
#pragma once

#include <optional>
#include <string>

#include "app/profiling/request.h"
#include "base/result.h"

namespace ridgeline::app {

/// Whether the file is Python that defines a provider of an entry point or means to, by its text; a training script
/// does not. A file that cannot be read names none.
bool names_providers(const std::string& path);

/// Fails as `provider-missing` when the file certainly lacks a provider: running a whole training script would only
/// tell the same, later. `text`: what an editor has open in place of the file; nothing: the file is read. What is
/// uncertain, or cannot be read, is left to the run.
base::Result<void, RunFailure> check_entry(const Target& target, std::optional<std::string> text);

}  // namespace ridgeline::app
