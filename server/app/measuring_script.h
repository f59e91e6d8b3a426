// One Python file that times operations on a machine without Ridgeline. It holds shapes only: nothing of the user's
// code or data.
#pragma once

#include <string>
#include <vector>

namespace ridgeline::app {

/// `seconds`: that measuring may take at most. It writes CSV for `ridgeline operations import`.
std::string measuring_script(const std::vector<std::string>& keys, double seconds);

}  // namespace ridgeline::app
