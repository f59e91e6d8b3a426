// A Python text and its syntax, kept up to date while the text is edited.
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
#include "source/text.h"

namespace ridgeline::source {

/// What the runner takes for an entry file, too: docs/user/errors.md, `entry-unreadable`.
constexpr std::size_t kMaxTextBytes = std::size_t{16} << 20;

/// The processor time that the calling thread has used.
std::chrono::nanoseconds processor_time();

/// What a parse is measured with and stopped by.
struct ParseControl {
  /// The time that parsing takes. Tests pass their own.
  std::function<std::chrono::nanoseconds()> clock = processor_time;
  /// Another thread sets it to have the parse given up soon; null: nobody does.
  std::shared_ptr<const std::atomic<bool>> stop;
};

enum class ParseState : std::uint8_t {
  kUnfinished,  ///< the next call goes on
  kDone,
  kGivenUp,  ///< until the next edit: it took more than a text of its size is worth, or was stopped
};

/// What a parse may cost. A parser that recovers from errors takes time that grows with the square of the text; Python
/// that is being written takes a fraction of this.
constexpr std::chrono::milliseconds max_parse_time(std::size_t bytes) {
  return std::min(std::chrono::milliseconds(250 + bytes / 1024), std::chrono::milliseconds(10'000));
}
/// Bytes that the lexer may read: it looks ahead from each comment to the next statement, for instance.
constexpr std::size_t max_parse_reads(std::size_t bytes) { return (std::size_t{16} << 20) + 16 * bytes; }

/// A text with its syntax tree. Any bytes are a text; what is not Python is an error node of the tree, and everything
/// around it is still understood. Move-only; not thread-safe, but may be handed from thread to thread. A value that was
/// moved from may only be assigned to or destroyed.
///
/// An edit costs microseconds: what it changed is parsed when somebody asks something of the tree. That takes a
/// millisecond or two in a text of 20,000 lines, but as long as parsing all that follows when the text is broken there,
/// by a line with a wrong indentation, say; and a tree may take long to be destroyed. So this is not for a thread that
/// others wait for. Between the slices of catch_up() such a thread's work can have its turn.
class SourceTree {
 public:
  /// Nothing when the text is larger than kMaxTextBytes. Parses it.
  static std::optional<SourceTree> parse(std::string text, ParseControl control = {});
  /// The same, and parses nothing yet.
  static std::optional<SourceTree> unparsed(std::string text, ParseControl control = {});

  /// Makes the edits one after the other, each in the text that the one before it left. False when one of them is
  /// outside of the text, or would make it too large; those before it have been made.
  bool edit(std::span<const TextEdit> edits);
  bool edit(const TextEdit& edit) { return this->edit(std::span(&edit, 1)); }

  /// Parses what was edited, for about `slice`; a single token may take longer. An edit begins anew.
  ParseState catch_up(std::chrono::microseconds slice);

  /// Whether the text, as it is now, was given up.
  bool given_up() const;

  /// Until the next edit.
  std::string_view text() const;
  const base::LineIndex& lines() const;

  /// The layer's own view of it, up to date: syntax.h. A text that was given up has an empty tree.
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
