// A missing import that the project's own interpreter would have found.
#pragma once

#include <string>

#include "app/profiling/request.h"

namespace ridgeline::app {

/// The path of the project's own interpreter (find_interpreter() without a wanted one), where the failure is that a
/// module is missing, another interpreter ran, and the module is installed in this one. Empty otherwise. Looks at the
/// file system; nothing is run.
std::string interpreter_with_missing_module(const protocol::Failure& failure, const Target& target);

}  // namespace ridgeline::app
