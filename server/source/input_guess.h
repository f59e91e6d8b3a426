// Inputs for a model, from its own code or configuration: what shape its first layer takes, and what its loss compares.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "source/training_script.h"

namespace ridgeline::source {

struct InputGuess {
  std::vector<std::string> lines;  ///< Python that makes `values` of `batch_size`; what is guessed says so
  std::string values;              ///< what the provider returns: "images, labels"
  NameSet reads;                   ///< names of the script in `lines`
  std::set<std::string> imports;   ///< "import torch"
};

/// What is asked for.
struct InputQuestion {
  Node construction;                    ///< the call that makes the model; none: only its class is known
  std::string_view model;               ///< the class, without a call
  std::vector<std::string_view> names;  ///< of the values, as the training loop names them
  const std::vector<ScriptStatement>* statements = nullptr;  ///< what the iteration does with them
  Node dataset;  ///< what the script trains on, if it is known; for its kind only
};

/// Nothing when it cannot be told. Pure; nothing of the text runs.
std::optional<InputGuess> guess_input(const SourceTree::Content& content, const TrainingScript& script,
                                      const InputQuestion& question);

/// Whether the data set has to be downloaded, so that made-up data of its shape is better.
bool is_downloaded(std::string_view called);

}  // namespace ridgeline::source
