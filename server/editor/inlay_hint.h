// textDocument/inlayHint: time and memory at the end of costly lines.
#pragma once

#include <vector>

#include "editor/method_parameters.h"
#include "editor/snapshot.h"

namespace ridgeline::editor {

/// Hints of the lines in the range, and of functions at their names, that take at least the threshold of the settings,
/// of the time or of the peak: at most a dozen, unless the settings ask for all.
std::vector<protocol::InlayHint> inlay_hints(const Snapshot& snapshot, const RangeParams& params);

}  // namespace ridgeline::editor
