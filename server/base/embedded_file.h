// A file that the binary carries. Made by cmake/embed.cmake.
#pragma once

#include <string_view>

namespace ridgeline::base {

struct EmbeddedFile {
  std::string_view path;  ///< relative, with '/': "profiler/agent/ops.cpp", "protocol/recording_format.h"
  std::string_view content;
};

}  // namespace ridgeline::base
