// What is called on a line, for the title of a hover.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "source/source_tree.h"
#include "source/span_text.h"

namespace ridgeline::source {

struct Call {
  std::string callee;  ///< what is called, on one line: "self.conv2", "nn.Conv2d"; cut after kMaxCalleeBytes with "…"
  Span callee_span;
  Span span;  ///< the callee with its arguments
};

constexpr std::size_t kMaxCalleeBytes = 80;
constexpr std::size_t kMaxCallsOnLine = 64;

/// The innermost call around the byte at `offset`; none where nothing is called.
std::optional<Call> expression_at(const SourceTree& tree, std::size_t offset);

/// The calls whose callee ends on `line`, in the order of the text; the first kMaxCallsOnLine of them.
std::vector<Call> calls_on_line(const SourceTree& tree, std::size_t line);

}  // namespace ridgeline::source
