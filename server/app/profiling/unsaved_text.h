// The texts of source files, as they are on disk.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "protocol/worker_messages.h"

namespace ridgeline::app {

/// The text of a file; absent when it cannot be read, or is larger than any source file.
std::optional<std::string> text_of(const std::string& path);

/// The first of `texts`, as many as an overlay may hold.
std::vector<protocol::SourceText> as_overlay(std::vector<protocol::SourceText> texts);
/// Those of `texts` that differ from their files, as many as an overlay may hold.
std::vector<protocol::SourceText> unsaved_of(std::vector<protocol::SourceText> texts);

}  // namespace ridgeline::app
