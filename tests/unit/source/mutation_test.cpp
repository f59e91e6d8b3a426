// Texts that nobody would write: cut off, spliced, of random bytes. Nothing crashes, and every span lies in the text.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "source/calls.h"
#include "source/definitions.h"
#include "source/entry_point.h"
#include "source/line_map.h"
#include "tests/unit/source/marked.h"

namespace ridgeline::source {
namespace {

constexpr std::string_view kSource =
    "import torch\r\nfrom typing import *\n\n@a.b(c=[1, 2])\nclass Net(nn.Module):\n\tdef forward(self, x):\n"
    "\t\treturn f\"{x!r:>{w}} {{}}\" + self.a[0](x, *y, **{'é': b'\\x00'})\n\n"
    "if TYPE_CHECKING:\n    def model_provider(): pass\nelse:\n    def model_provider(): return Net()\n\n"
    "@decorated\ndef input_provider(batch_size: Dict[str, int] = (+0x1_F), /, *, b=lambda batch_size=2: "
    "{batch_size}):\n"
    "    '''Text 世界 😀'''\n    return (x,)\n\nasync def skyline_input_provider(batch_size=-3): pass\n"
    "iteration_provider = deepview_iteration_provider = lambda model, *a: (yield)\nmatch x:\n  case [1, *_]: pass\n";

void expect_inside(Span span, std::string_view text) {
  EXPECT_LE(span.begin, span.end);
  EXPECT_LE(span.end, text.size());
}

void check(const SourceTree& tree) {
  const std::string_view text = tree.text();
  if (const auto entry_point = find_entry_point(tree)) {
    expect_inside(entry_point->batch_size.literal, text);
    for (const auto& provider : entry_point->providers) {
      if (provider.has_value()) {
        expect_inside(provider->name_span, text);
        expect_inside(provider->definition, text);
        EXPECT_EQ(slice(text, provider->name_span), provider->name);
        EXPECT_LT(provider->line, tree.lines().count());
      }
    }
    for (const Mistake& mistake : entry_point->mistakes) {
      expect_inside(mistake.span, text);
      expect_inside(mistake.related.value_or(Span{}), text);
    }
    if (const auto edit = batch_size_edit(*entry_point, 1234)) {
      EXPECT_EQ(slice(text, edit->span).find_first_not_of("0123456789abcdefABCDEFxXoO_"), std::string_view::npos);
    }
  }
  for (const Definition& definition : definitions(tree)) {
    expect_inside(definition.name_span, text);
    expect_inside(definition.span, text);
    EXPECT_LE(definition.first_line, definition.name_line);
    EXPECT_LE(definition.name_line, definition.last_line);
    EXPECT_LT(definition.last_line, tree.lines().count());
  }
  for (std::size_t line = 0; line <= tree.lines().count(); ++line) {
    if (const auto definition = definition_at(tree, line)) {
      EXPECT_LE(definition->first_line, line);
      EXPECT_GE(definition->last_line, line);
    }
    for (const Call& call : calls_on_line(tree, line)) {
      expect_inside(call.callee_span, text);
      expect_inside(call.span, text);
    }
  }
  for (std::size_t offset = 0; offset <= text.size(); offset += 7) {
    if (const auto call = expression_at(tree, offset)) {
      EXPECT_LE(call->span.begin, offset);
      EXPECT_GT(call->span.end, offset);
    }
  }
}

TEST(Mutation, CutAnywhere) {
  for (std::size_t size = 0; size < kSource.size(); size += 3) {
    check(parsed(kSource.substr(0, size)));
    check(parsed(kSource.substr(size)));
  }
}

std::string random_bytes(std::mt19937& random, std::size_t size) {
  constexpr std::string_view kTelling = "()[]{}'\"\n\r\t:,=*@#\\ `0f\f;";
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) {
    const bool telling = random() % 4 != 0;
    bytes += telling ? kTelling[random() % kTelling.size()] : static_cast<char>(random() % 256);
  }
  return bytes;
}

TEST(Mutation, EditedAtRandom) {
  std::mt19937 random(17);
  for (int round = 0; round < 60; ++round) {
    auto tree = parsed(kSource);
    for (int edit = 0; edit < 12; ++edit) {
      const std::string before(tree.text());
      const std::size_t begin = random() % (before.size() + 1);
      const std::size_t end = std::min(before.size(), begin + random() % 20);
      const std::size_t from = random() % kSource.size();
      const std::string replacement =
          random() % 2 == 0 ? random_bytes(random, random() % 6) : std::string(kSource.substr(from, random() % 30));
      ASSERT_TRUE(tree.edit({{begin, end}, replacement}));
      EXPECT_EQ(tree.text(), applied(before, {{begin, end}, replacement}));
      find_entry_point(tree);
      line_map(before, tree.text());
    }
    check(tree);
  }
}

TEST(Mutation, RandomBytes) {
  std::mt19937 random(23);
  for (int round = 0; round < 150; ++round) {
    check(parsed(random_bytes(random, random() % 400)));
    check(parsed("def input_provider(batch_size=" + random_bytes(random, random() % 30)));
  }
}

}  // namespace
}  // namespace ridgeline::source
