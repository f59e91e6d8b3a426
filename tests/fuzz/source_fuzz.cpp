// A text that is edited: every span that the source layer tells lies in the text, lines keep their order, and an edit
// of the batch size touches nothing but the literal.
#include <string>
#include <string_view>
#include <vector>

#include "source/calls.h"
#include "source/definitions.h"
#include "source/entry_point.h"
#include "source/entry_point_text.h"
#include "source/line_map.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace ridgeline::source;
using ridgeline::fuzz::Input;

void claim_inside(Span span, std::string_view text) { CLAIM(span.begin <= span.end && span.end <= text.size()); }

void look_at(const SourceTree& tree) {
  const std::string_view text = tree.text();
  if (const auto entry_point = find_entry_point(tree)) {
    claim_inside(entry_point->batch_size.literal, text);
    for (const auto& provider : entry_point->providers) {
      if (provider.has_value()) {
        claim_inside(provider->name_span, text);
        claim_inside(provider->definition, text);
        CLAIM(slice(text, provider->name_span) == provider->name);
        CLAIM(provider->line < tree.lines().count());
      }
    }
    for (const Mistake& mistake : entry_point->mistakes) {
      claim_inside(mistake.span, text);
      claim_inside(mistake.related.value_or(Span{}), text);
    }
    if (const auto edit = batch_size_edit(*entry_point, 1234)) {
      claim_inside(edit->span, text);
      CLAIM(slice(text, edit->span).find_first_not_of("0123456789abcdefABCDEFxXoO_") == std::string_view::npos);
    }
  }
  for (const Definition& definition : definitions(tree)) {
    claim_inside(definition.name_span, text);
    claim_inside(definition.span, text);
    CLAIM(definition.first_line <= definition.name_line && definition.name_line <= definition.last_line);
    CLAIM(definition.last_line < tree.lines().count());
  }
  const std::size_t lines = tree.lines().count();
  for (std::size_t line = 0; line <= lines; line += 1 + lines / 64) {
    for (const Call& call : calls_on_line(tree, line)) {
      claim_inside(call.callee_span, text);
      claim_inside(call.span, text);
    }
  }
}

void look_at_entry_point_of(const std::string& script) {
  const auto made = entry_point_text(script, "train.py", true);
  if (made) {
    const auto tree = SourceTree::parse(made->text);
    CLAIM(tree.has_value());
    const auto entry_point = find_entry_point(*tree);
    CLAIM(entry_point.has_value() && entry_point->mistakes.empty());
  }
}

void look_at_lines(const std::string& before, const std::string& after) {
  const auto map = line_map(before, after);
  std::size_t next = 0;
  for (const auto& line : map) {
    if (line.has_value()) {
      CLAIM(*line >= next);
      next = *line + 1;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::string first(input.until('\0'));  // the edits stand behind the text
  auto tree = SourceTree::parse(first);
  CLAIM(tree.has_value());
  look_at(*tree);
  for (int edits = 0; !input.empty() && edits < 16; ++edits) {
    const std::size_t begin = input.number(tree->text().size());
    const std::size_t end = begin + input.number(std::min<std::size_t>(tree->text().size() - begin, 64));
    const std::string inserted(input.take(input.byte() % 32));
    std::string expected(tree->text());
    expected.replace(begin, end - begin, inserted);
    CLAIM(tree->edit(TextEdit{{begin, end}, inserted}));
    if (edits % 2 == 0) {
      look_at(*tree);
    }
    CLAIM(tree->text() == expected);
  }
  look_at(*tree);
  look_at_lines(first, std::string(tree->text()));
  look_at_entry_point_of(std::string(tree->text()));
  return 0;
}
