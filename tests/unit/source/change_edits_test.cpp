#include "source/change_edits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/source/marked.h"

namespace ridgeline::source {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// An entry file whose iteration provider is `provider`.
std::string entry(std::string_view provider) {
  return "import torch\n\n\ndef model_provider():\n    return Net()\n\n\n" + std::string(provider);
}

/// The text with the changes, or why there is none.
std::string changed(const std::string& text, const std::vector<std::string>& changes) {
  const auto edits = change_edits(parsed(text), changes, "cpu");
  if (!edits) {
    return "refused: " + edits.error().message();
  }
  std::string result = edited(text, *edits);
  EXPECT_FALSE(change_edits(parsed(result), changes, "cpu")) << "it is there already:\n" << result;
  return result;
}

std::string with_lines(std::string text, std::string_view line_end) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += line_end.size()) {
    text.replace(at, 1, line_end);
  }
  return text;
}

// ---- widths of layers

std::string two_layers(std::string_view first, std::string_view second) {
  return "class Net(nn.Module):\n    def __init__(self):\n        self.up = nn." + std::string(first) +
         "\n        self.down = nn." + std::string(second) + "\n";
}

TEST(ChangeEdits, WriteAWidthAndWhatFollows) {
  EXPECT_EQ(changed(two_layers("Linear(64, 1003)", "Linear(1003, 64)"), {"set:up:out_features=1008"}),
            two_layers("Linear(64, 1008)", "Linear(1008, 64)"));
  EXPECT_EQ(changed(two_layers("Linear(64, out_features=1003, bias=False)", "Linear(in_features=1003, out_features=8)"),
                    {"set:net.up:out_features=1008"}),
            two_layers("Linear(64, out_features=1008, bias=False)", "Linear(in_features=1008, out_features=8)"));
  EXPECT_EQ(changed(two_layers("Embedding(99, 60)", "LayerNorm(60)"), {"set:up:embedding_dim=64"}),
            two_layers("Embedding(99, 64)", "LayerNorm(64)"));
}

TEST(ChangeEdits, RefuseAWidthThatIsNotAllToBeSeen) {
  const auto refused = [](const std::string& text, const char* change) { return changed(text, {change}); };
  const std::string usual = two_layers("Linear(64, 1003)", "Linear(1003, 64)");
  EXPECT_THAT(refused(two_layers("Linear(64, width)", "Linear(width, 64)"), "set:up:out_features=1008"),
              HasSubstr("is not a number in its call"));
  EXPECT_THAT(refused(usual + "x = 1003\n", "set:up:out_features=1008"), HasSubstr("1003 stands at other places"));
  EXPECT_THAT(refused(two_layers("Linear(64, 1003)", "Linear(64, 1003)"), "set:up:out_features=1008"),
              HasSubstr("What gets the outputs of `up`"));
  for (const char* change : {"set:left:out_features=8", "set:up:in_features=8", "set:Linear:out_features=8"}) {
    EXPECT_THAT(refused(usual, change), HasSubstr("is not to be seen")) << change;
  }
  EXPECT_THAT(refused(usual, "set:up:out_features=1003"), HasSubstr("already"));
  EXPECT_THAT(refused(usual, "set:up"), HasSubstr("Write set:MODULE"));
}

// ---- optimizers

/// `after` in the place of `before`, a call of an optimizer in an entry file.
void expect_optimizer(std::string_view change, std::string_view before, std::string_view after) {
  SCOPED_TRACE(before);
  const auto with = [](std::string_view call) {
    return entry("def iteration_provider(model):\n    optimizer = " + std::string(call) + "\n    return step\n");
  };
  EXPECT_EQ(changed(with(before), {std::string(change)}), with(after));
  EXPECT_EQ(changed(with_lines(with(before), "\r\n"), {std::string(change)}), with_lines(with(after), "\r\n"));
}

TEST(ChangeEdits, AddAnArgumentToTheOptimizer) {
  expect_optimizer("fused-optimizer", "torch.optim.SGD(model.parameters(), lr=0.1)",
                   "torch.optim.SGD(model.parameters(), lr=0.1, fused=True)");
  expect_optimizer("foreach-optimizer", "Adam(model.parameters())", "Adam(model.parameters(), foreach=True)");
  expect_optimizer("fused-optimizer", "optim.AdamW(model.parameters(), lr=1,)",
                   "optim.AdamW(model.parameters(), lr=1, fused=True)");
}

TEST(ChangeEdits, FollowTheLayoutOfTheArguments) {
  expect_optimizer(
      "fused-optimizer", "torch.optim.SGD(\n        model.parameters(),\n        lr=0.1,  # high\n    )",
      "torch.optim.SGD(\n        model.parameters(),\n        lr=0.1,\n        fused=True,  # high\n    )");
  expect_optimizer("fused-optimizer", "torch.optim.SGD(\n        model.parameters(),\n        lr=0.1\n    )",
                   "torch.optim.SGD(\n        model.parameters(),\n        lr=0.1, fused=True\n    )");
}

TEST(ChangeEdits, ChangeArgumentsThatAreThere) {
  expect_optimizer("fused-optimizer", "SGD(model.parameters(), fused=False, lr=1)",
                   "SGD(model.parameters(), fused=True, lr=1)");
  expect_optimizer("fused-optimizer", "SGD(model.parameters(), foreach=True)",
                   "SGD(model.parameters(), foreach=False, fused=True)");
  expect_optimizer("foreach-optimizer", "SGD(model.parameters(), foreach=None, fused=None)",
                   "SGD(model.parameters(), foreach=True, fused=None)");
}

TEST(ChangeEdits, ChangeAllOptimizersOfTheStep) {
  const auto with = [](std::string_view argument) {
    return entry("def iteration_provider(model):\n    a = torch.optim.SGD(model.a.parameters(), lr=1" +
                 std::string(argument) + ")\n    b = torch.optim.Adam(model.b.parameters()" + std::string(argument) +
                 ")\n    return step\n") +
           "\n\ndef main():\n    other = torch.optim.SGD(parameters)\n";
  };
  EXPECT_EQ(changed(with(""), {"fused-optimizer"}), with(", fused=True"));
}

TEST(ChangeEdits, FindTheOnlyOptimizerOfTheFile) {
  const std::string helper = "\n\ndef make_optimizer(model):\n    return torch.optim.Adam(model.parameters())\n";
  const std::string provider = entry("def iteration_provider(model):\n    return make(make_optimizer(model))\n");
  EXPECT_THAT(changed(provider + helper, {"fused-optimizer"}), HasSubstr("Adam(model.parameters(), fused=True)"));
  EXPECT_THAT(changed(provider + helper + helper, {"fused-optimizer"}), HasSubstr("refused: Which optimizer"));
}

TEST(ChangeEdits, RefuseOptimizersWhoseArgumentsAreElsewhere) {
  const auto refused = [](std::string_view call) {
    return changed(
        entry("def iteration_provider(model):\n    optimizer = " + std::string(call) + "\n    return step\n"),
        {"fused-optimizer"});
  };
  EXPECT_THAT(refused("SGD(model.parameters(), **options)"), HasSubstr("refused: SGD gets arguments"));
  EXPECT_THAT(refused("SGD(*arguments)"), HasSubstr("refused: SGD gets arguments"));
  EXPECT_THAT(refused("SGD(model.parameters(), fused=on_gpu)"), HasSubstr("refused: `fused` of SGD is chosen"));
  EXPECT_THAT(refused("SGD(p for p in model.parameters())"), HasSubstr("refused: The arguments of SGD"));
  EXPECT_THAT(refused("SGD()"), HasSubstr("refused: The arguments of SGD"));
  EXPECT_THAT(refused("Lion(model.parameters())"), HasSubstr("refused: No optimizer"));
  EXPECT_THAT(refused("RMSprop(model.parameters())"), HasSubstr("refused: No optimizer"));  // has no fused one
}

// ---- autocast

std::string iteration(std::string_view body) {
  return entry("def iteration_provider(model: nn.Module):\n    def iteration(images, labels):\n" + std::string(body) +
               "\n    return iteration\n");
}

void expect_autocast(std::string_view before, std::string_view after) {
  SCOPED_TRACE(before);
  EXPECT_EQ(changed(iteration(before), {"bf16-autocast"}), iteration(after));
  EXPECT_EQ(changed(with_lines(iteration(before), "\r\n"), {"bf16-autocast"}), with_lines(iteration(after), "\r\n"));
}

TEST(ChangeEdits, WrapForwardAndTheLoss) {
  expect_autocast(
      "        optimizer.zero_grad()\n"
      "        logits = model(images)\n"
      "        loss = criterion(\n"
      "            logits,\n"
      "\n"
      "            labels)\n"
      "        loss.backward()\n"
      "        optimizer.step()\n",
      "        optimizer.zero_grad()\n"
      "        with torch.autocast(\"cpu\", dtype=torch.bfloat16):\n"
      "            logits = model(images)\n"
      "            loss = criterion(\n"
      "                logits,\n"
      "\n"
      "                labels)\n"
      "        loss.backward()\n"
      "        optimizer.step()\n");
}

TEST(ChangeEdits, WrapAllThatTheTrialHasUnderAutocast) {
  expect_autocast(
      "        \"\"\"One step.\"\"\"\n"
      "        # noise\n"
      "        model.train()\n"
      "        noise = images @ mixing\n"
      "        rebuilt = model(noise)\n"
      "        loss = F.binary_cross_entropy(rebuilt, images)\n"
      "        loss.backward()\n",
      "        \"\"\"One step.\"\"\"\n"
      "        # noise\n"
      "        model.train()\n"
      "        with torch.autocast(\"cpu\", dtype=torch.bfloat16):\n"
      "            noise = images @ mixing\n"
      "            rebuilt = model(noise)\n"
      "            loss = F.binary_cross_entropy(rebuilt, images)\n"
      "        loss.backward()\n");
}

TEST(ChangeEdits, WrapInsideALoop) {
  expect_autocast(
      "        for part in images.chunk(2):\n"
      "            loss = model(part).sum()  # of a half\n"
      "            loss.backward()\n",
      "        for part in images.chunk(2):\n"
      "            with torch.autocast(\"cpu\", dtype=torch.bfloat16):\n"
      "                loss = model(part).sum()  # of a half\n"
      "            loss.backward()\n");
}

TEST(ChangeEdits, KeepTabs) {
  const auto with = [](std::string_view body) {
    return "import torch\ndef iteration_provider(model):\n\tdef step(x):\n" + std::string(body) + "\treturn step\n";
  };
  EXPECT_EQ(changed(with("\t\ty = model(x)\n\t\ty.backward()\n"), {"bf16-autocast"}),
            with("\t\twith torch.autocast(\"cpu\", dtype=torch.bfloat16):\n\t\t\ty = model(x)\n\t\ty.backward()\n"));
}

TEST(ChangeEdits, RefuseForwardThatCannotBeWrapped) {
  const auto refused = [](std::string_view body) { return changed(iteration(body), {"bf16-autocast"}); };
  EXPECT_THAT(refused("        model(images).sum().backward()\n"), HasSubstr("refused: Forward and backward are one"));
  EXPECT_THAT(refused("        loss = model(images); loss.backward()\n"), HasSubstr("refused: Forward shares a line"));
  EXPECT_THAT(refused("        loss = model(images)\n        engine.step(loss)\n"),
              HasSubstr("refused: Where forward ends"));
  EXPECT_THAT(refused("        loss = model(images, \"\"\"\n  text\"\"\")\n        loss.backward()\n"),
              HasSubstr("refused: Forward has a string"));
  EXPECT_THAT(refused("        loss = engine(images)\n        loss.backward()\n"),
              HasSubstr("refused: Which function"));
  EXPECT_THAT(
      refused("        with torch.autocast(\"cpu\"):\n            loss = model(images)\n        loss.backward()\n"),
      HasSubstr("refused: The code uses autocast"));
  EXPECT_THAT(refused("        loss = model(images)\n        loss.backward()\n"
                      "        other(images).sum().backward()\n"),
              HasSubstr("refused: The step goes on with forward"));
  std::string without = iteration("        loss = model(images)\n        loss.backward()\n");
  without.replace(0, 12, "import torch as t");
  EXPECT_THAT(changed(without, {"bf16-autocast"}), HasSubstr("refused: The file does not import torch"));
}

// ---- others

TEST(ChangeEdits, GiveTheModelItsMemoryFormat) {
  EXPECT_THAT(changed(entry(""), {"channels-last"}),
              HasSubstr("    return Net().to(memory_format=torch.channels_last)\n"));
  const std::string choice = "import torch\ndef model_provider():\n    return Net() if small else Big()\n";
  EXPECT_THAT(changed(choice, {"channels-last"}),
              HasSubstr("return (Net() if small else Big()).to(memory_format=torch.channels_last)\n"));
}

TEST(ChangeEdits, CheckpointTheModulesThatAreNamed) {
  const std::string head =
      "import torch\nfrom functools import partial\nfrom torch.utils.checkpoint import checkpoint\n\n\n"
      "def model_provider():\n";
  const std::string loop =
      "        block = model.get_submodule(path)\n"
      "        block.forward = partial(checkpoint, block.forward, use_reentrant=False)\n    return model\n";
  EXPECT_EQ(
      changed(entry(""), {"checkpoint:h.0..11,head"}),
      head + "    model = Net()\n    for path in [*(f\"h.{i}\" for i in range(0, 12)), \"head\"]:\n" + loop + "\n\n");
  const std::string named =
      "import torch\n\n\ndef model_provider():\n    model = Net().to(\"cpu\")\n    return model\n";
  EXPECT_EQ(changed(named, {"checkpoint:h.2"}),
            head + "    model = Net().to(\"cpu\")\n    for path in [\"h.2\"]:\n" + loop);
  for (const char* change : {"checkpoint:", "checkpoint:h.\"", "checkpoint:h..3", "checkpoint:h.0..",
                             "checkpoint:h.0..x", "checkpoint:a,,b", "checkpoint:h.0..9999999"}) {
    EXPECT_THAT(changed(entry(""), {change}), HasSubstr("refused: ")) << change;
  }
  EXPECT_THAT(changed("import torch\ndef model_provider():\n    block = Net()\n    return block\n", {"checkpoint:h.2"}),
              HasSubstr("refused: The model provider uses the name `block`"));
}

TEST(ChangeEdits, WriteEachChangeOfModulesOfAPlan) {
  const std::string all = changed(entry(""), {"checkpoint:h.0", "selective-checkpoint:h.1..2", "offload:h.3,head"});
  EXPECT_THAT(all, StartsWith("import torch\nfrom functools import partial\n"
                              "from torch.autograd.graph import save_on_cpu\n"
                              "from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts\n"
                              "\n\ndef model_provider():\n    model = Net()\n    for path in [\"h.0\"]:\n"));
  EXPECT_THAT(all, HasSubstr("    contexts = partial(create_selective_checkpoint_contexts, kept)\n"
                             "    for path in [*(f\"h.{i}\" for i in range(1, 3))]:\n"
                             "        block = model.get_submodule(path)\n"
                             "        block.forward = partial(\n"
                             "            checkpoint, block.forward, use_reentrant=False, context_fn=contexts\n"
                             "        )\n"));
  EXPECT_THAT(all, HasSubstr("\n\n    def offloaded(forward):\n        def run(*inputs, **options):\n"
                             "            with save_on_cpu(pin_memory=True):\n"
                             "                return forward(*inputs, **options)\n\n        return run\n\n"
                             "    for path in [\"h.3\", \"head\"]:\n        block = model.get_submodule(path)\n"
                             "        block.forward = offloaded(block.forward)\n    return model\n"));
  EXPECT_THAT(changed(entry(""), {"offload"}), HasSubstr("refused: This change is for you to write"));
  EXPECT_THAT(changed("from torch import nn\ndef model_provider():\n    return Net()\n", {"selective-checkpoint:h.2"}),
              HasSubstr("refused: The file does not import torch"));
}

TEST(ChangeEdits, AreMadeTogether) {
  const std::string both = changed(
      entry("def iteration_provider(model):\n    optimizer = torch.optim.SGD(model.parameters())\n\n"
            "    def iteration(x):\n        loss = model(x)\n        loss.backward()\n\n    return iteration\n"),
      {"fused-optimizer", "bf16-autocast", "channels-last"});
  EXPECT_THAT(both, HasSubstr("SGD(model.parameters(), fused=True)\n"));
  EXPECT_THAT(both, HasSubstr("            loss = model(x)\n        loss.backward()"));
  EXPECT_THAT(both, HasSubstr("Net().to(memory_format"));
}

TEST(ChangeEdits, LeaveTheRestToTheUser) {
  EXPECT_THAT(changed(entry(""), {"compile"}), HasSubstr("refused: This change is for you"));
  EXPECT_THAT(changed(entry("def iteration_provider(model:\n"), {"channels-last"}),
              HasSubstr("refused: The file has a"));
}

// ---- buckets of DistributedDataParallel

/// The text with a bucket size, or why there is none.
std::string with_bucket_size(std::string text) {
  const auto edit = bucket_size_edit(parsed(text), "8");
  if (!edit) {
    return "refused: " + edit.error().message();
  }
  return text.replace(edit->span.begin, edit->span.end - edit->span.begin, edit->replacement);
}

TEST(BucketSizeEdit, AddsOrReplacesTheArgument) {
  EXPECT_EQ(with_bucket_size("model = DDP(net)\n"), "model = DDP(net, bucket_cap_mb=8)\n");
  EXPECT_EQ(with_bucket_size("m = torch.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=cap * 2)\n"),
            "m = torch.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=8)\n");
  EXPECT_EQ(with_bucket_size("m = DDP(\n    net,\n    device_ids=[0],\n)\n"),
            "m = DDP(\n    net,\n    device_ids=[0],\n    bucket_cap_mb=8,\n)\n");
}

TEST(BucketSizeEdit, SaysWhyItCannotBeWritten) {
  EXPECT_THAT(with_bucket_size("model = wrap(net)\n"), HasSubstr("does not construct"));
  EXPECT_THAT(with_bucket_size("a = DDP(x)\nb = DDP(y)\n"), HasSubstr("several times"));
  EXPECT_THAT(with_bucket_size("a = DDP(net, **options)\n"), HasSubstr("not written in its call"));
  EXPECT_THAT(with_bucket_size("a = DDP()\n"), HasSubstr("cannot be edited"));
  EXPECT_THAT(with_bucket_size("a = DDP(net\n"), HasSubstr("syntax error"));
}

}  // namespace
}  // namespace ridgeline::source
