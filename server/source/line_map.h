// Where the lines of a text are after it was edited.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace ridgeline::source {

/// For each line of `before` (counted from 0, as base::LineIndex has them) the line of `after` that it now is; none
/// when it was changed or removed. Lines keep their order. How a line ends does not matter; everything else in it does.
///
/// A shortest difference (Myers) while there are few differences; with many, lines that both texts have once and what
/// is the same around them. Pure; time O(lines · log lines), never quadratic.
std::vector<std::optional<std::size_t>> line_map(std::string_view before, std::string_view after);

}  // namespace ridgeline::source
