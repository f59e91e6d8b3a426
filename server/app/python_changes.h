// Changes that the user wrote in Python: their files are run with the tasks of the step, and give what a change as JSON
// has.
#pragma once

#include <string>
#include <string_view>

#include "app/change_requests.h"
#include "base/result.h"
#include "step/graph/graph.h"

namespace ridgeline::app {

/// By the end of its name.
bool is_python_change(std::string_view path);

/// Runs each file of `wanted` that is one, in a process of `python` and for a minute at most; naming a file is the
/// consent to run it. Waits for it. The error names the file.
base::Result<void> make_python_changes(WantedChanges& wanted, const step::Graph& graph, const std::string& python);

}  // namespace ridgeline::app
