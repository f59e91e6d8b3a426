// Sources with marks: `[[` and `]]` around what a test is about.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "source/source_tree.h"
#include "source/span_text.h"

namespace ridgeline::source {

struct Marked {
  std::string text;         ///< without the marks
  std::vector<Span> spans;  ///< what was between them, in order
};

inline Marked marked(std::string_view source) {
  Marked result;
  for (std::size_t at = 0; at < source.size(); ++at) {
    const std::string_view two = source.substr(at, 2);
    if (two == "[[" || two == "]]") {
      ++at;
      if (two == "[[") {
        result.spans.push_back({result.text.size(), result.text.size()});
      } else {
        result.spans.back().end = result.text.size();
      }
    } else {
      result.text += source[at];
    }
  }
  return result;
}

inline SourceTree parsed(std::string_view text) {
  auto tree = SourceTree::parse(std::string(text));
  EXPECT_TRUE(tree.has_value());
  return std::move(*tree);
}

inline std::string applied(std::string text, const TextEdit& edit) {
  return text.replace(edit.span.begin, edit.span.end - edit.span.begin, edit.replacement);
}

/// For messages: a span, and what is in it.
inline std::ostream& operator<<(std::ostream& out, const Span& span) {
  return out << "[" << span.begin << ", " << span.end << ")";
}

}  // namespace ridgeline::source
