// The texts of source files, as they are on disk.
#pragma once

#include <optional>
#include <string>

namespace ridgeline::profiling {

/// Nothing when it cannot be read, or is larger than any source file.
std::optional<std::string> text_of(const std::string& path);

}  // namespace ridgeline::profiling
