#include "source/batch_size.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "source/entry_point.h"
#include "tests/unit/source/marked.h"

namespace ridgeline::source {
namespace {

BatchSize batch_size_of(std::string_view text) {
  const auto entry_point = find_entry_point(parsed(text));
  EXPECT_TRUE(entry_point.has_value()) << text;
  return entry_point.has_value() ? entry_point->batch_size : BatchSize{};
}

/// The literal is what is marked in `source`, and `value` in its place makes the text `expected`.
void expect_edit(std::string_view source, std::uint64_t value, std::string_view expected) {
  SCOPED_TRACE(source);
  const Marked source_text = marked(source);
  const auto edit = batch_size_edit(batch_size_of(source_text.text), value);
  ASSERT_TRUE(edit.has_value());
  EXPECT_EQ(edit->span, source_text.spans.at(0));
  EXPECT_EQ(applied(source_text.text, *edit), expected);
}

/// The marked literal is found, with this value.
void expect_value(std::string_view source, std::optional<std::uint64_t> value) {
  SCOPED_TRACE(source);
  const Marked source_text = marked(source);
  const BatchSize batch_size = batch_size_of(source_text.text);
  EXPECT_TRUE(batch_size.can_be_edited());
  EXPECT_EQ(batch_size.literal, source_text.spans.at(0));
  EXPECT_EQ(batch_size.value, value);
}

/// Nothing can be written in place of the marked default.
void expect_obstacle(std::string_view source, BatchSizeObstacle obstacle) {
  SCOPED_TRACE(source);
  const Marked source_text = marked(source);
  const BatchSize batch_size = batch_size_of(source_text.text);
  EXPECT_EQ(batch_size.obstacle, obstacle) << describe(batch_size.obstacle);
  EXPECT_FALSE(describe(obstacle).empty());
  EXPECT_EQ(batch_size.value, std::nullopt);
  EXPECT_EQ(batch_size_edit(batch_size, 8), std::nullopt);
  if (!source_text.spans.empty()) {
    EXPECT_EQ(batch_size.literal, source_text.spans[0]);
  }
}

TEST(BatchSizeEdit, KeepsAnnotationsAndComments) {
  expect_edit("def input_provider(batch_size: int = [[32]]) -> Batch:  # tuned", 64,
              "def input_provider(batch_size: int = 64) -> Batch:  # tuned");
  expect_edit(
      "def input_provider(  # batch_size=1\n    batch_size  # here\n    =  # 7\n    [[32]],  # tuned\n):\n  pass", 64,
      "def input_provider(  # batch_size=1\n    batch_size  # here\n    =  # 7\n    64,  # tuned\n):\n  pass");
}

TEST(BatchSizeEdit, KeepsGroupsOfThousands) {
  expect_edit("def input_provider(batch_size=[[1_024]]): pass", 2048, "def input_provider(batch_size=2_048): pass");
  expect_edit("def input_provider(batch_size=[[1_024]]): pass", 16, "def input_provider(batch_size=16): pass");
  expect_edit("def input_provider(batch_size=[[1_024]]): pass", 1048576,
              "def input_provider(batch_size=1_048_576): pass");
  expect_edit("def input_provider(batch_size=[[10_24]]): pass", 2048, "def input_provider(batch_size=2048): pass");
}

TEST(BatchSizeEdit, IsDecimalWhateverItWas) {
  expect_edit("def input_provider(batch_size=[[0x20]]): pass", 64, "def input_provider(batch_size=64): pass");
  expect_edit("def input_provider(batch_size=[[0b1_0000]]): pass", 64, "def input_provider(batch_size=64): pass");
}

TEST(BatchSizeEdit, TakesOnlyWhatTheRunnerTakes) {
  const BatchSize batch_size = batch_size_of("def input_provider(batch_size=32): pass");
  EXPECT_FALSE(batch_size_edit(batch_size, 0).has_value());
  EXPECT_TRUE(batch_size_edit(batch_size, kMaxBatchSize).has_value());
  EXPECT_FALSE(batch_size_edit(batch_size, kMaxBatchSize + 1).has_value());
}

TEST(BatchSize, IsFoundWhereverItStands) {
  expect_value("def input_provider(batch_size=[[32]]): pass", 32);
  expect_value("def input_provider(a, b=1, *, batch_size=[[32]], c=3): pass", 32);
  expect_value("def input_provider(a, /, batch_size=[[32]], *args, **kwargs): pass", 32);
  expect_value("def input_provider(batch_size=[[32]], /): pass", 32);
  expect_value("def input_provider(*args: int, batch_size: int=[[32]]): pass", 32);
  expect_value("def input_provider(a=lambda batch_size=5, *b: {1: 2}, batch_size=[[32]]): pass", 32);
  expect_value("def input_provider(a=f(batch_size=5), b='batch_size=6', batch_size=[[32]]): pass", 32);
  expect_value("def input_provider(a: Dict[str, 'x=1'] = {'batch_size': 3}, batch_size: Optional[int]=[[32]],): pass",
               32);
  expect_value("def input_provider[T: int = 3](batch_size=[[32]]): pass", 32);
  expect_value("def input_provider(\n    device='cpu',\n    batch_size=\\\n  [[32]],\n) -> Tuple[int,\n  int]: pass",
               32);
  expect_value("input_provider = lambda batch_size=[[32]]: (torch.rand(batch_size),)", 32);
  expect_value("input_provider = (lambda x=1, *, batch_size=[[32]]: x)", 32);
  expect_value("input_provider: Callable = lambda batch_size=[[32]]: x", 32);
}

TEST(BatchSize, IsReadAsPythonReadsIt) {
  expect_value("def input_provider(batch_size=[[0x_fF]]): pass", 255);
  expect_value("def input_provider(batch_size=[[0O17]]): pass", 15);
  expect_value("def input_provider(batch_size=[[0B11]]): pass", 3);
  expect_value("def input_provider(batch_size=[[1_0_0]]): pass", 100);
  expect_value("def input_provider(batch_size=[[00]]): pass", 0);
  expect_value("def input_provider(batch_size=([[32]])): pass", 32);
  expect_value("def input_provider(batch_size=((  # why\n  [[32]]))): pass", 32);
  expect_value("def input_provider(batch_size=+[[32]]): pass", 32);
  expect_value("def input_provider(batch_size=+ (+[[32]])): pass", 32);
  expect_value("def input_provider(batch_size=[[99999999999999999999]]): pass", std::nullopt);
}

TEST(BatchSize, BytesInFrontDoNotMatter) {
  expect_value(
      "\xef\xbb\xbf"
      "def input_provider(batch_size=[[32]]): pass",
      32);
  expect_value("def input_provider(größe='世界😀e\u0301\u200d', batch_size=[[32]]): pass", 32);
  expect_value("x = '𝔸'\r\ndef input_provider(\r\n\tа='я',\tbatch_size=[[32]]):\r\n\tpass\r\n", 32);
  expect_value("\f\ndef\finput_provider(\fbatch_size\f=\f[[32]]): pass", 32);
  expect_value("x = 1\rdef input_provider(batch_size=[[32]]):\r  pass\r", 32);
}

TEST(BatchSizeEdit, ChangesTheConstantThatTheDefaultNames) {
  constexpr std::string_view kProvider = "\ndef input_provider(batch_size=BATCH): pass\n";
  const auto with = [&](std::string_view before, std::string_view after = "") {
    return std::string(before) + std::string(kProvider) + std::string(after);
  };
  expect_edit(with("BATCH = [[32]]  # tuned"), 64, with("BATCH = 64  # tuned"));
  expect_edit(with("BATCH: int = [[1_000]]"), 2000, with("BATCH: int = 2_000"));
  expect_edit(with("", "BATCH = [[32]]\nprint(BATCH == 32, BATCHES)\n"), 64,
              with("", "BATCH = 64\nprint(BATCH == 32, BATCHES)\n"));
  const auto expect_name = [&](std::string_view before, std::string_view after = "") {
    SCOPED_TRACE(before);
    EXPECT_EQ(batch_size_of(with(before, after)).obstacle, BatchSizeObstacle::kName);
  };
  expect_name("BATCH = 32\nBATCH = 64");
  expect_name("BATCH = 32\nBATCH += 1");
  expect_name("BATCH = 8 * 4");
  expect_name("BATCH = 32", "def change():\n    global BATCH\n");
  expect_name("if large:\n    BATCH = 32");
  expect_name("from settings import BATCH");
  expect_name("BATCH = 32\nfor BATCH in sizes: pass");
  expect_name("BATCH = 0");
}

TEST(BatchSize, SaysWhyItCannotBeEdited) {
  expect_obstacle("def input_provider(batch_size=[[BATCH]]): pass", BatchSizeObstacle::kName);
  expect_obstacle("def input_provider(batch_size=[[config.batch]]): pass", BatchSizeObstacle::kName);
  expect_obstacle("def input_provider(batch_size=[[8 * 4]]): pass", BatchSizeObstacle::kExpression);
  expect_obstacle("def input_provider(batch_size=[[int('8')]]): pass", BatchSizeObstacle::kExpression);
  expect_obstacle("def input_provider(batch_size=[[8 if x else 4]]): pass", BatchSizeObstacle::kExpression);
  expect_obstacle("def input_provider(batch_size=[[~8]]): pass", BatchSizeObstacle::kExpression);
  expect_obstacle("def input_provider(batch_size=[[+True]]): pass", BatchSizeObstacle::kExpression);
  expect_obstacle("def input_provider(batch_size=[[--8]]): pass", BatchSizeObstacle::kExpression);
  expect_obstacle("def input_provider(batch_size=[[-8]]): pass", BatchSizeObstacle::kNegative);
  expect_obstacle("def input_provider(batch_size=[[(-8)]]): pass", BatchSizeObstacle::kNegative);
  expect_obstacle("def input_provider(batch_size=[['8']]): pass", BatchSizeObstacle::kNotInteger);
  expect_obstacle("def input_provider(batch_size=[[8.0]]): pass", BatchSizeObstacle::kNotInteger);
  expect_obstacle("def input_provider(batch_size=[[True]]): pass", BatchSizeObstacle::kNotInteger);
  expect_obstacle("def input_provider(batch_size=[[None]]): pass", BatchSizeObstacle::kNotInteger);
  expect_obstacle("def input_provider(batch_size=[[8j]]): pass", BatchSizeObstacle::kNotInteger);
  expect_obstacle("def input_provider(batch_size=[[032]]): pass", BatchSizeObstacle::kNotInteger);
  expect_obstacle("def input_provider(batch_size): pass", BatchSizeObstacle::kNoDefault);
  expect_obstacle("def input_provider(*batch_size): pass", BatchSizeObstacle::kNoDefault);
  expect_obstacle("def input_provider(): pass", BatchSizeObstacle::kNoDefault);
  expect_obstacle("input_provider = lambda: 3", BatchSizeObstacle::kNoDefault);
  expect_obstacle("input_provider = partial(make, batch_size=3)", BatchSizeObstacle::kElsewhere);
  expect_obstacle("def model_provider(): pass", BatchSizeObstacle::kElsewhere);
  expect_obstacle("if x:\n  def input_provider(batch_size=1): pass\nelse:\n  def input_provider(batch_size=2): pass",
                  BatchSizeObstacle::kSeveral);
}

TEST(BatchSize, IsFoundWhileTheUserTypesElsewhere) {
  expect_value("x = foo(\n\ndef input_provider(batch_size=[[32]]):\n    return 1\n", 32);
  expect_value("class Net(nn.Module\n    def f(self): [\n\ndef input_provider(batch_size=[[32]]):\n    return 1\n", 32);
  expect_value("'''\n\ndef input_provider(batch_size=[[32]]):\n    return 1\n", 32);
  expect_value("def f(:\n  if\n@decorated\ndef input_provider(\n    batch_size=[[32]],\n):\n    return (\n", 32);
  expect_value("def input_provider(batch_size=[[32]]):\n    return torch.rand(\n\ndef iteration_provider(m): pass\n",
               32);
  expect_value("def input_provider(batch_size=[[32]]):\n    \n\ndef iteration_provider(m)\n", 32);
  expect_value("def input_provider(batch_size=[[32]]):\n", 32);
  expect_value("def input_provider(batch_size=[[32]])", 32);
  expect_value("} ) ]\ndef input_provider(batch_size=[[32]]): pass\n", 32);
}

TEST(BatchSize, IsUnfinishedWhileItIsTyped) {
  expect_obstacle("def input_provider(batch_size=", BatchSizeObstacle::kUnfinished);
  expect_obstacle("def input_provider(batch_size=):\n    pass\n", BatchSizeObstacle::kUnfinished);
  expect_obstacle("def input_provider(", BatchSizeObstacle::kUnfinished);
}

}  // namespace
}  // namespace ridgeline::source
