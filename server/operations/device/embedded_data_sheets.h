// The data sheets of GPUs, which the binary carries.
#pragma once

#include <span>

#include "base/embedded_file.h"

namespace ridgeline::operations {

/// One file, data_sheets.json. Lives as long as the program; thread-safe. Made by cmake/embed.cmake.
std::span<const base::EmbeddedFile> embedded_files();

}  // namespace ridgeline::operations
