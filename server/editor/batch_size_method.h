// The batch size in the code: its value, the predictions for others, and the edit that writes one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/prediction.h"
#include "base/result.h"
#include "editor/snapshot.h"

namespace ridgeline::editor {

/// A batch size to offer.
struct BatchSizeChoice {
  std::string why;  ///< "largest that fits"
  analysis::BatchPrediction batch;
  bool recommended = false;
};

/// By batch size, each once: the largest that fits, enough throughput (the knee), the powers of two beside the one in
/// the code, and what the profile's conclusion recommends. Leaves out what the models cannot predict, what does not
/// fit, what is far from what ran, and the present one.
std::vector<BatchSizeChoice> batch_size_choices(const Figures& figures, int now);

/// The measured or predicted figures of the batch size in the code, where it is not the profiled one. Nothing without
/// figures of the document's own.
std::optional<analysis::BatchPrediction> other_batch_in_code(const Snapshot& snapshot);

/// The batch size in a text: of input_provider, or of a training script that was profiled. Nothing: it has none.
/// `own`: the document as an entry; null: nothing is known of it.
std::optional<source::BatchSize> written_batch_size(const SourceFacts& source, const Entry* own);

/// Its number; nothing when it is not a literal that decides the step's.
std::optional<int> batch_size_in_code(const SourceFacts& source, const Entry* own);

/// Changes only the characters of the literal; fails where there is none.
base::Result<protocol::WorkspaceEdit> batch_size_edit(const Snapshot& snapshot, int batch_size);

/// The arguments of a script's run with another batch size, where one of them decides it; else nothing.
std::optional<std::vector<std::string>> batch_size_arguments(const Snapshot& snapshot, int batch_size);

}  // namespace ridgeline::editor
