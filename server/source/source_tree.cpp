#include "source/source_tree.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "source/syntax.h"

extern "C" const TSLanguage* tree_sitter_python();

namespace ridgeline::source {

namespace {

// A text of the largest size takes a second or two.
constexpr std::chrono::seconds kMaxParse{10};

bool is_lone_return(std::string_view text, std::size_t at) {
  return text[at] == '\r' && (at + 1 == text.size() || text[at + 1] != '\n');
}

/// The text with line feeds in place of returns that end a line by themselves, which the grammar does not know.
/// Nothing when there are none.
std::optional<std::string> with_line_feeds(std::string_view text) {
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

/// Nothing when that took longer than `budget`: the next call goes on.
TSTree* parse_for(SourceTree::Content& content, std::chrono::microseconds budget) {
  const std::optional<std::string> changed = with_line_feeds(content.text);
  const std::string& text = changed.has_value() ? *changed : content.text;
  ts_parser_set_timeout_micros(content.parser.get(), static_cast<std::uint64_t>(budget.count()));
  return ts_parser_parse_string(content.parser.get(), content.tree.get(), text.data(),
                                static_cast<std::uint32_t>(text.size()));
}

TSPoint point_of(const LineIndex& lines, std::size_t offset) {
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
  content.lines.replace(edit.span, edit.replacement.size(), content.text);
  input.new_end_point = point_of(content.lines, new_end);
  ts_tree_edit(content.tree.get(), &input);
  ts_parser_reset(content.parser.get());
  content.parsed = false;
  return true;
}

}  // namespace

std::optional<SourceTree> SourceTree::parse(std::string text) {
  if (text.size() > kMaxTextBytes) {
    return std::nullopt;
  }
  LineIndex lines(text);
  auto content = std::make_unique<Content>(Content{std::move(text), std::move(lines), nullptr, nullptr});
  content->parser.reset(ts_parser_new());
  if (!ts_parser_set_language(content->parser.get(), tree_sitter_python())) {
    return std::nullopt;
  }
  SourceTree tree(std::move(content));
  tree.content();
  return tree;
}

bool SourceTree::edit(std::span<const TextEdit> edits) {
  return std::ranges::all_of(edits, [&](const TextEdit& edit) { return apply(*content_, edit); });
}

bool SourceTree::catch_up(std::chrono::microseconds budget) {
  if (!content_->parsed) {
    TSTree* tree = parse_for(*content_, budget);
    if (tree == nullptr) {
      return false;
    }
    content_->tree.reset(tree);
    content_->parsed = true;
  }
  return true;
}

const SourceTree::Content& SourceTree::content() const {
  Content& content = *content_;
  if (!content.parsed) {
    content.tree.reset(parse_for(content, kMaxParse));
    if (content.tree == nullptr) {
      ts_parser_reset(content.parser.get());
      content.tree.reset(ts_parser_parse_string(content.parser.get(), nullptr, "", 0));
    }
    content.parsed = true;
  }
  return content;
}

std::string_view SourceTree::text() const { return content_->text; }
const LineIndex& SourceTree::lines() const { return content_->lines; }

SourceTree::SourceTree(std::unique_ptr<Content> content) : content_(std::move(content)) {}
SourceTree::~SourceTree() = default;
SourceTree::SourceTree(SourceTree&&) noexcept = default;
SourceTree& SourceTree::operator=(SourceTree&&) noexcept = default;

}  // namespace ridgeline::source
