// The number that decides how many samples a training script takes for a step.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "source/batch_size.h"
#include "source/source_tree.h"

namespace ridgeline::source {

struct ScriptBatchSize {
  BatchSize size;
  /// Options of the command line that go before the number: "--batch-size", "-b".
  std::vector<std::string> options{};
};

/// `batch_size` of the training loader: a literal, a constant, an option's default, a field of a configuration; for
/// transformers' Trainer `per_device_train_batch_size`; without a loader, what the script calls `batch_size`. Nothing
/// where the text is no training script. Whether the step takes that many samples, only a run shows. Pure.
std::optional<ScriptBatchSize> find_script_batch_size(const SourceTree& tree);

}  // namespace ridgeline::source
