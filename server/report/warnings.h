// The warnings of an answer, which come with the one that matters most first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline::report {

enum class ShownWarnings : std::uint8_t { kFirst, kAll };

/// Those that a text shows, printable; of kFirst the first and, where there are others, how many, and how to see them.
std::vector<std::string> shown_warnings(const std::vector<std::string>& warnings, ShownWarnings shown);

/// Paragraphs for a page: the first, and the others folded. Escaped.
std::string warnings_html(const std::vector<std::string>& warnings);

}  // namespace ridgeline::report
