#include "analysis/breakdown/library_call.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/unit/analysis/analysed.h"

namespace ridgeline::analysis {
namespace {

using testing::Analysed;
using ::testing::ElementsAre;
using testing::Frame;
using testing::kLibrary;
using testing::kMs;
using testing::kNetFile;
using testing::kNone;
using testing::RecordingBuilder;
using testing::Scope;

constexpr Frame kCall{"train.py", "step", 3};

std::optional<LibraryCall> call_in(const Analysed& analysed) {
  return find_library_call(analysed.parts, analysed.breakdown);
}

/// "/env/site-packages/nets/net.py:8 6 ms".
std::vector<std::string> lines_of(const LibraryCall& call) {
  std::vector<std::string> lines;
  for (const LibraryLine& line : call.lines) {
    lines.push_back(line.location.file + ":" + std::to_string(line.location.line) + " " +
                    std::to_string(static_cast<int>(line.ms)) + " ms");
  }
  return lines;
}

/// "3 Block 6 ms".
std::vector<std::string> modules_of(const LibraryCall& call) {
  std::vector<std::string> modules;
  for (const LibraryModule& module : call.modules) {
    modules.push_back(std::to_string(module.instances) + " " + module.type + " " +
                      std::to_string(static_cast<int>(module.ms)) + " ms");
  }
  return modules;
}

TEST(LibraryCall, NamesTheInnermostLinesOutsideTorchWithTheirBackward) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  const auto first = builder.stack({kCall, {kNetFile, "forward", 30}, {kNetFile, "forward", 8}, kLibrary});
  builder.op({"aten::linear", first, 0, 2 * kMs, kNone, Scope::kFunction, 5});
  builder.op({"aten::relu", builder.stack({kCall, {kNetFile, "forward", 31}}), 2 * kMs, 5 * kMs});
  builder.op({"aten::loss", builder.stack({kCall}), 5 * kMs, 6 * kMs});
  builder.backward("LinearBackward0", builder.stack({{"train.py", "step", 7}, testing::kEngine}), 6 * kMs, 10 * kMs, 5);
  builder.allocate({1 * kMs, 0xA0, 700, first, 0});
  const Analysed analysed(builder);
  const auto call = call_in(analysed);
  ASSERT_TRUE(call.has_value());
  EXPECT_EQ(call->location, (Location{"train.py", 3}));
  EXPECT_DOUBLE_EQ(call->ms, 9);  // without what the line does itself
  EXPECT_THAT(lines_of(*call),
              ElementsAre("/env/site-packages/nets/net.py:8 6 ms", "/env/site-packages/nets/net.py:31 3 ms"));
  EXPECT_EQ(call->lines[0].package, "nets");
  EXPECT_EQ(call->lines[0].peak_bytes, 700U);
  EXPECT_THAT(packages_of(call), ElementsAre("nets"));
}

TEST(LibraryCall, IsNotThereWhereNoLineHasHalfOfTheStep) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  builder.op({"aten::a", builder.stack({kCall, {kNetFile, "forward", 8}}), 0, 5 * kMs});
  builder.op({"aten::b", builder.stack({{"train.py", "step", 4}, {kNetFile, "forward", 9}}), 5 * kMs, 10 * kMs});
  EXPECT_FALSE(call_in(Analysed(builder)).has_value());
}

TEST(LibraryCall, IsNotThereWhereTheLineItselfIsTheCost) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  builder.op({"aten::mm", builder.stack({kCall}), 0, 10 * kMs});
  EXPECT_FALSE(call_in(Analysed(builder)).has_value());
}

TEST(LibraryCall, IsNotThereWherePackagesOfCodeHaveTheFigures) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  builder.op({"aten::a", builder.stack({kCall, {kNetFile, "forward", 8}}), 0, 5 * kMs});
  builder.op({"aten::b", builder.stack({kCall, {kNetFile, "forward", 9}}), 5 * kMs, 10 * kMs});
  EXPECT_TRUE(call_in(Analysed(builder)).has_value());
  EXPECT_FALSE(call_in(Analysed(builder, {{"nets", {"/env/site-packages/nets"}}})).has_value());
}

TEST(LibraryCall, NamesLinesOfTorchWhereThereAreNoOthersAndMoreThanOne) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  builder.op({"aten::linear", builder.stack({kCall, kLibrary}), 0, 10 * kMs});
  EXPECT_FALSE(call_in(Analysed(builder)).has_value());
  builder.iteration(10 * kMs, 20 * kMs);
  const Frame other{"/env/site-packages/torch/nn/functional.py", "relu", 90};
  const Frame wrapper{"/usr/lib/python3.11/contextlib.py", "inner", 81};
  RecordingBuilder two;
  two.iteration(0, 10 * kMs);
  two.op({"aten::linear", two.stack({kCall, kLibrary}), 0, 6 * kMs});
  two.op({"aten::relu", two.stack({kCall, other, wrapper}), 6 * kMs, 10 * kMs});
  const auto call = call_in(Analysed(two));
  ASSERT_TRUE(call.has_value());
  EXPECT_THAT(lines_of(*call), ElementsAre("/env/site-packages/torch/nn/functional.py:20 6 ms",
                                           "/env/site-packages/torch/nn/functional.py:90 4 ms"));
  EXPECT_TRUE(packages_of(call).empty());
}

TEST(LibraryCall, UnfoldsModulesThatOnlyWrapOthers) {
  RecordingBuilder builder;
  const auto model = builder.instance("Model", "");
  const auto head = builder.instance("Head", "head");
  std::vector<std::uint32_t> blocks;
  for (const char* name : {"blocks.0", "blocks.1", "blocks.2"}) {
    blocks.push_back(builder.instance("Block", name));
  }
  builder.iteration(0, 10 * kMs);
  const Frame outer{kNetFile, "forward", 30, model};
  std::uint64_t time = 0;
  for (const std::uint32_t block : blocks) {
    builder.op({"aten::mm", builder.stack({kCall, outer, {kNetFile, "forward", 8, block}}), time, time + 2 * kMs});
    time += 2 * kMs;
  }
  builder.op({"aten::mm", builder.stack({kCall, outer, {kNetFile, "forward", 50, head}}), time, 10 * kMs});
  const auto call = call_in(Analysed(builder));
  ASSERT_TRUE(call.has_value());
  EXPECT_THAT(modules_of(*call), ElementsAre("3 Block 6 ms", "1 Head 4 ms"));
}

TEST(LibraryCall, KeepsAClassWhoseModulesHoldNothingButOneOther) {
  RecordingBuilder builder;
  const auto wrapper = builder.instance("Wrapper", "");
  const auto block = builder.instance("Block", "block");
  const auto up = builder.instance("Linear", "block.up");
  const auto down = builder.instance("Linear", "block.down");
  builder.iteration(0, 10 * kMs);
  const Frame outer{kNetFile, "forward", 30, wrapper};
  const Frame inner{kNetFile, "forward", 31, block};
  builder.op({"aten::mm", builder.stack({kCall, outer, inner, {kNetFile, "forward", 8, up}}), 0, 5 * kMs});
  builder.op({"aten::mm", builder.stack({kCall, outer, inner, {kNetFile, "forward", 9, down}}), 5 * kMs, 10 * kMs});
  EXPECT_THAT(modules_of(*call_in(Analysed(builder))), ElementsAre("1 Block 10 ms"));
}

TEST(LibraryCall, LeavesOutWhatIsLessThanAHundredth) {
  RecordingBuilder builder;
  builder.iteration(0, 1000 * kMs);
  builder.op({"aten::a", builder.stack({kCall, {kNetFile, "forward", 8}}), 0, 991 * kMs});
  builder.op({"aten::b", builder.stack({kCall, {kNetFile, "forward", 9}}), 991 * kMs, 1000 * kMs});
  EXPECT_THAT(lines_of(*call_in(Analysed(builder))), ElementsAre("/env/site-packages/nets/net.py:8 991 ms"));
}

TEST(PackageOf, IsTheFirstNameBelowTheInstalledFolder) {
  EXPECT_EQ(package_of("/env/lib/python3.11/site-packages/nets/layers/mlp.py"), "nets");
  EXPECT_EQ(package_of("/usr/lib/python3/dist-packages/six.py"), "six");
  EXPECT_EQ(package_of("/env/site-packages/a/site-packages/b/c.py"), "b");
  EXPECT_EQ(package_of("/home/me/nets/net.py"), "");
}

}  // namespace
}  // namespace ridgeline::analysis
