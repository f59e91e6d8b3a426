#include "analysis/attribution/attribution.h"

#include <gtest/gtest.h>

#include "analysis/attribution/compiled_regions.h"
#include "tests/unit/analysis/analysed.h"

namespace ridgeline::analysis {
namespace {

using testing::Analysed;
using testing::kCheckpoint;
using testing::kEngine;
using testing::kLibrary;
using testing::kLoader;
using testing::kNone;
using testing::kOptimizer;
using testing::kUnpackHook;
using testing::RecordingBuilder;
using testing::Scope;

/// A step whose model lines are model.py:10, :20 ... called from train.py:3; backward is called at train.py:7.
struct AutogradStep : RecordingBuilder {
  AutogradStep() { iteration(0, 1'000'000); }
  std::uint32_t model(std::uint32_t line) {
    return stack({{"train.py", "step", 3}, {"model.py", "forward", line}, kLibrary});
  }
  std::uint32_t engine = stack({{"train.py", "step", 7}, {"/env/torch/_tensor.py", "backward", 500}, kEngine});
};

TEST(Attribution, GivesBackwardToTheForwardLine) {
  AutogradStep step;
  step.op({"aten::linear", step.model(10), 0, 10, kNone, Scope::kFunction, 5});
  step.op({"aten::relu", step.model(20), 10, 20, kNone, Scope::kFunction, 6});
  const auto relu = step.backward("ReluBackward0", step.engine, 30, 40, 6);
  const auto linear = step.backward("AddmmBackward0", step.engine, 40, 50, 5);
  const auto mm = step.op({"aten::mm", step.engine, 41, 45, linear});
  const Analysed analysed(step);
  EXPECT_EQ(analysed.owner_lines(relu), "train.py:3 model.py:20");
  EXPECT_EQ(analysed.owner_lines(linear), "train.py:3 model.py:10");
  EXPECT_EQ(analysed.owner(mm), "model.py:10");
  EXPECT_EQ(analysed.operation(relu), "aten::relu");
  EXPECT_EQ(analysed.operation(mm), "aten::linear");
  EXPECT_EQ(analysed.phase(mm), Phase::kBackward);
  EXPECT_EQ(analysed.phase(0), Phase::kForward);
}

/// net.py:24 checkpoints a block of the lines block.py:12 and :13; backward runs the block again.
struct Checkpointed : AutogradStep {
  std::uint32_t block(std::uint32_t line) {
    return stack({{"train.py", "step", 3}, {"net.py", "forward", 24}, kCheckpoint, {"block.py", "forward", line}});
  }
  std::uint32_t again(std::uint32_t line) {
    return stack({{"train.py", "step", 7},
                  {"/env/torch/_tensor.py", "backward", 500},
                  kEngine,
                  kUnpackHook,
                  {"block.py", "forward", line}});
  }
};

TEST(Attribution, CountsBackwardPasses) {
  AutogradStep step;
  std::int64_t node = 5;
  for (const std::uint64_t begin : {0U, 100U, 200U}) {
    step.op({"aten::linear", step.model(10), begin, begin + 10, kNone, Scope::kFunction, node});
    step.backward("AddmmBackward0", step.engine, begin + 40, begin + 50, node);
    step.backward("TBackward0", step.engine, begin + 50, begin + 60, node++);
  }
  const auto recording = step.build();
  EXPECT_EQ(backward_passes(recording, attribute(recording, {})), 3);
}

TEST(Attribution, PutsRecomputationWhereTheForwardStood) {
  Checkpointed step;
  step.op({"aten::linear", step.block(12), 0, 10, kNone, Scope::kFunction, 5});
  step.op({"aten::gelu", step.block(13), 10, 20, kNone, Scope::kFunction, 6});
  const auto node = step.backward("GeluBackward0", step.engine, 30, 60, 6);
  const auto linear = step.op({"aten::linear", step.again(12), 31, 40, node, Scope::kFunction, 9});
  const auto gradient = step.op({"aten::gelu_backward", step.engine, 50, 60, node});
  const Analysed analysed(step);
  EXPECT_EQ(analysed.phase(linear), Phase::kRecomputation);
  EXPECT_EQ(analysed.owner_lines(linear), "train.py:3 net.py:24 block.py:12");
  EXPECT_EQ(analysed.operation(linear), "aten::linear");
  EXPECT_EQ(analysed.phase(gradient), Phase::kBackward);
  EXPECT_EQ(analysed.owner(gradient), "block.py:13");
}

TEST(Attribution, TellsTheBackwardOfARecomputationFromIt) {
  // Reentrant: the checkpoint's node runs the block again and then an engine of its own over it.
  Checkpointed step;
  const auto inner = step.stack({{"train.py", "step", 7},
                                 {"/env/torch/_tensor.py", "backward", 500},
                                 kEngine,
                                 kUnpackHook,
                                 {"/env/torch/autograd/__init__.py", "backward", 350},
                                 kEngine});
  step.op({"CheckpointFunction", step.block(12), 0, 10, kNone, Scope::kFunction, 5});
  const auto node = step.backward("CheckpointFunctionBackward", step.engine, 30, 60, 5);
  const auto linear = step.op({"aten::linear", step.again(12), 31, 40, node, Scope::kFunction, 9});
  const auto nested = step.backward("AddmmBackward0", inner, 41, 50, 9, node);
  const auto mm = step.op({"aten::mm", inner, 42, 49, nested});
  const Analysed analysed(step);
  EXPECT_EQ(analysed.phase(linear), Phase::kRecomputation);
  EXPECT_EQ(analysed.phase(mm), Phase::kBackward);
  EXPECT_EQ(analysed.owner_lines(mm), "train.py:3 net.py:24 block.py:12");
}

TEST(Attribution, KeepsARecomputationOfAnUnknownCheckpointUnderItsNode) {
  Checkpointed step;
  step.op({"aten::gelu", step.model(10), 0, 10, kNone, Scope::kFunction, 6});
  const auto node = step.backward("GeluBackward0", step.engine, 30, 60, 6);
  const auto linear = step.op({"aten::linear", step.again(12), 31, 40, node});
  EXPECT_EQ(Analysed(step).owner_lines(linear), "train.py:3 model.py:10 block.py:12");
}

TEST(Attribution, TakesTheLastForwardOpWithTheNumber) {
  AutogradStep step;
  step.op({"aten::view", step.model(10), 0, 10, kNone, Scope::kFunction, 5});  // makes no node: 5 is used again
  step.op({"aten::linear", step.model(20), 10, 20, kNone, Scope::kFunction, 5});
  const auto node = step.backward("AddmmBackward0", step.engine, 30, 40, 5);
  EXPECT_EQ(Analysed(step).owner(node), "model.py:20");
}

TEST(Attribution, NamesTheOutermostOpOfTheUser) {
  AutogradStep step;
  const auto linear = step.op({"aten::linear", step.model(10), 0, 10, kNone, Scope::kFunction, 5});
  const auto addmm = step.op({"aten::addmm", step.model(10), 2, 8, linear, Scope::kFunction, 5});
  const auto node = step.backward("AddmmBackward0", step.engine, 30, 40, 5);
  const Analysed analysed(step);
  EXPECT_EQ(analysed.operation(addmm), "aten::linear");
  EXPECT_EQ(analysed.operation(node), "aten::linear");
}

TEST(Attribution, LooksIntoTheFrameOfACompiledGraph) {
  AutogradStep step;
  const auto region = step.op({"Torch-Compiled Region: 0/0", step.model(10), 0, 100, kNone, Scope::kPython});
  const auto function = step.op({"CompiledFunction", step.model(10), 5, 95, region, Scope::kPython});
  const auto kernel = step.op({"graph_0_cpp_fused_relu_0", step.model(10), 10, 40, function, Scope::kPython});
  const auto mm = step.op({"aten::mm", step.model(10), 40, 90, function});
  const Analysed analysed(step);
  EXPECT_EQ(analysed.operation(region), "");
  EXPECT_EQ(analysed.operation(function), "");
  EXPECT_EQ(analysed.operation(kernel), "graph_0_cpp_fused_relu_0");
  EXPECT_EQ(analysed.operation(mm), "aten::mm");
  EXPECT_TRUE(analysed.attribution.starts_operation[mm]);
  EXPECT_FALSE(analysed.attribution.starts_operation[region]);
  EXPECT_TRUE(has_compiled_regions(analysed.recording));
  EXPECT_FALSE(has_compiled_regions(AutogradStep().build())) << "a step that was not compiled";
}

TEST(Attribution, KnowsThatAnAutogradFunctionRunsPython) {
  AutogradStep step;
  const auto function = step.op({"Swish", step.model(10), 0, 100, kNone, Scope::kPython});
  const auto mul = step.op({"aten::mul", step.child(step.model(10), {"swish.py", "forward", 8}), 10, 40, function});
  const Analysed analysed(step);
  EXPECT_TRUE(analysed.attribution.runs_python[function]);
  EXPECT_EQ(analysed.operation(mul), "Swish");
  EXPECT_EQ(analysed.owner(mul), "swish.py:8");
  EXPECT_FALSE(analysed.attribution.starts_operation[mul]);
}

TEST(Attribution, FindsThePartOfAScriptThatMadeANode) {
  AutogradStep step;
  const auto gate = step.op({"gate", step.model(10), 0, 20, kNone, Scope::kScript});
  const auto first = step.op({"<forward op>", step.model(10), 5, 20, gate, Scope::kScript});
  step.op({"aten::sigmoid", step.model(10), 6, 19, first, Scope::kFunction, 27});
  const auto tower = step.op({"<forward op>", step.model(20), 20, 40, kNone, Scope::kScript});
  const auto linear = step.op({"aten::linear", step.model(20), 21, 39, tower, Scope::kFunction, 28});
  const auto of_tower = step.backward("DifferentiableGraphBackward", step.engine, 50, 60, 27);
  const auto of_gate = step.backward("DifferentiableGraphBackward", step.engine, 60, 70, 26);
  const Analysed analysed(step);
  EXPECT_EQ(analysed.owner(of_tower), "model.py:20");
  EXPECT_EQ(analysed.owner(of_gate), "model.py:10");
  EXPECT_EQ(analysed.operation(gate), "");
  EXPECT_EQ(analysed.operation(linear), "aten::linear");
}

TEST(Attribution, GivesAccumulateGradToTheNodeBefore) {
  AutogradStep step;
  step.op({"aten::linear", step.model(10), 0, 10, kNone, Scope::kFunction, 5});
  step.op({"aten::relu", step.model(20), 10, 20, kNone, Scope::kFunction, 6});
  step.backward("ReluBackward0", step.engine, 30, 40, 6);
  step.backward("AddmmBackward0", step.engine, 40, 50, 5);
  const auto accumulate = step.backward("torch::autograd::AccumulateGrad", step.engine, 50, 60, -1);
  const auto second = step.backward("torch::autograd::AccumulateGrad", step.engine, 60, 70, -1);
  const Analysed analysed(step);
  EXPECT_EQ(analysed.owner(accumulate), "model.py:10");
  EXPECT_EQ(analysed.owner(second), "model.py:10");
}

TEST(Attribution, GivesANodeWithItsHooksToTheForwardLineOfTheNode) {
  AutogradStep step;
  step.op({"aten::linear", step.model(10), 0, 10, kNone, Scope::kFunction, 5});
  step.op({"aten::relu", step.model(20), 10, 20, kNone, Scope::kFunction, 6});
  step.backward("ReluBackward0", step.engine, 30, 40, 6);
  const auto whole = step.backward("autograd::engine::evaluate_function: AddmmBackward0", step.engine, 40, 90, -1);
  const auto hook = step.op({"aten::mul", step.child(step.engine, {"train.py", "hook", 40}), 41, 50, whole});
  const auto node = step.backward("AddmmBackward0", step.engine, 50, 80, 5, whole);
  const auto add = step.op({"aten::add", step.engine, 81, 90, whole});
  const Analysed analysed(step);
  EXPECT_EQ(analysed.owner(whole), "model.py:10");
  EXPECT_EQ(analysed.owner(node), "model.py:10");
  EXPECT_EQ(analysed.owner(add), "model.py:10");
  EXPECT_EQ(analysed.owner_lines(hook), "train.py:3 model.py:10 train.py:40");
  EXPECT_EQ(analysed.phase(hook), Phase::kBackward);
}

TEST(Attribution, GivesOpsOfTheEngineBetweenNodesToTheNodeBefore) {
  AutogradStep step;
  step.op({"aten::linear", step.model(10), 0, 10, kNone, Scope::kFunction, 5});
  const auto first = step.op({"aten::ones_like", step.engine, 25, 29});
  step.backward("AddmmBackward0", step.engine, 30, 40, 5);
  const auto add = step.op({"aten::add", step.engine, 45, 50});
  const Analysed analysed(step);
  EXPECT_EQ(analysed.owner(first), "train.py:7");
  EXPECT_EQ(analysed.phase(first), Phase::kBackward);
  EXPECT_EQ(analysed.owner(add), "model.py:10");
  EXPECT_EQ(analysed.operation(add), "aten::linear");
  EXPECT_EQ(analysed.phase(add), Phase::kBackward);
}

TEST(Attribution, KeepsTheFramesOfACustomFunctionsBackward) {
  AutogradStep step;
  step.op({"Swish", step.model(10), 0, 10, kNone, Scope::kFunction, 5});
  const auto node = step.backward("SwishBackward", step.engine, 30, 60, 5);
  const auto own = step.child(step.engine, {"swish.py", "backward", 44});
  const auto sigmoid = step.op({"aten::sigmoid", own, 35, 40, node});
  const auto inner = step.op({"aten::exp", own, 36, 38, sigmoid});
  const Analysed analysed(step);
  EXPECT_EQ(analysed.owner_lines(sigmoid), "train.py:3 model.py:10 swish.py:44");
  EXPECT_EQ(analysed.operation(sigmoid), "aten::sigmoid");
  EXPECT_EQ(analysed.operation(inner), "aten::sigmoid");
  EXPECT_EQ(analysed.phase(sigmoid), Phase::kBackward);
  // The user wrote that operation, so it is counted; what runs inside of it is not.
  EXPECT_TRUE(analysed.attribution.starts_operation[sigmoid]);
  EXPECT_FALSE(analysed.attribution.starts_operation[inner]);
  EXPECT_FALSE(analysed.attribution.starts_operation[node]);
}

TEST(Attribution, FollowsRecomputationToItsOwnForward) {
  AutogradStep step;
  step.op({"CheckpointFunction", step.model(10), 0, 10, kNone, Scope::kFunction, 5});
  const auto outer = step.backward("CheckpointFunctionBackward", step.engine, 30, 90, 5);
  const auto again = step.child(step.engine, {"model.py", "block", 50});
  const auto linear = step.op({"aten::linear", again, 35, 40, outer, Scope::kFunction, 6});
  const auto inner_engine = step.child(step.engine, kEngine);
  const auto node = step.op({"AddmmBackward0", inner_engine, 50, 80, outer, Scope::kBackward, 6, 1});
  const auto mm = step.op({"aten::mm", inner_engine, 55, 60, node});
  const Analysed analysed(step);
  EXPECT_EQ(analysed.owner_lines(linear), "train.py:3 model.py:10 model.py:50");
  EXPECT_EQ(analysed.owner_lines(node), "train.py:3 model.py:10 model.py:50");
  EXPECT_EQ(analysed.owner(mm), "model.py:50");
  EXPECT_EQ(analysed.operation(mm), "aten::linear");
}

TEST(Attribution, MatchesBackwardOnAnotherThread) {
  AutogradStep step;
  step.op({"aten::linear", step.model(10), 0, 10, kNone, Scope::kFunction, 5});
  const auto device = step.thread(9);
  const auto node = step.op({"AddmmBackward0", 0, 30, 40, kNone, Scope::kBackward, 5, 1, device});
  const auto mm = step.op({"aten::mm", 0, 31, 39, node, Scope::kFunction, -1, 0, device});
  const Analysed analysed(step);
  EXPECT_EQ(analysed.owner(node), "model.py:10");
  EXPECT_EQ(analysed.owner(mm), "model.py:10");
}

TEST(Attribution, MatchesForwardOfAnotherThread) {
  AutogradStep step;
  const auto helper = step.thread(9);
  const auto node = step.op({"AddmmBackward0", step.engine, 30, 40, kNone, Scope::kBackward, 5, 9});
  const auto accumulate = step.backward("torch::autograd::AccumulateGrad", step.engine, 40, 50, -1);
  step.op({"aten::linear", step.at("helper.py", 4), 0, 10, kNone, Scope::kFunction, 5, 0, helper});
  const Analysed analysed(step);
  EXPECT_EQ(analysed.owner(node), "helper.py:4");
  EXPECT_EQ(analysed.owner(accumulate), "helper.py:4");
}

TEST(Attribution, KeepsThreadsWithTheSameNumbersApart) {
  AutogradStep step;
  step.op({"aten::linear", step.model(10), 0, 10, kNone, Scope::kFunction, 5});
  const auto other = step.op({"AddmmBackward0", step.engine, 30, 40, kNone, Scope::kBackward, 5, 9});
  const auto helper = step.thread(9);
  step.op({"aten::mm", step.at("helper.py", 4), 5, 10, kNone, Scope::kFunction, 5, 0, helper});
  EXPECT_EQ(Analysed(step).owner(other), "helper.py:4");
}

TEST(Attribution, LeavesAnUnmatchedNodeOnItsOwnLine) {
  AutogradStep step;
  const auto node = step.backward("AddmmBackward0", step.engine, 30, 40, 77);
  const auto mm = step.op({"aten::mm", step.engine, 31, 39, node});
  const Analysed analysed(step);
  EXPECT_EQ(analysed.owner(node), "train.py:7");
  EXPECT_EQ(analysed.owner(mm), "train.py:7");
  EXPECT_EQ(analysed.operation(node), "AddmmBackward0");
  EXPECT_EQ(analysed.phase(node), Phase::kBackward);
}

TEST(Attribution, SurvivesSequenceNumbersThatJump) {
  AutogradStep step;
  step.op({"aten::linear", step.model(10), 0, 10, kNone, Scope::kFunction, 5});
  step.op({"aten::relu", step.model(20), 10, 20, kNone, Scope::kFunction, std::int64_t{1} << 62});
  step.op({"aten::tanh", step.model(30), 20, 30, kNone, Scope::kFunction, 2});
  const auto jump = step.backward("ReluBackward0", step.engine, 40, 50, std::int64_t{1} << 62);
  const auto node = step.backward("AddmmBackward0", step.engine, 50, 60, 5);
  const Analysed analysed(step);
  EXPECT_EQ(analysed.owner(jump), "train.py:7");
  EXPECT_EQ(analysed.owner(node), "model.py:10");
}

TEST(Attribution, TellsPhasesByFile) {
  AutogradStep step;
  const auto loader = step.op({"aten::stack", step.stack({{"train.py", "step", 2}, kLoader}), 0, 5});
  const auto forward = step.op({"aten::linear", step.model(10), 5, 10});
  const auto loss = step.op({"aten::mse_loss", step.at("train.py", 5), 10, 15});
  const auto adam = step.op({"aten::add_", step.stack({{"train.py", "step", 9}, kOptimizer}), 20, 25});
  const auto own = step.op({"aten::copy_", step.stack({{"data.py", "__iter__", 9}}), 25, 26});
  const Analysed analysed(step);
  EXPECT_EQ(analysed.phase(loader), Phase::kData);
  EXPECT_EQ(analysed.phase(forward), Phase::kForward);
  EXPECT_EQ(analysed.phase(loss), Phase::kForward);
  EXPECT_EQ(analysed.phase(adam), Phase::kOptimizer);
  EXPECT_EQ(analysed.phase(own), Phase::kForward);
  EXPECT_EQ(analysed.owner(adam), "train.py:9");
  EXPECT_EQ(analysed.owner(loader), "train.py:2");
}

TEST(Attribution, TakesUpdatesOfWeightsByHandForTheOptimizer) {
  AutogradStep step;
  const auto line = step.at("train.py", 9);
  const auto scaled = step.op({"aten::mul", line, 1, 2, kNone, Scope::kFunction, -1});
  step.op({"aten::linear", step.model(10), 3, 10, kNone, Scope::kFunction, 5});
  step.op({"AddmmBackward0", step.engine, 20, 30, kNone, Scope::kBackward, 5});
  const auto item = step.op({"aten::item", line, 31, 32, kNone, Scope::kFunction, 7});
  const auto times = step.op({"aten::mul", line, 33, 34, kNone, Scope::kFunction, -1});
  const auto minus = step.op({"aten::sub_", line, 35, 36, kNone, Scope::kFunction, -1});
  const auto again = step.op({"aten::mean", line, 37, 38, kNone, Scope::kFunction, 7});
  const auto measured = step.op({"aten::mean", line, 39, 40, kNone, Scope::kFunction, -1});
  const auto between = step.op({"aten::div_", line, 41, 42, kNone, Scope::kFunction, 7});
  step.op({"AddmmBackward0", step.engine, 43, 44, kNone, Scope::kBackward, 5});
  const auto data = step.op({"aten::add_", line, 45, 46, kNone, Scope::kFunction, 7});
  const auto inside = step.op({"aten::mul", line, 45, 46, data, Scope::kFunction, 7});
  const Analysed analysed(step);
  for (const auto op : {times, minus, data, inside}) {
    EXPECT_EQ(analysed.phase(op), Phase::kOptimizer) << op;
  }
  for (const auto op : {scaled, item, again, measured, between}) {
    EXPECT_EQ(analysed.phase(op), Phase::kForward) << op;
  }
}

TEST(Attribution, NamesOpsInsideANamedRangeByThemselves) {
  AutogradStep step;
  const auto optimizer = step.stack({{"train.py", "step", 9}, kOptimizer});
  const auto range = step.op({"Optimizer.step#SGD.step", optimizer, 20, 40, kNone, Scope::kUser});
  const auto add = step.op({"aten::add_", optimizer, 25, 30, range});
  const Analysed analysed(step);
  EXPECT_EQ(analysed.operation(add), "aten::add_");
  EXPECT_EQ(analysed.phase(range), Phase::kOptimizer);
  EXPECT_TRUE(analysed.attribution.runs_python[range]);
  EXPECT_FALSE(analysed.attribution.runs_python[add]);
}

TEST(PythonPhase, ComesFromTheFramesOutside) {
  AutogradStep step;
  const auto net = step.instance("Net", "");
  const auto in_module = step.stack({{"train.py", "step", 3}, {"model.py", "forward", 10, net}});
  const auto hook = step.child(step.engine, {"train.py", "hook", 30});
  const auto optimizer = step.stack({{"train.py", "step", 9}, kOptimizer});
  const auto closure = step.stack({{"train.py", "step", 9}, kOptimizer, {"train.py", "closure", 12}});
  const auto loader = step.stack({{"train.py", "step", 2}, kLoader, {"data.py", "__getitem__", 12}});
  const auto plain = step.at("train.py", 3);
  const Analysed analysed(step);
  const auto phase = [&](std::uint32_t stack) {
    return python_phase(analysed.tree[analysed.tree.node_of_stack(stack)]);
  };
  EXPECT_EQ(phase(in_module), Phase::kForward);
  EXPECT_EQ(phase(hook), Phase::kBackward);
  EXPECT_EQ(phase(optimizer), Phase::kOptimizer);
  EXPECT_EQ(phase(closure), Phase::kOther);
  EXPECT_EQ(phase(loader), Phase::kData);
  EXPECT_EQ(phase(plain), Phase::kOther);
  EXPECT_EQ(python_phase(analysed.tree[0]), Phase::kOther);
}

TEST(Attribution, TakesTheClosureOfAnOptimizerForWhatItDoes) {
  constexpr testing::Frame kWrapper{"/env/site-packages/torch/optim/optimizer.py", "wrapper", 50};
  constexpr testing::Frame kContext{"/env/site-packages/torch/utils/_contextlib.py", "decorate_context", 120};
  constexpr testing::Frame kZeroGrad{"/env/site-packages/torch/optim/optimizer.py", "zero_grad", 90};
  constexpr testing::Frame kTensor{"/env/site-packages/torch/_tensor.py", "div", 5};
  constexpr testing::Frame kClosure{"train.py", "closure", 12};
  AutogradStep step;
  const auto wrapper = step.stack({{"train.py", "step", 9}, kWrapper});
  const auto optimizer = step.child(wrapper, kOptimizer);
  const auto closure = step.child(optimizer, kClosure);
  const auto own = step.op({"aten::add_", optimizer, 20, 22});
  const auto loss = step.op({"aten::mse_loss", closure, 30, 32});
  const auto decorated = step.op({"aten::sum", step.child(step.child(optimizer, kContext), kClosure), 40, 42});
  const auto zero = step.op({"aten::zero_", step.child(closure, kZeroGrad), 50, 52});
  const auto inside = step.op({"aten::div", step.child(optimizer, kTensor), 60, 62});
  const auto hook = step.op({"aten::norm", step.child(wrapper, {"train.py", "hook", 40}), 70, 72});
  const Analysed analysed(step);
  EXPECT_EQ(analysed.phase(own), Phase::kOptimizer);
  EXPECT_EQ(analysed.phase(loss), Phase::kForward);
  EXPECT_EQ(analysed.phase(decorated), Phase::kForward);
  EXPECT_EQ(analysed.phase(zero), Phase::kOptimizer);
  EXPECT_EQ(analysed.phase(inside), Phase::kOptimizer);
  EXPECT_EQ(analysed.phase(hook), Phase::kOptimizer);
  EXPECT_EQ(analysed.owner(loss), "train.py:12");
}

TEST(CallTree, ExtendsOnlyByFramesBeyondTheOuterStack) {
  AutogradStep step;
  const auto own = step.child(step.engine, {"swish.py", "backward", 44});
  const auto model = step.model(10);
  const auto recording = step.build();
  CallTree tree(recording, testing::project_scope());
  const TreeNode base = tree.node_of_stack(model);
  EXPECT_EQ(tree.extend(base, step.engine, step.engine), base);
  EXPECT_EQ(tree.extend(base, model, own), base);  // not an extension of it
  const TreeNode extended = tree.extend(base, own, step.engine);
  EXPECT_EQ(tree[extended].parent, base);
  EXPECT_EQ(tree[extended].depth, tree[base].depth + 1);
  EXPECT_EQ(tree.extend(base, own, step.engine), extended);
}

}  // namespace
}  // namespace ridgeline::analysis
