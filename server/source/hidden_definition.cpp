#include "source/hidden_definition.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/line_index.h"
#include "base/utf8.h"
#include "source/provider_names.h"
#include "source/syntax.h"

namespace ridgeline::source {

namespace {

// Limits for a definition with its decorators: a body may go on for longer, but the signature does not.
constexpr std::size_t kMaxLines = 200;
constexpr std::size_t kMaxSignatureLines = 40;
constexpr std::size_t kMaxBytes = 16'384;
constexpr std::size_t kMaxColumn = 64;
// The time for all attempts at all definitions of a text: parts of them can be as contrived as the whole.
constexpr std::chrono::milliseconds kMaxTime{200};

/// What the attempts are measured with.
struct Attempts {
  const ParseControl& control;
  std::chrono::nanoseconds end;

  bool are_over() const { return control.clock() > end; }
};

/// Whether `line` begins with `def` or `async def` and then the word at `name`, counted from the line's beginning.
bool defines(std::string_view line, std::size_t name) {
  if (name > std::min(kMaxColumn, line.size())) {
    return false;
  }
  std::string before(line.substr(0, name));
  std::ranges::replace(before, '\t', ' ');
  const auto both_blank = [](char a, char b) { return a == ' ' && b == ' '; };
  before.erase(std::unique(before.begin(), before.end(), both_blank), before.end());
  return before == "def " || before == "async def ";
}

/// Whether a definition that began above goes on: indented, empty, the end of a signature, a comment.
bool goes_on(std::string_view line) {
  return line.empty() || std::string_view(" \t\f)#").find(line[0]) != std::string_view::npos;
}

Span text_of_definition(const SourceTree& tree, std::size_t line) {
  const base::LineIndex& lines = tree.lines();
  const std::string_view text = tree.text();
  std::size_t first = line;
  while (first > 0 && line - first < kMaxLines && lines.line_in(text, first - 1).starts_with('@')) {
    --first;
  }
  std::size_t last = line + 1;
  while (last < lines.count() && last - line < kMaxLines && goes_on(lines.line_in(text, last))) {
    ++last;
  }
  const std::size_t begin = lines.start_of(first);
  const std::size_t end = last < lines.count() ? lines.start_of(last) : text.size();
  return {begin, begin + base::cut_utf8(text.substr(begin, end - begin), kMaxBytes).size()};
}

void move_by(std::size_t offset, Span& span) {
  span.begin += offset;
  span.end += offset;
}

/// What `text`, which stands at `offset` in the file, binds at `name`; nothing when that is not to be seen either.
std::optional<Binding> binding_in(const Attempts& attempts, std::string text, std::size_t offset, Span name) {
  if (attempts.are_over()) {
    return std::nullopt;
  }
  const auto part = SourceTree::parse(std::move(text), attempts.control);
  if (!part.has_value()) {
    return std::nullopt;
  }
  for (Binding& binding : visible_bindings(*part).list) {
    if (binding.name_span.begin + offset == name.begin &&
        binding.batch_size.batch_size.obstacle != BatchSizeObstacle::kUnfinished) {
      move_by(offset, binding.name_span);
      move_by(offset, binding.definition);
      move_by(offset, binding.batch_size.batch_size.literal);
      return std::move(binding);
    }
  }
  return std::nullopt;
}

/// Tries the definition's whole text first, then its first lines, more and more of them, with an empty body.
std::optional<Binding> binding_of_any_part(const Attempts& attempts, std::string_view text, std::size_t offset,
                                           Span name) {
  auto found = binding_in(attempts, std::string(text), offset, name);
  const base::LineIndex lines(text);
  for (std::size_t line = 0; !found && line < std::min(lines.count(), kMaxSignatureLines); ++line) {
    const std::size_t end = lines.start_of(line) + lines.line_in(text, line).size();
    if (offset + end > name.end) {
      for (const std::string_view body : {" pass\n", ": pass\n"}) {
        found = found ? std::move(found)
                      : binding_in(attempts, std::string(text.substr(0, end)).append(body), offset, name);
      }
    }
  }
  return found;
}

/// The definition of the word `name`, as far as its own text shows.
Binding binding_of(const SourceTree& tree, const Attempts& attempts, Span name, Span definition) {
  auto found = binding_of_any_part(attempts, slice(tree.text(), definition), definition.begin, name);
  if (found.has_value()) {
    found->definition.end = std::min(found->definition.end, definition.end);
    return std::move(*found);
  }
  Binding binding;
  const std::string_view word = slice(tree.text(), name);
  const ProviderName provider = *provider_named(word);
  binding.kind = provider.kind;
  binding.generation = provider.generation;
  binding.name = word;
  binding.form = BindingForm::kFunction;
  binding.name_span = name;
  binding.definition = definition;
  binding.batch_size.batch_size.obstacle = BatchSizeObstacle::kUnfinished;
  return binding;
}

}  // namespace

void add_hidden_definitions(const SourceTree& tree, Bindings& bindings) {
  std::vector<Binding> hidden;
  const ParseControl& control = tree.content().control;
  const Attempts attempts{control, control.clock() + kMaxTime};
  const std::string_view text = tree.text();
  for (auto word = next_provider_name(text, 0); word; word = next_provider_name(text, word->end)) {
    const ProviderKind kind = provider_named(slice(text, *word))->kind;
    const auto same_kind = [&](const Binding& binding) { return binding.kind == kind; };
    const std::size_t line = tree.lines().line_of(word->begin);
    const std::size_t column = word->begin - tree.lines().start_of(line);
    if (std::ranges::none_of(bindings.list, same_kind) && std::ranges::none_of(hidden, same_kind) &&
        defines(tree.lines().line_in(text, line), column)) {
      hidden.push_back(binding_of(tree, attempts, *word, text_of_definition(tree, line)));
    }
  }
  std::ranges::move(hidden, std::back_inserter(bindings.list));
  std::ranges::stable_sort(bindings.list, {}, [](const Binding& binding) { return binding.name_span.begin; });
}

}  // namespace ridgeline::source
