// torch.autocast around all that a step computes before backward.
#pragma once

#include <string_view>

#include "source/edit_places.h"

namespace ridgeline::source {

/// `block`: of statements, one of which calls `model`, and a later one `.backward()`. `device`: the type that the step
/// runs on, "cpu". Pure.
Edits autocast_around(const SourceTree::Content& content, Node block, std::string_view model, std::string_view device);

}  // namespace ridgeline::source
