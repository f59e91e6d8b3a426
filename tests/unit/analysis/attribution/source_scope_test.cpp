#include "analysis/attribution/source_scope.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/recording_builder.h"

namespace ridgeline::analysis {
namespace {

bool is_user(std::string_view file, std::string root, std::vector<std::string> environments = {}) {
  return is_user_file(file, {std::move(root), std::move(environments)});
}

TEST(UserFile, LiesUnderTheRoot) {
  EXPECT_TRUE(is_user("/base/train.py", "/base"));
  EXPECT_TRUE(is_user("/base/models/deep/net.py", "/base"));
  EXPECT_FALSE(is_user("/elsewhere/train.py", "/base"));
  EXPECT_FALSE(is_user("<frozen importlib._bootstrap>", "/base"));
  EXPECT_FALSE(is_user("", "/base"));
}

TEST(UserFile, IsNotFoundByACommonPrefix) {
  EXPECT_FALSE(is_user("/baseother/train.py", "/base"));
  EXPECT_FALSE(is_user("/base", "/base"));
  EXPECT_TRUE(is_user("/base/envother/train.py", "/base", {"/base/env"}));
}

TEST(UserFile, IsNotInstalledCode) {
  EXPECT_FALSE(is_user("/base/lib/python3.11/site-packages/torch/nn/modules/linear.py", "/base"));
  EXPECT_FALSE(is_user("/base/lib/python3/dist-packages/numpy/core.py", "/base"));
  EXPECT_TRUE(is_user("/base/site-packages.py", "/base"));
}

TEST(UserFile, IsNotInAnEnvironmentInsideTheProject) {
  EXPECT_FALSE(is_user("/base/.venv/lib/python3.11/json/decoder.py", "/base", {"/base/.venv"}));
  EXPECT_TRUE(is_user("/base/train.py", "/base", {"/base/.venv"}));
}

TEST(UserFile, MayLieInAProjectInsideAnEnvironment) {
  EXPECT_TRUE(is_user("/opt/conda/project/train.py", "/opt/conda/project", {"/opt/conda"}));
  EXPECT_TRUE(is_user("/opt/conda/train.py", "/opt/conda", {"/opt/conda"}));
  EXPECT_FALSE(is_user("/opt/conda/lib/python3.11/json.py", "/opt/conda/project", {"/opt/conda"}));
  EXPECT_FALSE(is_user("/opt/conda/lib/python3.11/json.py", "/opt/conda", {"/opt/conda", "/opt/conda/lib/python3.11"}));
}

TEST(UserFile, NeedsARoot) { EXPECT_FALSE(is_user("/base/train.py", "")); }

TEST(DisplayPath, IsRelativeInsideTheProjectOnly) {
  const SourceScope scope{"/base", {}};
  EXPECT_EQ(display_path("/base/models/net.py", scope), "models/net.py");
  EXPECT_EQ(display_path("/baseother/net.py", scope), "/baseother/net.py");
  EXPECT_EQ(display_path("/env/torch/optim/sgd.py", scope), "/env/torch/optim/sgd.py");
}

CodeTraits traits_of(std::string_view file, std::string_view function) {
  testing::RecordingBuilder builder;
  builder.iteration(0, 1);
  builder.code(file, function);
  return code_traits(builder.build(), {"/project", {"/env"}}).at(0);
}

TEST(CodeTraits, KnowTheEngineByItsFileAndName) {
  EXPECT_TRUE(traits_of("/env/torch/autograd/graph.py", "_engine_run_backward").engine);
  EXPECT_FALSE(traits_of("/env/torch/autograd/graph.py", "register_hook").engine);
  EXPECT_FALSE(traits_of("/env/mytorch/autograd/graph.py", "_engine_run_backward").engine);
  EXPECT_FALSE(traits_of("train.py", "_engine_run_backward").engine);
}

TEST(CodeTraits, KnowOptimizersAndLoadersByTheirFiles) {
  EXPECT_TRUE(traits_of("/env/torch/optim/adamw.py", "step").optimizer);
  EXPECT_TRUE(traits_of("/env/torch/amp/grad_scaler.py", "step").optimizer);
  EXPECT_FALSE(traits_of("/env/torch/amp/autocast_mode.py", "__enter__").optimizer);
  EXPECT_TRUE(traits_of("/env/torch/utils/data/_utils/fetch.py", "fetch").data);
  EXPECT_FALSE(traits_of("/env/torch/utils/checkpoint.py", "checkpoint").data);
  EXPECT_TRUE(traits_of("train.py", "step").user);
  EXPECT_FALSE(traits_of("train.py", "step").optimizer);
}

TEST(CodeTraits, HaveFiguresForPackagesOfCode) {
  testing::RecordingBuilder builder;
  builder.iteration(0, 1);
  for (const char* file : {"train.py", "/env/site-packages/nets/net.py", "/env/site-packages/nets_more/net.py",
                           "/env/site-packages/single.py", "/code/editable/src/own/a.py", "/env/torch/optim/sgd.py"}) {
    builder.code(file, "run");
  }
  const SourceScope scope{"/project",
                          {"/env"},
                          {{"nets", {"/env/site-packages/nets"}},
                           {"single", {"/env/site-packages/single.py"}},
                           {"own", {"/elsewhere/own", "/code/editable/src/own"}}}};
  std::vector<bool> has_figures;
  std::vector<bool> user;
  for (const CodeTraits& traits : code_traits(builder.build(), scope)) {
    has_figures.push_back(traits.has_figures);
    user.push_back(traits.user);
  }
  EXPECT_EQ(has_figures, (std::vector<bool>{true, true, false, true, true, false}));
  EXPECT_EQ(user, (std::vector<bool>{true, false, false, false, false, false}));
}

TEST(CodeTraits, TellTheStandardLibraryFromPackages) {
  EXPECT_TRUE(traits_of("/usr/lib/python3.11/contextlib.py", "inner").standard);
  EXPECT_FALSE(traits_of("/env/lib/python3.11/site-packages/nets/net.py", "forward").standard);
  EXPECT_FALSE(traits_of("train.py", "step").standard);
}

}  // namespace
}  // namespace ridgeline::analysis
