// The data loaders that a training script constructs.
#pragma once

#include <vector>

#include "source/training_script.h"

namespace ridgeline::source {

/// Calls that construct the training loader, of the tree; all loaders of the file where it is not to be seen which one
/// is for training. Pure.
std::vector<Node> training_loaders(const SourceTree::Content& content, const TrainingScript& script);

}  // namespace ridgeline::source
