// What a line that calls a library spends its time on, where that is most of the step.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analysis/breakdown/breakdown.h"

namespace ridgeline::analysis {

/// The line whose calls into code without figures of its own take over half of the iteration, on the host or on the
/// device; nothing where there is none, or where there is nothing to tell apart below it.
///
/// Each piece of the line's self time that runs in such code belongs to the innermost line of a package other than
/// torch and the standard library or, where the stack has none, of torch. One line of torch alone says no more than the
/// calling line does, and is left out. Modules are the outermost that the line calls; while one class takes over three
/// quarters of the line's time, what is inside its modules stands in its place, unless that is of one class, too.
/// `breakdown` is that of `input`.
std::optional<LibraryCall> find_library_call(const BreakdownInput& input, const Node& breakdown);

/// The import name of the package that an installed file is of: the first part of its path below site-packages or
/// dist-packages. Empty for any other file.
std::string package_of(std::string_view file);

}  // namespace ridgeline::analysis
