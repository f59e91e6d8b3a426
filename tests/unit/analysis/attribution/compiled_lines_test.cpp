#include "analysis/attribution/compiled_lines.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "protocol/compiled_code.h"
#include "tests/unit/analysis/recording_builder.h"

namespace ridgeline::analysis {
namespace {

using recording::CompiledCode;
using recording::Recording;
using testing::RecordingBuilder;

constexpr const char* kGenerated = "/tmp/torchinductor/c.py";

/// Line 10 of the generated file is a kernel of two lines of the model, three quarters of it the first's; line 12 is a
/// call of the second one's alone, in a module.
CompiledCode compiled_code() {
  CompiledCode code;
  code.modules = {{"Linear", "Net.up", "/env/site-packages/torch/nn/linear.py", 5, 1}};
  code.frames = {{"/project/net.py", "forward", 3, -1},
                 {"/project/net.py", "forward", 4, -1},
                 {"/env/site-packages/torch/nn/modules/module.py", "_call_impl", 1, 0}};
  code.stacks = {{0}, {1}, {1, 2}};
  code.owners = {{{0.75, 0}, {0.25, 1}}, {{1.0, 2}}};
  code.files = {{kGenerated, {{10, 10, 0}, {12, 13, 1}}}};
  code.breaks = {{"/project/net.py", 7, "forward", "item", 2}};
  code.compilations = {{"/project/net.py", 1, "forward", 2, 1.5, 30, {"size mismatch"}}};
  return code;
}

Recording built(RecordingBuilder& builder, const CompiledCode& code) {
  const std::string text = recording::compiled_code_text(code);
  builder.columns.compiled_code.assign(text.begin(), text.end());
  return builder.build();
}

std::uint32_t generated_stack(RecordingBuilder& builder, std::uint32_t line) {
  return builder.stack({{"train.py", "main", 20}, {kGenerated, "call", line}});
}

std::string frames_of(const Recording& recording, std::uint32_t node) {
  std::string text;
  for (; node != 0; node = recording.node_parent()[node]) {
    const std::string_view file = recording.string(recording.code_file()[recording.node_code()[node]]);
    text =
        std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(recording.node_line()[node]) + " " + text;
  }
  return text;
}

TEST(CompiledLines, DividesAKernelByItsShares) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * testing::kMs);
  builder.op({"fused", generated_stack(builder, 10), 2 * testing::kMs, 6 * testing::kMs});
  const auto placed = place_compiled_code(built(builder, compiled_code()));
  ASSERT_TRUE(placed.has_value());
  ASSERT_EQ(placed->op_name().size(), 2U);
  EXPECT_EQ(placed->string(placed->op_name()[0]), "fused (divided)");
  EXPECT_EQ(placed->op_end()[0], 5 * testing::kMs);
  EXPECT_EQ(placed->op_start()[1], 5 * testing::kMs);
  EXPECT_EQ(placed->op_end()[1], 6 * testing::kMs);
  EXPECT_EQ(frames_of(*placed, placed->op_node()[0]), "train.py:20 net.py:3 ");
  EXPECT_EQ(frames_of(*placed, placed->op_node()[1]), "train.py:20 net.py:4 ");
  EXPECT_EQ(std::vector<int>(placed->op_part().begin(), placed->op_part().end()), (std::vector<int>{0, 1}));
}

TEST(CompiledLines, KeepsWhatHasOnePlaceWhole) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * testing::kMs);
  const std::uint32_t stack = generated_stack(builder, 13);
  builder.op({"aten::mm", stack, 2 * testing::kMs, 6 * testing::kMs});
  builder.op({"aten::inner", stack, 3 * testing::kMs, 4 * testing::kMs, 0});
  builder.op({"aten::eager", builder.stack({{"train.py", "main", 21}}), 7 * testing::kMs, 8 * testing::kMs});
  const auto placed = place_compiled_code(built(builder, compiled_code()));
  ASSERT_TRUE(placed.has_value());
  ASSERT_EQ(placed->op_name().size(), 3U);
  EXPECT_EQ(frames_of(*placed, placed->op_node()[0]), "train.py:20 net.py:4 module.py:1 ");
  EXPECT_EQ(placed->op_node()[1], placed->op_node()[0]);
  EXPECT_EQ(placed->op_parent()[1], 0U);
  EXPECT_EQ(frames_of(*placed, placed->op_node()[2]), "train.py:21 ");
  const std::uint32_t module = placed->node_instance()[placed->op_node()[0]];
  EXPECT_EQ(placed->string(placed->instance_name()[module]), "Net.up");
}

TEST(CompiledLines, AnOperationWithOthersInsideBelongsToTheLargestShare) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * testing::kMs);
  const std::uint32_t stack = generated_stack(builder, 10);
  builder.op({"outer", stack, 2 * testing::kMs, 6 * testing::kMs});
  builder.op({"inner", stack, 3 * testing::kMs, 5 * testing::kMs, 0});
  builder.allocate({4 * testing::kMs, 0x1000, 64, stack, 1});
  const auto placed = place_compiled_code(built(builder, compiled_code()));
  ASSERT_TRUE(placed.has_value());
  ASSERT_EQ(placed->op_name().size(), 3U);  // the inner one has two parts
  EXPECT_EQ(placed->string(placed->op_name()[0]), "outer");
  EXPECT_EQ(frames_of(*placed, placed->op_node()[0]), "train.py:20 net.py:3 ");
  EXPECT_EQ(placed->op_parent()[2], 0U);
  EXPECT_EQ(placed->memory_op()[0], 1U);
  EXPECT_EQ(frames_of(*placed, placed->memory_node()[0]), "train.py:20 net.py:3 ");
}

TEST(CompiledLines, DividesKernelsOfADeviceAndCountsThemOnce) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * testing::kMs);
  const std::uint32_t stack = builder.stack(
      {{"train.py", "main", 20}, {kGenerated, "call", 10}, {"/env/site-packages/triton/run.py", "run", 90}});
  const std::uint32_t call =
      builder.call({recording::Call::kLaunch, testing::kMs, 3 * testing::kMs, recording::kNone, stack});
  builder.activity({"triton_fused", 4 * testing::kMs, 8 * testing::kMs, call});
  const auto placed = place_compiled_code(built(builder, compiled_code()));
  ASSERT_TRUE(placed.has_value());
  ASSERT_EQ(placed->activity_name().size(), 2U);
  EXPECT_EQ(placed->activity_end()[0], 7 * testing::kMs);
  EXPECT_EQ(placed->activity_call()[1], 1U);
  EXPECT_EQ(frames_of(*placed, placed->call_node()[0]), "train.py:20 net.py:3 ");
  EXPECT_EQ(frames_of(*placed, placed->call_node()[1]), "train.py:20 net.py:4 ");
  EXPECT_EQ(std::vector<int>(placed->activity_part().begin(), placed->activity_part().end()), (std::vector<int>{0, 1}));
}

TEST(CompiledLines, ARecordingThatIsPlacedStaysAsItIs) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * testing::kMs);
  builder.op({"fused", generated_stack(builder, 10), 2 * testing::kMs, 6 * testing::kMs});
  const auto once = place_compiled_code(built(builder, compiled_code()));
  ASSERT_TRUE(once.has_value());
  const auto twice = place_compiled_code(*once);
  ASSERT_TRUE(twice.has_value());
  EXPECT_EQ(twice->bytes(), once->bytes());
  const auto made = compilation_of(*twice, {"/project", {}, {}});
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->breaks.at(0).location.file, "net.py");
  EXPECT_EQ(made->functions.at(0).reasons.at(0), "size mismatch");
}

TEST(CompiledLines, DamageIsAnError) {
  const auto refuses = [](const CompiledCode& code) {
    RecordingBuilder builder;
    builder.iteration(0, testing::kMs);
    return !place_compiled_code(built(builder, code)).has_value();
  };
  CompiledCode code = compiled_code();
  code.owners[0][0].weight = 2;
  EXPECT_TRUE(refuses(code));
  code = compiled_code();
  code.stacks[0][0] = 9;
  EXPECT_TRUE(refuses(code));
  code = compiled_code();
  code.frames[0].module = 7;
  EXPECT_TRUE(refuses(code));
  code = compiled_code();
  code.files[0].places = {{10, 12, 0}, {12, 13, 1}};
  EXPECT_TRUE(refuses(code));
  code = compiled_code();
  code.files[0].places[0].owner = 5;
  EXPECT_TRUE(refuses(code));
  RecordingBuilder builder;
  builder.iteration(0, testing::kMs);
  builder.columns.compiled_code = {'{', '}'};
  EXPECT_FALSE(place_compiled_code(builder.build()).has_value());
}

}  // namespace
}  // namespace ridgeline::analysis
