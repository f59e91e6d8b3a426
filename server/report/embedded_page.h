// The page that shows a report in a browser, which the binary carries.
#pragma once

#include <span>

#include "base/embedded_file.h"

namespace ridgeline::report {

/// One file, page.html: web/ as web/build.mjs puts it together. Lives as long as the program; thread-safe. Made by
/// cmake/embed.cmake.
std::span<const base::EmbeddedFile> embedded_files();

}  // namespace ridgeline::report
