// Mistakes of an entry file that its text shows: as diagnostics, and their fixes.
#pragma once

#include <vector>

#include "editor/snapshot.h"

namespace ridgeline::editor {

void add_mistakes(const Snapshot& snapshot, std::vector<protocol::Diagnostic>& diagnostics);

/// Quick fixes of the mistakes that touch `range`.
void add_fixes(const Snapshot& snapshot, const protocol::Range& range, std::vector<protocol::CodeAction>& actions);

}  // namespace ridgeline::editor
