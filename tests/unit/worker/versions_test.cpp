// Which interpreters and torches the agent is made for.
#include "worker/versions.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "worker/embedded_sources.h"

namespace ridgeline::worker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

protocol::WorkerEnvironment environment_of(int python_minor = 11, const std::string& torch = "2.13.0") {
  protocol::WorkerEnvironment environment;
  environment.python = "3." + std::to_string(python_minor) + ".1";
  environment.python_minor = python_minor;
  environment.implementation = "CPython";
  environment.python_tag = "cpython-3" + std::to_string(python_minor) + "-x86_64-linux-gnu";
  environment.torch = torch;
  return environment;
}

std::string kind_of(const protocol::WorkerEnvironment& environment) {
  const std::optional<protocol::Failure> failure = unsupported(environment);
  return std::string(failure.has_value() ? protocol::name_of(failure->kind) : "");
}

TEST(Versions, TakesThePythonsWhoseFramesItKnows) {
  for (int minor = 6; minor < 20; ++minor) {
    const std::string frames = "profiler/agent/frames_3" + std::to_string(minor) + ".h";
    const bool known = std::ranges::any_of(embedded_files(), [&](const auto& file) { return file.path == frames; });
    EXPECT_EQ(kind_of(environment_of(minor)), known ? "" : "python-unsupported") << minor;
  }
}

TEST(Versions, TakesOnlyTheUsualBuildsOfCPython) {
  protocol::WorkerEnvironment other = environment_of();
  other.implementation = "PyPy";
  ASSERT_EQ(kind_of(other), "python-unsupported");
  EXPECT_THAT(unsupported(other)->message, AllOf(HasSubstr("PyPy"), HasSubstr("3.10 to 3.14"), HasSubstr("--python")));
  other = environment_of(13);
  other.python_tag = "cpython-313t-x86_64-linux-gnu";
  ASSERT_EQ(kind_of(other), "python-unsupported");
  EXPECT_THAT(unsupported(other)->message, HasSubstr("free-threaded"));
  other.python_tag = "cpython-313d-x86_64-linux-gnu";
  ASSERT_EQ(kind_of(other), "python-unsupported");
  EXPECT_THAT(unsupported(other)->message, HasSubstr("debug"));
  other.python_tag = "cpython-313";
  EXPECT_EQ(kind_of(other), "");
}

TEST(Versions, RefusesATorchThatIsTooOld) {
  for (const char* torch : {"1.13.1", "2.3.1+cu121"}) {
    ASSERT_EQ(kind_of(environment_of(11, torch)), "torch-unsupported") << torch;
    EXPECT_THAT(unsupported(environment_of(11, torch))->message, AllOf(HasSubstr(torch), HasSubstr("2.4 to 2.15")));
  }
  for (const char* torch : {"2.4.0", "2.10.0a0+git1234", "2.15.1+cpu", "2.16.0", "3.0.0", "a fork"}) {
    EXPECT_EQ(kind_of(environment_of(11, torch)), "") << torch;
  }
}

TEST(Versions, SaysThatATorchIsNewerThanAllThatWereTested) {
  for (const char* torch : {"2.4.0", "2.10.0a0+git1234", "2.15.1+cpu"}) {
    EXPECT_EQ(untested_torch(environment_of(11, torch)), "") << torch;
  }
  for (const char* torch : {"2.16.0", "3.0.0", "a fork"}) {
    EXPECT_THAT(untested_torch(environment_of(11, torch)), AllOf(HasSubstr(torch), HasSubstr("2.4 to 2.15"))) << torch;
  }
}

TEST(Versions, KnowsTheStandardOfTheHeaders) {
  EXPECT_EQ(cpp_standard(environment_of(11, "2.4.1")), "c++17");
  EXPECT_EQ(cpp_standard(environment_of(11, "2.9.1")), "c++17");
  EXPECT_EQ(cpp_standard(environment_of(11, "2.13.0")), "c++20");
  EXPECT_EQ(cpp_standard(environment_of(11, "a fork")), "c++20");
}

}  // namespace
}  // namespace ridgeline::worker
