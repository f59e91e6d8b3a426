// Files that stand in the binary: the skill, the glossary, the schema of reports. The build makes the definition:
// cmake/embed.cmake.
#pragma once

#include <span>

#include "base/embedded_file.h"

namespace ridgeline::assistant {

std::span<const base::EmbeddedFile> embedded_files();

}  // namespace ridgeline::assistant
