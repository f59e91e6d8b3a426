// Diagnostics of a document: mistakes in its text, the last run's failure, and advice with its figures.
#pragma once

#include <string>
#include <vector>

#include "editor/snapshot.h"

namespace ridgeline::editor {

/// Where the failure of an entry is shown: the innermost frame in the project's own files, else the entry file.
struct FailurePlace {
  std::string path;
  int line = 0;  ///< from 1; 0: no line
};
FailurePlace place_of(const Entry& entry);

/// The message about a document that could not be parsed.
std::string unparsed_message(const lsp::Document& document);

/// Most severe first. Places of related information are paths, not yet URIs.
std::vector<protocol::Diagnostic> diagnostics(const Snapshot& snapshot);

}  // namespace ridgeline::editor
