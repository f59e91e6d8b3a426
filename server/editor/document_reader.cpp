#include "editor/document_reader.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "source/line_map.h"
#include "source/training_start.h"

namespace ridgeline::editor {

namespace {

constexpr std::chrono::microseconds kSlice{5000};

/// One edit that makes `before` into `after`, in whole characters.
source::TextEdit difference(std::string_view before, std::string_view after) {
  const std::size_t shorter = std::min(before.size(), after.size());
  std::size_t begin = static_cast<std::size_t>(
      std::mismatch(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(shorter), after.begin()).first -
      before.begin());
  while (begin > 0 && begin < before.size() && base::is_continuation(before[begin])) {
    --begin;
  }
  std::size_t same = 0;
  while (same < shorter - begin && before[before.size() - 1 - same] == after[after.size() - 1 - same]) {
    ++same;
  }
  while (same > 0 && base::is_continuation(before[before.size() - same])) {
    --same;
  }
  return {{begin, before.size() - same}, std::string(after.substr(begin, after.size() - same - begin))};
}

}  // namespace

LineView make_line_view(std::string_view profiled, std::string_view current) {
  LineView view;
  view.current = source::line_map(profiled, current);
  std::size_t lines = 0;
  for (const auto& now : view.current) {
    lines = std::max(lines, now.has_value() ? *now + 1 : 0);
  }
  view.profiled.resize(lines);
  for (std::size_t then = 0; then < view.current.size(); ++then) {
    if (view.current[then].has_value()) {
      view.profiled[*view.current[then]] = then;
    }
  }
  return view;
}

DocumentReader::DocumentReader(SourceThread& thread, SourceThread::Group group, OnFacts on_facts)
    : thread_(thread), group_(group), on_facts_(std::move(on_facts)) {}

// ---- on the loop

void DocumentReader::replace(std::uint64_t version, std::string text) { add({version, std::move(text)}); }

void DocumentReader::drop(std::uint64_t version) { add({version, std::monostate()}); }

void DocumentReader::edit(std::uint64_t version, source::TextEdit edit) { add({version, std::move(edit)}); }

void DocumentReader::add(Change change) {
  {
    const std::scoped_lock lock(mutex_);
    if (!std::holds_alternative<source::TextEdit>(change.what)) {
      changes_.clear();  // earlier changes no longer matter
    }
    changes_.push_back(std::move(change));
    if (std::exchange(reading_, true)) {
      return;
    }
  }
  thread_.add(group_, [self = shared_from_this()] { return self->read_slice(); });
}

void DocumentReader::close() {
  closed_ = true;
  // The tree must not go with the last reference on the loop.
  thread_.add(group_, [self = shared_from_this()] { return false; });
}

void DocumentReader::find_call(std::uint64_t version, std::size_t offset,
                               std::function<void(std::optional<source::Call>)> on_call) {
  thread_.add(group_, [self = shared_from_this(), version, offset, on_call = std::move(on_call)] {
    if (!self->closed_ && self->version_ == version) {
      on_call(self->tree_.has_value() ? source::expression_at(*self->tree_, offset) : std::nullopt);
    }
    return false;
  });
}

void DocumentReader::find_lines(std::uint64_t version, std::shared_ptr<const std::string> profiled,
                                std::function<void(LineView)> on_lines) {
  thread_.add(group_,
              [self = shared_from_this(), version, profiled = std::move(profiled), on_lines = std::move(on_lines)] {
                if (!self->closed_ && self->version_ == version) {
                  on_lines(self->tree_.has_value() ? make_line_view(*profiled, self->tree_->text()) : LineView());
                }
                return false;
              });
}

// ---- on the thread

bool DocumentReader::read_slice() {
  if (closed_) {
    return false;
  }
  SourceFacts found;
  try {
    if (!parse_slice()) {
      return true;
    }
    found = facts();
  } catch (const std::bad_alloc&) {
    tree_.reset();  // an answer is still required
    found = facts();
  }
  on_facts_(std::make_shared<const SourceFacts>(std::move(found)));
  const std::scoped_lock lock(mutex_);
  reading_ = !changes_.empty();
  return reading_;
}

bool DocumentReader::parse_slice() {
  make_changes();
  return !tree_.has_value() || tree_->catch_up(kSlice) != source::ParseState::kUnfinished;
}

void DocumentReader::make_changes() {
  std::vector<Change> changes;
  {
    const std::scoped_lock lock(mutex_);
    changes.swap(changes_);
  }
  for (Change& change : changes) {
    make_change(std::move(change));
  }
}

void DocumentReader::make_change(Change change) {
  version_ = change.version;
  if (const auto* edit = std::get_if<source::TextEdit>(&change.what)) {
    if (tree_.has_value() && !tree_->edit(*edit)) {
      tree_.reset();
    }
    return;
  }
  if (std::holds_alternative<std::monostate>(change.what)) {
    tree_.reset();
    return;
  }
  auto& text = std::get<std::string>(change.what);
  if (!tree_.has_value() || !tree_->edit(difference(tree_->text(), text))) {
    parse_from_scratch(std::move(text));
  }
}

void DocumentReader::parse_from_scratch(std::string text) {
  source::ParseControl control;
  control.stop = thread_.stopping();
  tree_ = source::SourceTree::unparsed(std::move(text), std::move(control));
}

SourceFacts DocumentReader::facts() const {
  SourceFacts facts;
  facts.version = version_;
  if (tree_.has_value()) {
    facts.parsed = !tree_->was_aborted();
    facts.entry_point = source::find_entry_point(*tree_);
    facts.definitions = source::definitions(*tree_);
    facts.script = facts.entry_point.has_value() ? std::nullopt : source::find_training_start(*tree_);
    facts.script_batch_size = facts.script.has_value() ? source::find_script_batch_size(*tree_) : std::nullopt;
  }
  return facts;
}

}  // namespace ridgeline::editor
