#include "worker/interpreter.h"

#include <gtest/gtest.h>

#include "tests/unit/worker/places.h"
#include "worker/machine.h"

namespace ridgeline::worker {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;
using testing::Variable;

constexpr std::string_view kScript = "#!/bin/sh\n";

/// A project with an entry at src/train/entry.py, and nothing on PATH nor active.
struct Project {
  TemporaryFolder folder;
  Variable active{"VIRTUAL_ENV", std::nullopt};
  Variable path{"PATH", (folder / "bin").string()};
  std::string root = folder / "project";
  std::string entry = folder.file("project/src/train/entry.py", "");

  Interpreter find(const std::string& wanted = "") const { return find_interpreter(wanted, entry, root); }
  std::string program(std::string_view name) const { return folder.program(name, kScript).string(); }
};

TEST(FindInterpreter, TakesTheWantedPath) {
  const Project project;
  project.program("project/.venv/bin/python");
  const std::string wanted = project.program("elsewhere/python");
  EXPECT_EQ(project.find(wanted).path, wanted);
  EXPECT_EQ(project.find(wanted).source, "--python");
}

TEST(FindInterpreter, FindsAWantedNameOnThePath) {
  const Project project;
  const std::string wanted = project.program("bin/python3.11");
  EXPECT_EQ(project.find("python3.11").path, wanted);
  EXPECT_EQ(project.find("python3.12").path, "");
}

TEST(FindInterpreter, DoesNotReplaceAWantedOneThatIsMissing) {
  const Project project;
  project.program("project/.venv/bin/python");
  EXPECT_EQ(project.find(project.folder / "none").path, "");
  EXPECT_EQ(project.find(project.folder.file("plain", "")).path, "");  // not a program
  EXPECT_EQ(project.find(project.folder.path().string()).path, "");    // a folder
}

TEST(FindInterpreter, TakesTheNearestEnvironmentOfTheProject) {
  const Project project;
  const std::string outer = project.program("project/.venv/bin/python");
  EXPECT_EQ(project.find().path, outer);
  EXPECT_EQ(project.find().source, ".venv of the project");
  const std::string inner = project.program("project/src/venv/bin/python");
  EXPECT_EQ(project.find().path, inner);
  EXPECT_EQ(project.find().source, "venv of the project");
}

TEST(FindInterpreter, KeepsTheLinkOfAnEnvironment) {
  const Project project;
  const std::string real = project.program("real/python3.11");
  fs::create_directories(project.folder / "project/.venv/bin");
  fs::create_symlink(real, project.folder / "project/.venv/bin/python");
  EXPECT_EQ(project.find().path, (project.folder / "project/.venv/bin/python").string());
}

TEST(FindInterpreter, DoesNotLookAboveTheProject) {
  const Project project;
  project.program(".venv/bin/python");
  const std::string on_path = project.program("bin/python3");
  EXPECT_EQ(project.find().path, on_path);
}

TEST(FindInterpreter, TakesTheActiveEnvironmentAndThenThePath) {
  const Project project;
  EXPECT_EQ(project.find().path, "");
  const std::string on_path = project.program("bin/python3");
  EXPECT_EQ(project.find().path, on_path);
  EXPECT_EQ(project.find().source, "PATH");
  const std::string in_environment = project.program("environment/bin/python");
  const Variable active("VIRTUAL_ENV", (project.folder / "environment").string());
  EXPECT_EQ(project.find().path, in_environment);
  EXPECT_EQ(project.find().source, "VIRTUAL_ENV");
}

TEST(FindInterpreter, PassesOverAnActiveEnvironmentThatIsGone) {
  const Project project;
  const std::string on_path = project.program("bin/python3");
  const Variable active("VIRTUAL_ENV", (project.folder / "gone").string());
  EXPECT_EQ(project.find().path, on_path);
}

/// A virtual environment at env with ridgeline in it, as pip installs it.
struct Environment {
  TemporaryFolder folder;
  std::string python = folder.program("env/bin/python", kScript).string();
  std::string ridgeline = folder.program("env/bin/ridgeline", kScript).string();

  void install(const std::string& package) const { folder.file("env/lib/python3.12/site-packages/" + package, ""); }
};

TEST(InterpreterBeside, IsThatOfAnEnvironmentWithTorch) {
  const Environment environment;
  environment.install("torch/__init__.py");
  EXPECT_EQ(interpreter_beside(environment.ridgeline), environment.python);
}

TEST(InterpreterBeside, CountsTorchInEditableMode) {
  const Environment environment;
  environment.install("torch-2.13.0a0+git1234.dist-info/METADATA");
  EXPECT_EQ(interpreter_beside(environment.ridgeline), environment.python);
}

TEST(InterpreterBeside, IsNotThatOfAToolsOwnEnvironment) {
  const Environment environment;
  EXPECT_EQ(interpreter_beside(environment.ridgeline), "");
  environment.install("torchmetrics/__init__.py");
  EXPECT_EQ(interpreter_beside(environment.ridgeline), "");
}

TEST(InterpreterBeside, IsNoneWhereNoPythonIs) {
  const Environment environment;
  environment.install("torch/__init__.py");
  fs::remove(environment.python);
  EXPECT_EQ(interpreter_beside(environment.ridgeline), "");
  EXPECT_EQ(interpreter_beside("/nowhere/bin/ridgeline"), "");
  EXPECT_EQ(interpreter_beside(""), "");
}

TEST(FindProjectRoot, IsTheNearestFolderThatLooksLikeOne) {
  const TemporaryFolder folder;
  const std::string entry = folder.file("outer/inner/src/entry.py", "");
  folder.file("outer/.git/HEAD", "");
  EXPECT_EQ(find_project_root(entry), (folder / "outer").string());
  folder.file("outer/inner/pyproject.toml", "");
  EXPECT_EQ(find_project_root(entry), (folder / "outer/inner").string());
}

TEST(FindProjectRoot, IsTheEntrysFolderWhereNothingLooksLikeOne) {
  const TemporaryFolder folder;
  const std::string entry = folder.file("alone/entry.py", "");
  EXPECT_EQ(find_project_root(entry), (folder / "alone").string());
}

TEST(Machine, KnowsItself) {
  EXPECT_GT(memory_capacity(), std::uint64_t{64} << 20U);
  EXPECT_GT(memory_available(), 0U);
  EXPECT_LE(memory_available(), memory_capacity());
  EXPECT_FALSE(processor_name().empty());
}

}  // namespace
}  // namespace ridgeline::worker
