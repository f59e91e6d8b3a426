// The sources of the agent and the runner, which the daemon carries to wherever the user's LibTorch is.
#pragma once

#include <span>

#include "base/embedded_file.h"

namespace ridgeline::worker {

/// All of profiler/agent and profiler/runner, and the headers of protocol/ that the agent includes, by path. Lives as
/// long as the program; thread-safe. Made by cmake/embed.cmake.
std::span<const base::EmbeddedFile> embedded_files();

}  // namespace ridgeline::worker
