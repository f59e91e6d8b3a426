// A Python text and its syntax, kept up to date while the text is edited.
#pragma once

#include <chrono>
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
///
/// An edit costs microseconds: what it changed is parsed when somebody asks something of the tree. That takes a
/// millisecond or two in a text of 20,000 lines, but as long as parsing all that follows when the text is broken there,
/// by a line with a wrong indentation, say. Who must not wait that long calls catch_up() in between.
class SourceTree {
 public:
  /// Nothing when the text is larger than kMaxTextBytes. Parses it.
  static std::optional<SourceTree> parse(std::string text);

  /// Makes the edits one after the other, each in the text that the one before it left. False when one of them is
  /// outside of the text, or would make it too large; those before it have been made.
  bool edit(std::span<const TextEdit> edits);
  bool edit(const TextEdit& edit) { return this->edit(std::span(&edit, 1)); }

  /// Parses what was edited, for about `budget`. True when that is done; else the next call goes on, unless there is
  /// an edit before it: that begins anew.
  bool catch_up(std::chrono::microseconds budget);

  /// Until the next edit.
  std::string_view text() const;
  const LineIndex& lines() const;

  /// The layer's own view of it, up to date: syntax.h. A text so contrived that parsing it takes more than ten seconds
  /// has an empty tree.
  struct Content;
  const Content& content() const;

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
