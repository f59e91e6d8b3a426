// Finds the statement at which a training script starts to train.
#pragma once

#include <optional>

#include "source/source_tree.h"
#include "source/span_text.h"

namespace ridgeline::source {

/// The statement of the file that starts it: `if __name__ == "__main__":`; without one, where the file takes a training
/// step somewhere (backward(), step(), fit(), Trainer.train()) or computes without gradients, the first call, loop or
/// `with` at the top. Nothing when the file does not import torch, or a library that trains with it, at the top.
///
/// Pure. Looks at the statements at the top only; the text is searched once.
std::optional<Span> find_training_start(const SourceTree& tree);

/// Whether the file has `if __name__ == "__main__":` at the top. Pure.
bool has_main_guard(const SourceTree& tree);

}  // namespace ridgeline::source
