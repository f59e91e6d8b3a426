// Activation checkpointing of modules that are named, as edits of the function that returns the model.
#pragma once

#include <string_view>

#include "source/edit_places.h"

namespace ridgeline::source {

/// Calls the modules of `argument`, "h.0..3,head", by torch.utils.checkpoint. `provider`: the function whose only
/// `return` is `statement`, of `model`. Pure.
Edits checkpoint_edits(const SourceTree::Content& content, Node provider, Node statement, Node model,
                       std::string_view argument);

}  // namespace ridgeline::source
