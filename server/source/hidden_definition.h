// Providers that a mistake elsewhere in the file, such as an open bracket above them, hides from the syntax tree.
#pragma once

#include "source/bindings.h"
#include "source/source_tree.h"

namespace ridgeline::source {

/// Adds to `bindings` the `def`s at the beginning of a line whose provider has no binding yet. The text of each, up to
/// the next line that is not indented, is parsed separately.
void add_hidden_definitions(const SourceTree& tree, Bindings& bindings);

}  // namespace ridgeline::source
