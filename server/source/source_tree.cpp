#include "source/source_tree.h"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <utility>

#include "base/line_index.h"
#include "source/syntax.h"

extern "C" const TSLanguage* tree_sitter_python();

namespace ridgeline::source {

namespace {

/// What the lexer is given at a time. Between two such pieces a parse can be given up.
constexpr std::size_t kPiece = 1024;

bool is_lone_return(std::string_view text, std::size_t at) {
  return text[at] == '\r' && (at + 1 == text.size() || text[at + 1] != '\n');
}

/// The text with line feeds in place of returns that end a line by themselves, which the grammar does not know.
/// Nothing when there are none.
std::optional<std::string> normalize_newlines(std::string_view text) {
  std::optional<std::string> changed;
  for (std::size_t at = text.find('\r'); at != std::string_view::npos; at = text.find('\r', at + 1)) {
    if (is_lone_return(text, at)) {
      if (!changed.has_value()) {
        changed.emplace(text);
      }
      (*changed)[at] = '\n';
    }
  }
  return changed;
}

/// One call of the parser, as its callbacks see it.
struct Slice {
  SourceTree::Content& content;
  std::string_view text;
  std::chrono::nanoseconds start;
  std::chrono::nanoseconds length;
  bool aborted = false;

  std::chrono::nanoseconds taken() const { return content.control.clock() - start; }
  bool is_stopped() const { return content.control.stop != nullptr && content.control.stop->load(); }
};

/// Every hundred operations of the parser; there can be milliseconds between two.
bool must_pause(TSParseState* state) {
  auto& slice = *static_cast<Slice*>(state->payload);
  const std::chrono::nanoseconds taken = slice.taken();
  slice.aborted =
      slice.aborted || slice.is_stopped() || slice.content.spent + taken > max_parse_time(slice.text.size());
  return slice.aborted || taken > slice.length;
}

/// A text that is given up ends here: that ends a token, or a hundred tokens, that would read for long.
const char* read_piece(void* payload, std::uint32_t offset, TSPoint /*point*/, std::uint32_t* size) {
  auto& slice = *static_cast<Slice*>(payload);
  const std::string_view piece = slice.text.substr(std::min<std::size_t>(offset, slice.text.size()), kPiece);
  slice.content.read_bytes += piece.size();
  slice.aborted = slice.aborted || slice.is_stopped() || slice.content.read_bytes > max_parse_reads(slice.text.size());
  *size = slice.aborted ? 0 : static_cast<std::uint32_t>(piece.size());
  return piece.data();
}

void begin_anew(SourceTree::Content& content) {
  ts_parser_reset(content.parser.get());
  content.state = ParseState::kUnfinished;
  content.normalized_text.reset();
  content.spent = {};
  content.read_bytes = 0;
}

void abort_parse(SourceTree::Content& content) {
  ts_parser_reset(content.parser.get());
  content.tree.reset(ts_parser_parse_string(content.parser.get(), nullptr, "", 0));
  content.state = ParseState::kAborted;
}

void parse_slice(SourceTree::Content& content, std::chrono::nanoseconds length) {
  if (content.spent.count() == 0 && !content.normalized_text.has_value()) {
    content.normalized_text = normalize_newlines(content.text);
  }
  Slice slice{content, content.text, content.control.clock(), length};
  if (content.normalized_text.has_value()) {
    slice.text = *content.normalized_text;
  }
  const TSInput input{&slice, read_piece, TSInputEncodingUTF8, nullptr};
  const TSParseOptions options{&slice, must_pause};
  TSTree* tree = ts_parser_parse_with_options(content.parser.get(), content.tree.get(), input, options);
  content.spent += slice.taken();
  if (tree != nullptr) {
    content.tree.reset(tree);
    content.state = ParseState::kDone;
  }
  if (slice.aborted) {
    abort_parse(content);
  }
  if (content.state != ParseState::kUnfinished) {
    content.normalized_text.reset();
  }
}

TSPoint point_of(const base::LineIndex& lines, std::size_t offset) {
  const std::size_t line = lines.line_of(offset);
  return {static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(offset - lines.start_of(line))};
}

bool apply(SourceTree::Content& content, const TextEdit& edit) {
  const auto [begin, end] = edit.span;
  if (begin > end || end > content.text.size() ||
      content.text.size() - (end - begin) + edit.replacement.size() > kMaxTextBytes) {
    return false;
  }
  // Whether a return is a lone one depends on the byte behind it.
  const std::size_t start = begin > 0 && content.text[begin - 1] == '\r' ? begin - 1 : begin;
  const std::size_t new_end = begin + edit.replacement.size();
  TSInputEdit input{};
  input.start_byte = static_cast<std::uint32_t>(start);
  input.old_end_byte = static_cast<std::uint32_t>(end);
  input.new_end_byte = static_cast<std::uint32_t>(new_end);
  input.start_point = point_of(content.lines, start);
  input.old_end_point = point_of(content.lines, end);
  content.text.replace(begin, end - begin, edit.replacement);
  content.lines.replace(edit.span.begin, edit.span.end, edit.replacement.size(), content.text);
  input.new_end_point = point_of(content.lines, new_end);
  if (content.state == ParseState::kAborted) {
    content.tree.reset();
  } else if (content.tree != nullptr) {
    ts_tree_edit(content.tree.get(), &input);
  }
  begin_anew(content);
  return true;
}

}  // namespace

std::chrono::nanoseconds processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

std::optional<SourceTree> SourceTree::unparsed(std::string text, ParseControl control) {
  if (text.size() > kMaxTextBytes) {
    return std::nullopt;
  }
  base::LineIndex lines(text);
  auto content = std::make_unique<Content>(Content{std::move(text), std::move(lines), std::move(control)});
  content->parser.reset(ts_parser_new());
  if (!ts_parser_set_language(content->parser.get(), tree_sitter_python())) {
    return std::nullopt;
  }
  return SourceTree(std::move(content));
}

std::optional<SourceTree> SourceTree::parse(std::string text, ParseControl control) {
  auto tree = unparsed(std::move(text), std::move(control));
  if (tree.has_value()) {
    tree->content();
  }
  return tree;
}

bool SourceTree::edit(std::span<const TextEdit> edits) {
  return std::ranges::all_of(edits, [&](const TextEdit& edit) { return apply(*content_, edit); });
}

ParseState SourceTree::catch_up(std::chrono::microseconds slice) {
  if (content_->state == ParseState::kUnfinished) {
    parse_slice(*content_, slice);
  }
  return content_->state;
}

const SourceTree::Content& SourceTree::content() const {
  while (content_->state == ParseState::kUnfinished) {
    parse_slice(*content_, std::chrono::seconds(1));
  }
  return *content_;
}

bool SourceTree::was_aborted() const { return content_->state == ParseState::kAborted; }
std::string_view SourceTree::text() const { return content_->text; }
const base::LineIndex& SourceTree::lines() const { return content_->lines; }

SourceTree::SourceTree(std::unique_ptr<Content> content) : content_(std::move(content)) {}
SourceTree::~SourceTree() = default;
SourceTree::SourceTree(SourceTree&&) noexcept = default;
SourceTree& SourceTree::operator=(SourceTree&&) noexcept = default;

}  // namespace ridgeline::source
