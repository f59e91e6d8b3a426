#include "methods/source_view.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "source/line_map.h"

namespace ridgeline::methods {

namespace {

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

/// One edit that makes `before` into `after`, in whole characters.
source::TextEdit difference(std::string_view before, std::string_view after) {
  const std::size_t shorter = std::min(before.size(), after.size());
  std::size_t begin = static_cast<std::size_t>(
      std::mismatch(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(shorter), after.begin()).first -
      before.begin());
  while (begin > 0 && begin < before.size() && !begins_character(before[begin])) {
    --begin;
  }
  std::size_t same = 0;
  while (same < shorter - begin && before[before.size() - 1 - same] == after[after.size() - 1 - same]) {
    ++same;
  }
  while (same > 0 && !begins_character(before[before.size() - same])) {
    --same;
  }
  return {{begin, before.size() - same}, std::string(after.substr(begin, after.size() - same - begin))};
}

}  // namespace

LineView make_line_view(const std::string& profiled, const std::string& current) {
  LineView view;
  view.now = source::line_map(profiled, current);
  std::size_t lines = 0;
  for (const auto& now : view.now) {
    lines = std::max(lines, now.has_value() ? *now + 1 : 0);
  }
  view.then.resize(lines);
  for (std::size_t then = 0; then < view.now.size(); ++then) {
    if (view.now[then].has_value()) {
      view.then[*view.now[then]] = then;
    }
  }
  return view;
}

SourceView::SourceView(const session::Document& document)
    : document_(&document), tree_(source::SourceTree::parse(document.bytes())) {}

void SourceView::changed(std::span<const session::ByteEdit> edits) {
  const std::string& text = document_->bytes();
  bool kept = tree_.has_value();
  if (kept && edits.size() == 1) {
    const session::ByteEdit& edit = edits.front();
    kept =
        tree_->edit(source::TextEdit{{edit.begin, edit.old_end}, text.substr(edit.begin, edit.new_end - edit.begin)});
  } else if (kept) {
    kept = tree_->edit(difference(tree_->text(), text));
  }
  if (!kept || tree_->text().size() != text.size()) {
    tree_ = source::SourceTree::parse(text);
  }
  entry_point_.reset();
  definitions_.reset();
  lines_.reset();
}

bool SourceView::catch_up() {
  constexpr std::chrono::microseconds kSlice{1000};
  return !tree_.has_value() || tree_->catch_up(kSlice);
}

const std::optional<source::EntryPoint>& SourceView::entry_point() const {
  if (!entry_point_.has_value()) {
    entry_point_ = tree_.has_value() ? source::find_entry_point(*tree_) : std::nullopt;
  }
  return *entry_point_;
}

const std::vector<source::Definition>& SourceView::definitions() const {
  if (!definitions_.has_value()) {
    definitions_ = tree_.has_value() ? source::definitions(*tree_) : std::vector<source::Definition>{};
  }
  return *definitions_;
}

const LineView& SourceView::lines(const std::string& profiled) const {
  if (!lines_.has_value() || lines_of_ != &profiled) {
    lines_ = make_line_view(profiled, document_->bytes());
    lines_of_ = &profiled;
  }
  return *lines_;
}

}  // namespace ridgeline::methods
