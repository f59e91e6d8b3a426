// Diagnostics of a document: mistakes in its text, the last run's failure, and advice with its figures.
#pragma once

#include <string>
#include <vector>

#include "editor/snapshot.h"

namespace ridgeline::editor {

/// The message about a document that could not be parsed.
std::string unparsed_message(const lsp::Document& document);

/// Most severe first. Places of related information are paths, not yet URIs.
std::vector<protocol::Diagnostic> diagnostics(const Snapshot& snapshot);

}  // namespace ridgeline::editor
