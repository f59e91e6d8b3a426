// Changes of the training step as edits of a training script: at its loop, its model and its data loader.
#pragma once

#include <string>
#include <string_view>

#include "source/edit_places.h"

namespace ridgeline::source {

/// torch.autocast around forward in the loop. `device`: the type that the step runs on, "cpu". Pure, as all of these.
Edits script_autocast_edits(const SourceTree& tree, std::string_view device);

/// `.to(memory_format=torch.channels_last)` where the model is constructed.
Edits script_channels_last_edits(const SourceTree& tree);

/// `model.compile()` behind the statement that constructs the model.
Edits script_compile_edits(const SourceTree& tree);

/// Options of the command line that go before that number.
std::vector<std::string> script_loader_workers_options(const SourceTree& tree);

/// `num_workers` of the training loader: in its call, or the number that decides it elsewhere.
Edits script_loader_workers_edits(const SourceTree& tree, const std::string& workers);

}  // namespace ridgeline::source
