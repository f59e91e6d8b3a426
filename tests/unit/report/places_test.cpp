#include "report/places.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ridgeline::report {
namespace {

struct Project {
  std::string entry;
  std::string root;
  std::vector<std::string> files{};
};

std::string name(const std::string& file, const Project& project) {
  analysis::Profile profile;
  profile.entry_path = project.entry;
  profile.project_root = project.root;
  for (const std::string& owner : project.files) {
    profile.lines.emplace_back().location = {owner, 1};
  }
  return Places(profile).name({file, 42});
}

TEST(Places, AreNamedFromTheEntrysFolder) {
  const Project project = {"/tree/examples/resnet50/entry.py", "/tree"};
  EXPECT_EQ(name("examples/resnet50/entry.py", project), "entry.py:42");
  EXPECT_EQ(name("examples/resnet50/blocks/conv.py", project), "blocks/conv.py:42");
}

TEST(Places, AreNamedFromTheProjectElsewhere) {
  const Project project = {"/tree/examples/resnet50/entry.py", "/tree"};
  EXPECT_EQ(name("training/step.py", project), "training/step.py:42");
  EXPECT_EQ(name("examples/resnet50x/step.py", project), "examples/resnet50x/step.py:42");
  EXPECT_EQ(name("/usr/lib/python3/abc.py", project), "/usr/lib/python3/abc.py:42");
  EXPECT_EQ(name("", project), "");
}

TEST(Places, AreNamedFromAnEntryInOrOutsideOfTheRoot) {
  EXPECT_EQ(name("models/a.py", {"/tree/entry.py", "/tree"}), "models/a.py:42");
  EXPECT_EQ(name("models/a.py", {"/tree/entry.py", "/tree/"}), "models/a.py:42");
  EXPECT_EQ(name("/runs/7/a.py", {"/runs/7/entry.py", "/tree"}), "a.py:42");
  EXPECT_EQ(name("models/a.py", {"", ""}), "models/a.py:42");
}

TEST(Places, PackagesAreNamedFromWhereTheyAreInstalled) {
  const Project project = {"/tree/entry.py", "/tree"};
  EXPECT_EQ(name("/env/lib/python3.11/site-packages/nets/net.py", project), "nets/net.py:42");
  EXPECT_EQ(name(".venv/lib/python3.11/site-packages/nets/net.py", project), "nets/net.py:42");
  const std::string installed = "/env/site-packages/nets/net.py";
  EXPECT_EQ(name(installed, {"/tree/entry.py", "/tree", {"nets/net.py", installed}}), installed + ":42");
  EXPECT_EQ(name("nets/net.py", {"/tree/entry.py", "/tree", {"nets/net.py", installed}}), "nets/net.py:42");
}

TEST(Places, CodePackagesAreNamedFromTheFolderThatHoldsThem) {
  analysis::Profile profile;
  profile.project_root = "/tree";
  profile.code = {
      {"nets", {"/home/me/nets/src/nets"}}, {"deep.inner", {"/home/me/deep/inner"}}, {"one", {"/home/me/one.py"}}};
  const Places places(profile);
  EXPECT_EQ(places.name({"/home/me/nets/src/nets/net.py", 42}), "nets/net.py:42");
  EXPECT_EQ(places.name({"/home/me/deep/inner/net.py", 42}), "deep/inner/net.py:42");
  EXPECT_EQ(places.name({"/home/me/one.py", 42}), "one.py:42");
}

TEST(Places, KeepApartWhatWouldGetOneName) {
  const std::vector<std::string> files = {"utils.py", "train/utils.py"};
  EXPECT_EQ(name("utils.py", {"/tree/train/entry.py", "/tree", files}), "utils.py:42");
  EXPECT_EQ(name("train/utils.py", {"/tree/train/entry.py", "/tree", files}), "train/utils.py:42");
  EXPECT_EQ(name("train/utils.py", {"/tree/train/entry.py", "/tree", {"train/utils.py"}}), "utils.py:42");
}

TEST(Places, ArePrintable) { EXPECT_EQ(name("a\x1b.py", {"/tree/entry.py", "/tree"}), "a\uFFFD.py:42"); }

}  // namespace
}  // namespace ridgeline::report
