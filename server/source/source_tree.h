// A Python text and its syntax tree, updated as the text is edited.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/line_index.h"
#include "source/span_text.h"

namespace ridgeline::source {

/// The largest entry file that the runner accepts, too: docs/user/errors.md, `entry-unreadable`.
constexpr std::size_t kMaxTextBytes = std::size_t{16} << 20;

/// The processor time that the calling thread has used.
std::chrono::nanoseconds processor_time();

/// How the time of a parse is measured, and how it is stopped.
struct ParseControl {
  /// The clock that the limits are for. Tests pass their own.
  std::function<std::chrono::nanoseconds()> clock = processor_time;
  /// Another thread sets it to stop the parse soon; null: it is never stopped.
  std::shared_ptr<const std::atomic<bool>> stop;
};

enum class ParseState : std::uint8_t {
  kUnfinished,  ///< the next call continues
  kDone,
  kAborted,  ///< until the next edit: it exceeded the limits for a text of its size, or was stopped
};

/// The limit for a parse. A parser that recovers from errors takes time that grows with the square of the text; Python
/// that is being written takes a fraction of the limit.
constexpr std::chrono::milliseconds max_parse_time(std::size_t bytes) {
  return std::min(std::chrono::milliseconds(250 + bytes / 1024), std::chrono::milliseconds(10'000));
}
/// Bytes that the lexer may read: it looks ahead from each comment to the next statement, for instance.
constexpr std::size_t max_parse_reads(std::size_t bytes) { return (std::size_t{16} << 20) + 16 * bytes; }

/// A text with its syntax tree. Any bytes are a text; what is not Python is an error node of the tree, and everything
/// around it is still understood. Move-only; not thread-safe, but may be handed from thread to thread. A value that was
/// moved from may only be assigned to or destroyed.
///
/// An edit takes microseconds: what it changed is parsed when the tree is used next. That takes a millisecond or two in
/// a text of 20,000 lines, but as long as parsing everything that follows when the text is broken there, for example by
/// a line with a wrong indentation; destroying a tree may take long, too. So use this on a thread of its own, which can
/// do other work between the slices of catch_up().
class SourceTree {
 public:
  /// Nothing when the text is larger than kMaxTextBytes. Parses it.
  static std::optional<SourceTree> parse(std::string text, ParseControl control = {});
  /// The same, and parses nothing yet.
  static std::optional<SourceTree> unparsed(std::string text, ParseControl control = {});

  /// Applies the edits in order, each to the result of the previous one. False when one of them is outside the text or
  /// would make it too large; the edits before it have been applied.
  bool edit(std::span<const TextEdit> edits);
  bool edit(const TextEdit& edit) { return this->edit(std::span(&edit, 1)); }

  /// Parses what was edited, for about `slice`; a single token may take longer. After an edit, parsing restarts.
  ParseState catch_up(std::chrono::microseconds slice);

  /// Whether parsing the text, as it is now, was given up.
  bool was_aborted() const;

  /// Until the next edit.
  std::string_view text() const;
  const base::LineIndex& lines() const;

  /// The up-to-date contents, for this layer only: syntax.h. A text that was given up has an empty tree.
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
