#include "source/source_tree.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <string>

#include "source/bindings.h"
#include "source/calls.h"
#include "source/definitions.h"
#include "source/entry_point.h"
#include "tests/unit/rounds.h"
#include "tests/unit/source/adversarial.h"
#include "tests/unit/source/marked.h"

namespace ridgeline::source {
namespace {

/// Everything that is asked of a tree, asked; nothing may crash or take long.
void ask_everything(const SourceTree& tree) {
  find_entry_point(tree);
  definitions(tree);
  const std::size_t middle = tree.text().size() / 2;
  definition_at(tree, tree.lines().line_of(middle));
  expression_at(tree, middle);
  calls_on_line(tree, tree.lines().line_of(middle));
}

TEST(SourceTree, RefusesWhatIsTooLarge) {
  EXPECT_FALSE(SourceTree::parse(std::string(kMaxTextBytes + 1, '#')).has_value());
  auto tree = parsed("#");
  EXPECT_FALSE(tree.edit({{0, 0}, std::string(kMaxTextBytes, '#')}));
}

TEST(SourceTree, RefusesEditsOutsideOfTheText) {
  EXPECT_FALSE(parsed("abc").edit({{2, 4}, ""}));
  EXPECT_FALSE(parsed("abc").edit({{2, 1}, ""}));
  EXPECT_TRUE(parsed("abc").edit({{3, 3}, "d"}));
}

TEST(SourceTree, CatchesUpInSlices) {
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    text += "def f" + std::to_string(i) + "(x):\n    return [x, (x,)]\n";
  }
  auto tree = parsed("");
  ASSERT_TRUE(tree.edit({{0, 0}, text}));
  int slices = 1;
  while (tree.catch_up(std::chrono::microseconds(50)) == ParseState::kUnfinished) {
    ++slices;
    ASSERT_LT(slices, 1'000'000);
    if (slices == 3) {
      ASSERT_TRUE(tree.edit({{0, 0}, "x = 1\n"}));
    }
  }
  EXPECT_GT(slices, 3);
  EXPECT_EQ(definitions(tree).size(), 3000);
  EXPECT_EQ(definition_at(tree, 2)->qualified_name, "f0");
}

/// A clock that goes on by itself whenever it is looked at, which the parser does every hundred operations.
struct Ticks {
  std::chrono::nanoseconds now{};
  std::chrono::nanoseconds step{};
  std::size_t looks = 0;

  ParseControl control() {
    ParseControl control;
    control.clock = [this] {
      ++looks;
      return now += step;
    };
    return control;
  }
};

constexpr std::string_view kProvider = "\ndef input_provider(batch_size=32):\n    return ()\n";

TEST(SourceTree, GivesUpWhenAParseTakesMoreThanTheTextIsWorth) {
  Ticks ticks{{}, std::chrono::milliseconds(1)};
  const std::string text = below_open_bracket(25'000) + std::string(kProvider);
  auto tree = SourceTree::unparsed(text, ticks.control());
  ASSERT_TRUE(tree.has_value());
  std::size_t slices = 0;
  for (std::size_t before = 0; tree->catch_up(std::chrono::milliseconds(5)) == ParseState::kUnfinished; ++slices) {
    ASSERT_LE(ticks.looks - before, 8) << "a slice goes on after its time";
    before = ticks.looks;
  }
  EXPECT_GT(slices, 10);
  EXPECT_TRUE(tree->was_aborted());
  EXPECT_LE(ticks.now, max_parse_time(text.size()) + 2 * slices * ticks.step) << "with what passes between slices";
  EXPECT_TRUE(definitions(*tree).empty());
  const auto entry_point = find_entry_point(*tree);
  ASSERT_TRUE(entry_point.has_value());
  EXPECT_EQ(entry_point->batch_size.value, 32U) << "the text alone tells";
  // Once the bracket is gone, nothing of the broken text stands in the way.
  ticks.step = std::chrono::microseconds(1);
  ASSERT_TRUE(tree->edit({{0, 15}, "\n"}));
  EXPECT_EQ(definitions(*tree).size(), 1);
  EXPECT_FALSE(tree->was_aborted());
}

TEST(SourceTree, GivesUpWhenTheLexerReadsTooMuch) {
  Ticks ticks;  // no time passes
  auto tree = SourceTree::parse(repeated("\\\n", 100'000) + std::string(kProvider), ticks.control());
  ASSERT_TRUE(tree.has_value());
  EXPECT_TRUE(tree->was_aborted());
  EXPECT_TRUE(find_entry_point(*tree).has_value());
}

TEST(SourceTree, NeverGivesUpOnPython) {
  std::string text = repeated("# A license.\n", 300);
  for (int i = 0; i < 20'000; ++i) {
    text += "def f" + std::to_string(i) + "(x, y=None):  # a note\n    return [x, {y: (x, 'text')}]\n";
  }
  Ticks ticks{{}, std::chrono::microseconds(30)};  // what a hundred operations take on a slow machine
  const auto tree = SourceTree::parse(text, ticks.control());
  ASSERT_TRUE(tree.has_value());
  EXPECT_FALSE(tree->was_aborted());
  EXPECT_EQ(definitions(*tree).size(), 20'000);
}

TEST(SourceTree, IsStoppedByAnotherThread) {
  auto stop = std::make_shared<std::atomic<bool>>(false);
  ParseControl control;
  control.stop = stop;
  auto tree = SourceTree::unparsed(below_open_bracket(25'000), control);
  ASSERT_TRUE(tree.has_value());
  EXPECT_EQ(tree->catch_up(std::chrono::microseconds(1)), ParseState::kUnfinished);
  stop->store(true);
  EXPECT_EQ(tree->catch_up(std::chrono::hours(1)), ParseState::kAborted);
}

TEST(SourceTree, EndsWithAnyText) {
  for (unsigned seed = 0; seed < ridgeline::testing::rounds(60U, 15U); ++seed) {
    Ticks ticks{{}, std::chrono::milliseconds(1)};
    auto tree = SourceTree::unparsed(adversarial(seed, 40'000), ticks.control());
    ASSERT_TRUE(tree.has_value());
    const auto limit = max_parse_time(tree->text().size());
    std::size_t slices = 1;
    for (std::size_t before = 0; tree->catch_up(std::chrono::milliseconds(5)) == ParseState::kUnfinished; ++slices) {
      ASSERT_LE(ticks.looks - before, 8) << "seed " << seed;
      before = ticks.looks;
    }
    EXPECT_LE(ticks.now, limit + 2 * slices * ticks.step) << "seed " << seed;
    ask_everything(*tree);
    ASSERT_TRUE(tree->edit({{0, 0}, "x"}));
    ask_everything(*tree);
  }
}

TEST(EntryPoint, IsNotLookedForBehindAThousandNames) {
  const auto tree = parsed(repeated("model_provider = f\n", kMaxProviderNames + 1));
  EXPECT_FALSE(find_entry_point(tree).has_value());
}

TEST(SourceTree, MakesEditsOneAfterTheOther) {
  auto tree = parsed("abc");
  const std::vector<TextEdit> edits = {{{0, 1}, "xy"}, {{4, 4}, "\nd"}, {{0, 0}, "z"}};
  ASSERT_TRUE(tree.edit(edits));
  EXPECT_EQ(tree.text(), "zxybc\nd");
  EXPECT_EQ(tree.lines().count(), 2);
}

TEST(SourceTree, MayBeMoved) {
  auto tree = parsed("def f(): pass");
  SourceTree other = std::move(tree);
  tree = parsed("x");
  EXPECT_EQ(definitions(other).size(), 1);
  EXPECT_TRUE(definitions(tree).empty());
}

TEST(SourceTree, IsNotTroubledByDepth) {
  const std::size_t depth = ridgeline::testing::rounds(100'000U, 20'000U);
  for (const auto& [open, close] : {std::pair("(", ")"), std::pair("[", "]"), std::pair("f(", ")"), std::pair("-", ""),
                                    std::pair("{", "}"), std::pair("lambda: ", ""), std::pair("not ", ""),
                                    std::pair("a.b(", ")"), std::pair("1 if ", " else 2"), std::pair("*", "")}) {
    SCOPED_TRACE(open);
    const std::string deep = repeated(open, depth);
    const std::string balanced = deep + "1" + repeated(close, depth);
    ask_everything(parsed("def input_provider(batch_size=" + balanced + "): pass\n"));
    ask_everything(parsed("def input_provider(batch_size=3): pass\nx = " + deep));
  }
}

TEST(SourceTree, IsNotTroubledByNestedBlocks) {
  std::string text;
  for (std::size_t depth = 0; depth < 1000; ++depth) {
    text += std::string(depth, ' ') + (depth % 2 == 0 ? "if x:\n" : "def f():\n");
  }
  ask_everything(parsed(text + std::string(1000, ' ') + "pass\n"));
}

TEST(SourceTree, LoneReturnsEndLines) {
  auto tree = parsed("x = 1\rdef input_provider(batch_size=3):\r    return 1\r");
  const auto definition = definition_at(tree, 2);
  ASSERT_TRUE(definition.has_value());
  EXPECT_EQ(definition->qualified_name, "input_provider");
  EXPECT_EQ(find_entry_point(tree)->provider(ProviderKind::kInput)->line, 1);
  // The return becomes one half of an end of line, and is alone again.
  const std::size_t behind_return = 6;
  ASSERT_TRUE(tree.edit({{behind_return, behind_return}, "\n"}));
  EXPECT_EQ(find_entry_point(tree)->provider(ProviderKind::kInput)->line, 1);
  ASSERT_TRUE(tree.edit({{behind_return, behind_return + 1}, ""}));
  EXPECT_EQ(find_entry_point(tree)->provider(ProviderKind::kInput)->line, 1);
}

/// A file like one that is edited: classes, methods, providers.
std::string plausible(std::size_t classes) {
  std::string text = "import torch\n\n";
  for (std::size_t i = 0; i < classes; ++i) {
    const std::string number = std::to_string(i);
    text += "class Net";
    text += number;
    text += "(nn.Module):\n    def __init__(self):\n        self.a = nn.Linear(";
    text += number;
    text += ", 3)  # é\n\n    @property\n    def size(self):\n        return {\"a\": [1, 2], 'b': (3,)}\n\n";
  }
  return text +
         "def model_provider():\n    return Net0()\n\n\ndef input_provider(batch_size=32):\n    return (x,)\n\n\n" +
         "def iteration_provider(model):\n    def iteration(x):\n        model(x)\n    return iteration\n";
}

void expect_same(const SourceTree& edited, const SourceTree& fresh) {
  const auto a = definitions(edited);
  const auto b = definitions(fresh);
  ASSERT_EQ(a.size(), b.size()) << fresh.text();
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].qualified_name, b[i].qualified_name);
    EXPECT_EQ(a[i].span, b[i].span);
    EXPECT_EQ(a[i].last_line, b[i].last_line);
  }
  const auto one = find_entry_point(edited);
  const auto other = find_entry_point(fresh);
  ASSERT_EQ(one.has_value(), other.has_value());
  if (one.has_value()) {
    EXPECT_EQ(one->batch_size.literal, other->batch_size.literal);
    EXPECT_EQ(one->batch_size.value, other->batch_size.value);
    EXPECT_EQ(one->mistakes.size(), other->mistakes.size());
  }
}

TEST(SourceTree, EditedIsAsParsedAnew) {
  std::mt19937 random(3);
  const std::vector<std::string> pieces = {"x = 1\n", "def g():\n    pass\n", "# provider\n", "class C:\n    y = 2\n",
                                           "if a:\n    def h(): pass\n"};
  const std::string original = plausible(20);
  auto tree = parsed(original);
  for (int round = 0; round < 200; ++round) {
    // Whole lines at the top, so that the text stays Python.
    std::vector<std::size_t> places;
    for (std::size_t at = 0; (at = tree.text().find("\nclass ", at)) != std::string_view::npos; ++at) {
      places.push_back(at + 1);
    }
    const std::size_t at = places[random() % places.size()];
    ASSERT_TRUE(tree.edit({{at, at}, pieces[random() % pieces.size()]}));
    expect_same(tree, parsed(tree.text()));
  }
}

TEST(SourceTree, TypedKeyByKeyEndsAsParsedAtOnce) {
  const std::string text = plausible(2);
  auto tree = parsed("");
  for (std::size_t i = 0; i < text.size(); ++i) {
    ASSERT_TRUE(tree.edit({{i, i}, std::string(1, text[i])}));
    find_entry_point(tree);
  }
  expect_same(tree, parsed(text));
}

}  // namespace
}  // namespace ridgeline::source
