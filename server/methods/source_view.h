// An open document as Python source: its tree, its providers, its symbols; and where profiled lines are in it now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "session/documents.h"
#include "source/definitions.h"
#include "source/entry_point.h"
#include "source/source_tree.h"

namespace ridgeline::methods {

/// Lines of one text in another, both ways; from 0.
struct LineView {
  std::vector<std::optional<std::size_t>> now;   ///< by line of the profiled text
  std::vector<std::optional<std::size_t>> then;  ///< by line of the current text
};
LineView make_line_view(const std::string& profiled, const std::string& current);

/// Follows one open document, whose owner calls changed(). What it tells is made when it is asked for, once per change.
class SourceView {
 public:
  explicit SourceView(const session::Document& document);

  void changed(std::span<const session::ByteEdit> edits);

  /// Parses what was changed, for about a millisecond. True when that is done; else the next call goes on.
  bool catch_up();

  const session::Document& document() const { return *document_; }
  /// Nothing when the file has no provider, or is no text that can be parsed.
  const std::optional<source::EntryPoint>& entry_point() const;
  const std::vector<source::Definition>& definitions() const;
  /// Null when the text is too large to be parsed.
  const source::SourceTree* tree() const { return tree_.has_value() ? &*tree_ : nullptr; }
  /// Of a profiled text, which the caller keeps alive for as long as it asks for it.
  const LineView& lines(const std::string& profiled) const;

 private:
  const session::Document* document_;
  std::optional<source::SourceTree> tree_;
  mutable std::optional<std::optional<source::EntryPoint>> entry_point_;
  mutable std::optional<std::vector<source::Definition>> definitions_;
  mutable std::optional<LineView> lines_;
  mutable const std::string* lines_of_ = nullptr;
};

}  // namespace ridgeline::methods
