// The arguments that a training script was run with, where one of them decides a number of its text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "editor/entries.h"

namespace ridgeline::editor {

/// The script's arguments with another value for the last one that is given to one of the options, as `--batch-size 64`
/// or `--batch-size=64`. Nothing: none is, or it is not known how the entry was run.
std::optional<std::vector<std::string>> arguments_with(const Entry* own, std::span<const std::string> options,
                                                       const std::string& value);

}  // namespace ridgeline::editor
