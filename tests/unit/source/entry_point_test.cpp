#include "source/entry_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/line_index.h"
#include "tests/unit/source/marked.h"

namespace ridgeline::source {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kModel = "def model_provider(): pass\n";
constexpr std::string_view kInput = "def input_provider(batch_size=3): pass\n";
constexpr std::string_view kIteration = "def iteration_provider(model): pass\n";

/// `part` with the two other providers behind it.
std::string with_rest(std::string_view part, std::string_view one, std::string_view other) {
  return std::string(part) + "\n" + std::string(one) + std::string(other);
}

/// The mistakes of a file as "code @line", lines counted from 1; "none" when it is no entry file.
std::vector<std::string> mistakes_of(std::string_view text) {
  const auto entry_point = find_entry_point(parsed(text));
  if (!entry_point.has_value()) {
    return {"none"};
  }
  std::vector<std::string> found;
  for (const Mistake& mistake : entry_point->mistakes) {
    found.push_back(std::string(mistake.code) + " @" + std::to_string(mistake.line + 1));
    EXPECT_LE(mistake.span.end, text.size());
  }
  return found;
}

void expect_mistakes(std::string_view text, const std::vector<std::string>& expected) {
  EXPECT_EQ(mistakes_of(text), expected) << text;
}

/// What stands for the iteration provider: its name and its definition are marked; no mistakes.
void expect_provider(std::string_view source, bool defined) {
  SCOPED_TRACE(source);
  const Marked text = marked(with_rest(source, kModel, kInput));
  const auto entry_point = find_entry_point(parsed(text.text));
  ASSERT_TRUE(entry_point.has_value());
  const auto& provider = entry_point->provider(ProviderKind::kIteration);
  ASSERT_TRUE(provider.has_value());
  EXPECT_EQ(provider->defined, defined);
  EXPECT_EQ(provider->name_span, text.spans.at(0));
  EXPECT_EQ(slice(text.text, provider->name_span), provider->name);
  EXPECT_EQ(provider->line, base::LineIndex(text.text).line_of(provider->name_span.begin));
  EXPECT_LE(provider->definition.begin, provider->name_span.begin);
  EXPECT_GE(provider->definition.end, provider->name_span.end);
  EXPECT_TRUE(entry_point->mistakes.empty()) << entry_point->mistakes[0].message;
}

/// No iteration provider is seen, which is a mistake.
void expect_unseen(std::string_view text) {
  SCOPED_TRACE(text);
  const auto entry_point = find_entry_point(parsed(with_rest(text, kModel, kInput)));
  ASSERT_TRUE(entry_point.has_value());
  EXPECT_FALSE(entry_point->provider(ProviderKind::kIteration).has_value());
  ASSERT_EQ(entry_point->mistakes.size(), 1);
  EXPECT_EQ(entry_point->mistakes[0].code, "provider-missing");
}

std::string message_of(std::string_view text) {
  const auto entry_point = find_entry_point(parsed(text));
  return entry_point.has_value() && !entry_point->mistakes.empty() ? entry_point->mistakes[0].message : "";
}

TEST(EntryPoint, NeedsAProvider) {
  expect_mistakes("", {"none"});
  expect_mistakes("def provider(): pass\n# model_provider\n'input_provider'\nmodel_provider()\n", {"none"});
  expect_mistakes(with_rest(kModel, kInput, kIteration), {});
}

TEST(EntryPoint, KnowsWhichProvidersAFileCannotDefine) {
  constexpr auto kAModel = ProviderKind::kModel;
  constexpr auto kAnInput = ProviderKind::kInput;
  constexpr auto kAnIteration = ProviderKind::kIteration;
  const auto undefinable = [](std::string_view text) { return undefinable_providers(parsed(text)); };
  for (const std::string_view text :
       {"", "import torch\nmodel = torch.nn.Linear(2, 2).eval()\nmodel(x)\n",
        "from torch import nn\ndef train():\n  pass\n",
        "# iteration_provider, model_provider\ndef train():\n  x = (1,\n    # input_provider\n    2)\n"}) {
    EXPECT_THAT(undefinable(text), ElementsAre(kAModel, kAnInput, kAnIteration)) << text;
  }
  EXPECT_THAT(undefinable("def model_provider(): pass\n"), ElementsAre(kAnInput, kAnIteration));
  EXPECT_THAT(undefinable("if x:\n  from a import skyline_input_provider\n"), ElementsAre(kAModel, kAnIteration));
  EXPECT_THAT(undefinable(with_rest("def train(): iteration_provider  # used", kModel, kInput)), IsEmpty());
  EXPECT_THAT(undefinable("x = 'iteration_provider'\n"), ElementsAre(kAModel, kAnInput));
  EXPECT_THAT(undefinable("def train():\n  global input_provider\n"), ElementsAre(kAModel, kAnIteration));
  for (const std::string_view text :
       {"from providers import *\n", "exec(open('other.py').read())\n", "globals().update(names)\n",
        "def model_provider(): pass\nsetattr(sys.modules[__name__], name, value)\n",
        "def __getattr__(name): return 1\n", "model = torch.(\n"}) {
    EXPECT_THAT(undefinable(text), IsEmpty()) << text;
  }
}

TEST(EntryPoint, KnowsEveryGeneration) {
  expect_provider("def [[iteration_provider]](m): pass", true);
  expect_provider("def [[ridgeline_iteration_provider]](m): pass", true);
  expect_provider("def [[skyline_iteration_provider]](m): pass", true);
  expect_provider("def [[deepview_iteration_provider]](m): pass", true);
  expect_unseen("def my_iteration_provider(m): pass");
  expect_unseen("def iteration_provider2(m): pass");
  expect_unseen("def iteration_providerα(m): pass");
}

TEST(EntryPoint, DefinitionsIncludeDecorators) {
  const std::string text = "x = 1\n@a\n# why\n@b.c(\n  1)\ndef model_provider():\n    return 1\ny = 2\n";
  const auto entry_point = find_entry_point(parsed(text));
  const auto& provider = entry_point->provider(ProviderKind::kModel);
  EXPECT_EQ(slice(text, provider->definition), "@a\n# why\n@b.c(\n  1)\ndef model_provider():\n    return 1");
  EXPECT_EQ(provider->line, 5);
}

TEST(EntryPoint, LooksIntoWhatRunsWithTheModule) {
  expect_provider("if x:\n  def [[iteration_provider]](m): pass", true);
  expect_provider("if x:\n  pass\nelif y:\n  def [[iteration_provider]](m): pass", true);
  expect_provider("if x:\n  pass\nelse:\n  def [[iteration_provider]](m): pass", true);
  expect_provider("try:\n  def [[iteration_provider]](m): pass\nfinally:\n  pass", true);
  expect_provider("try:\n  pass\nexcept E as e:\n  def [[iteration_provider]](m): pass", true);
  expect_provider("with a as b:\n  @d\n  def [[iteration_provider]](m): pass", true);
  expect_provider("for a in b:\n  def [[iteration_provider]](m): pass", true);
  expect_provider("while a:\n  if b:\n    def [[iteration_provider]](m): pass", true);
  expect_provider("match a:\n  case 1:\n    def [[iteration_provider]](m): pass", true);
}

TEST(EntryPoint, LooksNowhereElse) {
  expect_unseen("class A:\n  def iteration_provider(m): pass");
  expect_unseen("def f():\n  def iteration_provider(m): pass");
  expect_unseen("if TYPE_CHECKING:\n  def iteration_provider(m): pass");
  expect_unseen("if typing.TYPE_CHECKING:\n  from a import iteration_provider");
  expect_unseen("if __name__ == '__main__':\n  def iteration_provider(m): pass");
  expect_unseen("if ( \"__main__\"==__name__ ):\n  def iteration_provider(m): pass");
  expect_unseen("if False:\n  def iteration_provider(m): pass");
  expect_unseen("'''\ndef iteration_provider(m): pass\n'''");
  expect_unseen("iteration_provider: Callable");
  expect_unseen("f(iteration_provider=3)");
  expect_unseen("a.iteration_provider = 3");
  expect_provider("if TYPE_CHECKING:\n  pass\nelse:\n  def [[iteration_provider]](m): pass", true);
  expect_provider("if not TYPE_CHECKING:\n  def [[iteration_provider]](m): pass", true);
}

TEST(EntryPoint, SeesWhatIsProvidedElsewhere) {
  expect_provider("[[iteration_provider]] = functools.partial(make, 3)", false);
  expect_provider("[[iteration_provider]]: Callable = make()", false);
  expect_provider("a = [[iteration_provider]] = make()", false);
  expect_provider("(a, [[iteration_provider]]), *b = make()", false);
  expect_provider("from .x import a, [[iteration_provider]]", false);
  expect_provider("from x import (\n  make as [[iteration_provider]],\n)", false);
  expect_provider("class [[iteration_provider]]: pass", false);
  expect_provider("[[iteration_provider]] = lambda model: model", true);
}

TEST(EntryPoint, AStarImportMayBringTheRest) {
  expect_mistakes(std::string(kModel) + "from x import *\n", {});
  expect_mistakes(std::string(kModel) + "from x import (a)\ny = 2 * 3\n",
                  {"provider-missing @1", "provider-missing @1"});
}

TEST(EntryPoint, TheLastOfANameCounts) {
  const auto entry_point = find_entry_point(parsed("input_provider = None\ndef input_provider(batch_size=4): pass\n"));
  EXPECT_EQ(entry_point->batch_size.value, 4);
  expect_provider("def iteration_provider(m): pass\n[[iteration_provider]] = wrap(iteration_provider)", false);
  expect_provider("def [[iteration_provider]](m): pass\nskyline_iteration_provider = iteration_provider", true);
}

TEST(Mistakes, MissingProviders) {
  expect_mistakes(kModel, {"provider-missing @1", "provider-missing @1"});
  EXPECT_EQ(message_of(with_rest("", kModel, kInput)),
            "This file defines no `iteration_provider`. Define it, or import it.");
  const std::string misspelt = with_rest("def iteration_provder(m): pass", kModel, kInput);
  expect_mistakes(misspelt, {"provider-missing @1"});
  EXPECT_EQ(message_of(misspelt),
            "This file defines no `iteration_provider`. Did you mean `iteration_provider` where it says "
            "`iteration_provder`?");
  EXPECT_EQ(find_entry_point(parsed(misspelt))->mistakes[0].related, (Span{4, 21}));
}

TEST(Mistakes, TwoDefinitions) {
  const std::string rest = std::string(kInput) + std::string(kIteration);
  expect_mistakes(with_rest(kModel, kModel, rest), {"provider-duplicate @3"});
  EXPECT_EQ(message_of(with_rest(kModel, kModel, rest)),
            "`model_provider` is defined twice, in lines 1 and 3. Remove one.");
  expect_mistakes(with_rest("def skyline_model_provider(): pass", kModel, rest), {"provider-duplicate @2"});
  expect_mistakes("if x:\n  def model_provider(): 1\nelse:\n  def model_provider(): 2\n" + rest, {});
  expect_mistakes("try:\n  from a import model_provider\nexcept E:\n  def model_provider(): 2\n" + rest, {});
  expect_mistakes("from a import model_provider\ndef model_provider(): 2\n" + rest, {});
  expect_mistakes("def model_provider(): 2\ndeepview_model_provider = model_provider\n" + rest, {});
}

TEST(Mistakes, NotAFunction) {
  const std::string rest = std::string(kInput) + std::string(kIteration);
  expect_mistakes("async def model_provider(): pass\n" + rest, {"provider-invalid @1"});
  EXPECT_EQ(message_of("async def model_provider(): pass\n" + rest),
            "`model_provider` is an `async def`. Write it as a plain `def`.");
  expect_mistakes("@run\nasync def model_provider(): pass\n" + rest, {});
  expect_mistakes("model_provider = 3\n" + rest, {"provider-invalid @1"});
  EXPECT_EQ(message_of("model_provider = (None)\n" + rest), "`model_provider` must be a function, and is nothing.");
  expect_mistakes("import model_provider\n" + rest, {"provider-invalid @1"});
  expect_mistakes("model_provider = None\ndef skyline_model_provider(): pass\n" + rest, {});
  expect_mistakes("model_provider = None\nif x:\n  def model_provider(): pass\n" + rest, {});
}

TEST(Mistakes, BatchSizeIsNoNumber) {
  const auto with_input = [](std::string_view input) { return with_rest(input, kModel, kIteration); };
  expect_mistakes(with_input("def input_provider(): pass"), {"batch-size-missing @1"});
  expect_mistakes(with_input("def input_provider(batch_size): pass"), {"batch-size-missing @1"});
  expect_mistakes(with_input("def input_provider(size=3): pass"), {"batch-size-missing @1"});
  expect_mistakes(with_input("def input_provider(**batch_size): pass"), {"batch-size-missing @1"});
  expect_mistakes(with_input("def input_provider(\n  batch_size=0): pass"), {"batch-size-invalid @2"});
  expect_mistakes(with_input("def input_provider(batch_size=-3): pass"), {"batch-size-invalid @1"});
  expect_mistakes(with_input("def input_provider(batch_size='3'): pass"), {"batch-size-invalid @1"});
  expect_mistakes(with_input("def input_provider(batch_size=16777217): pass"), {"batch-size-invalid @1"});
  expect_mistakes(with_input("def input_provider(batch_size=99999999999999999999): pass"), {"batch-size-invalid @1"});
  EXPECT_EQ(message_of(with_input("def input_provider(batch_size=2.5): pass")),
            "The default of `batch_size` must be a positive integer, at most 16777216, and is 2.5.");
  expect_mistakes(with_input("def input_provider(batch_size=BATCH): pass"), {});
  expect_mistakes(with_input("@changes_signature\ndef input_provider(): pass"), {});
  expect_mistakes(with_input("input_provider = lambda size: 3"), {"batch-size-missing @1"});
}

TEST(Mistakes, NothingIsMissingBecauseItIsBeingTyped) {
  expect_mistakes(with_rest("x = (", kModel, std::string(kInput) + std::string(kIteration)), {});
  expect_mistakes(with_rest(kModel, kInput, "def iteration_provider(\n"), {});
  expect_mistakes(with_rest(kModel, kInput, "iteration_provider = \n"), {});
  expect_mistakes(with_rest(kModel, kInput, "from x import iteration_provider,\n"), {});
}

}  // namespace
}  // namespace ridgeline::source
