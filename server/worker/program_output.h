// What a program says of itself.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace ridgeline::worker {

/// Runs the program and gives the first line that it writes. Nothing when it cannot be started, ends with another
/// status than 0, or takes longer than `limit`; then it is ended, with what it started. Blocks.
std::optional<std::string> first_line_of(const std::vector<std::string>& command, std::chrono::milliseconds limit);

}  // namespace ridgeline::worker
