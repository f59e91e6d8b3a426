// The callbacks that have no argument. All others have a name where what they are told is declared.
#pragma once

#include <functional>

namespace ridgeline::base {

/// What is to be done once something has happened, on the thread of the loop on which that was asked for. It is kept
/// until then, so it must hold what it uses. Empty: nothing is to be done.
using Callback = std::function<void()>;

}  // namespace ridgeline::base
