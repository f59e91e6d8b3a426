// The table of changes as text.
#pragma once

#include <string>

namespace ridgeline::step {

/// A line for each change: how it is written, what it is, what it applies to and how it is answered there; then what
/// these words mean.
std::string list_of_changes();

}  // namespace ridgeline::step
