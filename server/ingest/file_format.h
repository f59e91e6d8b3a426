// What a file is that was given for a trace.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ridgeline::ingest {

/// Where the first bytes of a file (512 are enough) show that it is something else: a sentence that names it and says
/// what to do. Pure.
std::optional<std::string> foreign_format(std::string_view first);

}  // namespace ridgeline::ingest
