// A Python text and its syntax, kept up to date while the text is edited.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "source/text.h"

namespace ridgeline::source {

/// What the runner takes for an entry file, too: docs/errors.md, `entry-unreadable`.
constexpr std::size_t kMaxTextBytes = std::size_t{16} << 20;

/// A text with its syntax tree. Any bytes are a text; what is not Python is an error node of the tree, and everything
/// around it is still understood. Move-only; not thread-safe, but may be handed from thread to thread. A value that was
/// moved from may only be assigned to or destroyed.
class SourceTree {
 public:
  /// Nothing when the text is larger than kMaxTextBytes, or is so contrived that parsing it takes seconds.
  static std::optional<SourceTree> parse(std::string text);

  /// Makes the edits one after the other, each in the text that the one before it left, and parses what they changed.
  /// False when that is refused, for parse()'s reasons or because a span is outside of the text: the tree is of no use
  /// any more then, and is to be dropped.
  bool edit(std::span<const TextEdit> edits);
  bool edit(const TextEdit& edit) { return this->edit(std::span(&edit, 1)); }

  /// Until the next edit.
  std::string_view text() const;
  const LineIndex& lines() const;

  /// The layer's own view of it: syntax.h.
  struct Content;
  const Content& content() const { return *content_; }

  ~SourceTree();
  SourceTree(SourceTree&&) noexcept;
  SourceTree& operator=(SourceTree&&) noexcept;
  SourceTree(const SourceTree&) = delete;
  SourceTree& operator=(const SourceTree&) = delete;

 private:
  explicit SourceTree(std::unique_ptr<Content> content);
  std::unique_ptr<Content> content_;
};

}  // namespace ridgeline::source
