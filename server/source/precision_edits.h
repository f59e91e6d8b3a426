// Mixed precision of what trains a model for the script: transformers' Trainer, Lightning's.
#pragma once

#include <string_view>

#include "source/edit_places.h"
#include "source/training_script.h"

namespace ridgeline::source {

/// `bf16=True` of the TrainingArguments; on the CPU with `use_cpu=True`, without which transformers refuses it.
/// `device`: the type that the step runs on.
Edits trainer_precision_edits(const SourceTree::Content& content, const TrainingScript& script,
                              std::string_view device);

/// `precision="bf16-mixed"` of Lightning's Trainer.
Edits lightning_precision_edits(const SourceTree::Content& content, const TrainingScript& script);

}  // namespace ridgeline::source
