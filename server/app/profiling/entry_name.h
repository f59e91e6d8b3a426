// The name of a new entry file.
#pragma once

#include <string>

namespace ridgeline::app {

/// "entry.py", or the first of "entry_2.py", "entry_3.py"... that `folder` has no file of.
std::string free_entry_name(const std::string& folder);

}  // namespace ridgeline::app
