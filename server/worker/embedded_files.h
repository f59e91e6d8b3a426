// The sources of the agent and the runner, which the daemon carries to wherever the user's LibTorch is.
#pragma once

#include <span>
#include <string_view>

namespace ridgeline::worker {

struct EmbeddedFile {
  std::string_view path;  ///< relative, with '/': "profiler/agent/ops.cpp", "protocol/recording_format.h"
  std::string_view content;
};

/// All of profiler/agent and profiler/runner, and the headers of protocol/ that the agent includes, by path. Lives as
/// long as the program; thread-safe. Made by cmake/embed.cmake.
std::span<const EmbeddedFile> embedded_files();

}  // namespace ridgeline::worker
