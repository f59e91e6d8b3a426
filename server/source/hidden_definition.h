// Providers that a mistake elsewhere in the file hides from the syntax tree: an open bracket above them, say.
#pragma once

#include "source/bindings.h"
#include "source/source_tree.h"

namespace ridgeline::source {

/// Adds to `bindings` the `def`s at the beginning of a line whose provider has no binding yet. Their own text is parsed
/// by itself: up to the next line that is not indented.
void add_hidden_definitions(const SourceTree& tree, Bindings& bindings);

}  // namespace ridgeline::source
