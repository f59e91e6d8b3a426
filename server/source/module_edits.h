// Changes of single modules that are named, as edits of the function that returns the model: checkpointing and offload.
#pragma once

#include <span>
#include <string_view>

#include "source/edit_places.h"

namespace ridgeline::source {

struct ModuleChange {
  std::string_view name;      ///< is_of_modules()
  std::string_view argument;  ///< the modules: "h.0..3,head"
};

/// Whether a change of this name is one of module_edits(): "checkpoint", "selective-checkpoint" and "offload".
bool is_of_modules(std::string_view change);

/// Makes `changes` to the model before it is returned. `provider`: the function whose only `return` is `statement`, of
/// `model`. Pure.
Edits module_edits(const SourceTree::Content& content, Node provider, Node statement, Node model,
                   std::span<const ModuleChange> changes);

}  // namespace ridgeline::source
