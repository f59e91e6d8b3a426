// A comparison for a terminal, a pull request or a program. Pure.
#pragma once

#include <string>

#include "analysis/compare/comparison.h"
#include "report/text_report.h"

namespace ridgeline::report {

/// Uses the width, the colour and the most lines of `options`. Every character from outside is made printable.
std::string comparison_text(const analysis::Comparison& comparison, const TextOptions& options = {});

/// Everything from outside is escaped, or in a code span.
std::string comparison_markdown(const analysis::Comparison& comparison);
/// A page of its own: opens offline.
std::string comparison_html(const analysis::Comparison& comparison);

/// What protocol/comparison.schema.json describes.
std::string comparison_json(const analysis::Comparison& comparison);

// Its parts, for other texts.

/// "12 % slower (9.1 % to 15 %)", "no difference beyond 2.3 %", "undecided (4 % faster to 9 % slower)".
std::string time_change_text(const analysis::TimeChange& time);
/// "62 MiB more", "no difference", "undecided (12 MiB less to 62 MiB more)".
std::string memory_change_text(const analysis::MemoryChange& memory);

}  // namespace ridgeline::report
