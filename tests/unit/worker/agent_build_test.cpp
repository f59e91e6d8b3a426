// Building the agent with compilers that are scripts: what happens when they fail, hang or are missing.
#include "worker/agent_build.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "base/content_hash.h"
#include "tests/unit/worker/places.h"
#include "worker/cache.h"
#include "worker/versions.h"

namespace ridgeline::worker {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::TemporaryFolder;
using testing::Variable;

protocol::WorkerEnvironment environment() {
  protocol::WorkerEnvironment environment;
  environment.python = "3.11.9";
  environment.python_minor = 11;
  environment.implementation = "CPython";
  environment.torch = "2.5.1+cpu/odd name";
  environment.python_tag = "cpython-311";
  environment.include_dirs = {"/env/include"};
  environment.library_dirs = {"/env/lib"};
  return environment;
}

class AgentBuild : public ::testing::Test, private AgentBuildListener {
 protected:
  AgentBuild() { sources_ = *unpack_sources(cache_.path().string()); }

  /// Makes the script the compiler. It finds the file it shall write after -o, in $output.
  void compiler(const std::string& script) {
    const std::string find_output = "#!/bin/sh\nfor word; do [ \"$last\" = -o ] && output=$word; last=$word; done\n";
    compiler_.emplace("CXX", folder_.program("compiler", find_output + script).string());
  }

  void start(const protocol::WorkerEnvironment& wanted = environment()) {
    builder_.start(wanted, sources_, cache_.path().string());
  }
  void on_build_progress(double fraction) override { fractions_.push_back(fraction); }
  void on_build_end(const std::optional<protocol::Failure>& failure) override {
    ++done_;
    kind_ = failure.has_value() ? protocol::name_of(failure->kind) : "";
    message_ = failure.has_value() ? failure->message : "";
  }
  void finish() {
    ASSERT_TRUE(testing::run_until(loop_, [this] { return done_ > 0; }));
    expect_nothing_left();
    EXPECT_EQ(done_, 1);
  }
  void expect_nothing_left() {
    EXPECT_TRUE(testing::run_until(loop_, [] { return testing::living_children().empty(); }));
    if (fs::exists(cache_ / "agents")) {
      for (const fs::directory_entry& entry : fs::directory_iterator(cache_ / "agents")) {
        EXPECT_NE(entry.path().extension(), ".build") << entry.path();
      }
    }
  }
  bool is_usable() const { return has_agent(cache_.path().string(), environment()); }
  bool agent_exists() const { return fs::exists(agent_path(cache_.path().string(), environment())); }

  TemporaryFolder folder_;
  TemporaryFolder cache_;
  std::string sources_;
  std::optional<Variable> compiler_;
  boost::asio::io_context loop_;
  Reaper reaper_{loop_};
  AgentBuilder builder_{reaper_, *this};
  std::vector<double> fractions_;
  int done_ = 0;
  std::string kind_;
  std::string message_;
};

TEST_F(AgentBuild, PublishesWhatTheCompilerMade) {
  compiler("echo \"$*\" > \"$output\"\n");
  start();
  finish();
  EXPECT_EQ(kind_, "") << message_;
  const std::string agent = agent_path(cache_.path().string(), environment());
  const std::string link = testing::content_of(agent);
  EXPECT_THAT(link, HasSubstr("-shared"));
  EXPECT_THAT(link, HasSubstr("frames.o"));
  EXPECT_THAT(link, HasSubstr("-L/env/lib"));
  EXPECT_EQ(fs::path(agent).parent_path().parent_path(), cache_ / "agents") << "no folder from an odd version";
  EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(agent).parent_path()), fs::directory_iterator()), 2)
      << "the agent and its identity";
  EXPECT_TRUE(std::ranges::is_sorted(fractions_));
  EXPECT_EQ(fractions_.back(), 1);
}

TEST_F(AgentBuild, PassesTheAbiAndTheIncludes) {
  compiler("case \"$*\" in */frames.cpp*) echo \"$*\" > " + (folder_ / "words").string() +
           ";; esac; : > \"$output\"\n");
  start();
  finish();
  const std::string words = testing::content_of(folder_ / "words");
  EXPECT_THAT(words, HasSubstr("-std=c++17"));
  EXPECT_THAT(words, HasSubstr("-D_GLIBCXX_USE_CXX11_ABI=1"));
  EXPECT_THAT(words, HasSubstr("-isystem /env/include"));
}

TEST_F(AgentBuild, AddsTheFlagsOfTheEnvironmentForTheCompilerAndTheLinker) {
  const std::string plain = agent_path(cache_.path().string(), environment());
  const Variable flags("RIDGELINE_AGENT_FLAGS", "-Wall  -fsanitize=address");
  compiler("echo \"$*\" > \"$output\"\ncase \"$*\" in */frames.cpp*) echo \"$*\" > " + (folder_ / "words").string() +
           ";; esac\n");
  start();
  finish();
  EXPECT_EQ(kind_, "") << message_;
  const std::string agent = agent_path(cache_.path().string(), environment());
  EXPECT_NE(agent, plain);
  EXPECT_THAT(testing::content_of(folder_ / "words"), HasSubstr(" -Wall -fsanitize=address "));
  EXPECT_THAT(testing::content_of(agent), HasSubstr(" -Wall -fsanitize=address"));
}

TEST_F(AgentBuild, OneThatWasDamagedCountsAsNoneAndIsReplaced) {
  compiler("echo \"$*\" > \"$output\"\n");
  EXPECT_FALSE(is_usable());
  start();
  finish();
  EXPECT_TRUE(is_usable());
  const std::string agent = agent_path(cache_.path().string(), environment());
  const std::string sum = (fs::path(agent).parent_path() / "_ridgeline_agent.sum").string();
  const std::string whole = testing::content_of(agent);
  const std::vector<std::function<void()>> damages = {
      [&] { fs::resize_file(agent, 10); },
      [&] { fs::resize_file(agent, 0); },
      [&] { std::fstream(agent, std::ios::in | std::ios::out) << std::string(5, '\0'); },
      [&] { fs::resize_file(sum, 3); },
      [&] { fs::remove(sum); },
      [&] { fs::remove(agent); },
  };
  for (const auto& damage : damages) {
    damage();
    EXPECT_FALSE(is_usable());
    done_ = 0;
    start();
    finish();
    EXPECT_EQ(kind_, "") << message_;
    EXPECT_TRUE(is_usable());
    EXPECT_EQ(testing::content_of(agent).size(), whole.size());
  }
}

/// Bytes that this process has read from files so far.
std::size_t bytes_read() {
  std::ifstream file("/proc/self/io");
  std::string name;
  std::size_t bytes = 0;
  file >> name >> bytes;
  return name == "rchar:" ? bytes : 0;
}

TEST_F(AgentBuild, OneThatDoesNotChangeIsReadOnce) {
  const fs::path agent = agent_path(cache_.path().string(), environment());
  fs::create_directories(agent.parent_path());
  fs::create_symlink("/bin/sh", agent);  // a file that was not written just now
  const std::string content = testing::content_of(agent);
  base::ContentHash hash;
  hash.add(content);
  std::ofstream(agent.parent_path() / "_ridgeline_agent.sum") << content.size() << ' ' << hash.text() << '\n';
  ASSERT_TRUE(is_usable());
  const std::size_t before = bytes_read();
  EXPECT_TRUE(is_usable());
  EXPECT_LT(bytes_read() - before, content.size());
  fs::remove(agent);
  std::ofstream(agent) << content.substr(1) << '.';
  EXPECT_FALSE(is_usable());
}

TEST_F(AgentBuild, SaysThatThereIsNoCompiler) {
  const Variable none("CXX", std::nullopt);
  const Variable path("PATH", folder_.path().string());
  start();
  EXPECT_EQ(done_, 1);
  EXPECT_EQ(kind_, "no-compiler");
  EXPECT_THAT(message_, HasSubstr("CXX"));
  expect_nothing_left();
}

TEST_F(AgentBuild, PassesOnTheWordsOfACompilerThatFails) {
  compiler("echo 'fatal error: torch/extension.h: No such file' >&2; exit 1\n");
  start();
  finish();
  EXPECT_EQ(kind_, "agent-build-failed");
  EXPECT_THAT(message_, HasSubstr("fatal error: torch/extension.h: No such file"));
  EXPECT_FALSE(agent_exists());
}

TEST_F(AgentBuild, SaysThatATorchThatFailsToCompileIsNewerThanAllThatWereTested) {
  compiler("exit 1\n");
  protocol::WorkerEnvironment newer = environment();
  newer.torch = "2.99.0";
  start(newer);
  finish();
  EXPECT_EQ(kind_, "agent-build-failed");
  EXPECT_THAT(message_, HasSubstr(untested_torch(newer)));
}

TEST_F(AgentBuild, FailsWhenOnlyTheLinkerDoes) {
  compiler("case \"$*\" in *-shared*) echo 'cannot find -ltorch_cpu' >&2; exit 1;; esac; : > \"$output\"\n");
  start();
  finish();
  EXPECT_EQ(kind_, "agent-build-failed");
  EXPECT_THAT(message_, HasSubstr("cannot find -ltorch_cpu"));
  EXPECT_FALSE(agent_exists());
}

TEST_F(AgentBuild, FailsWhenTheCompilerIsKilled) {
  compiler("kill -9 $$\n");
  start();
  finish();
  EXPECT_EQ(kind_, "agent-build-failed");
}

TEST_F(AgentBuild, FailsWhenTheCompilerWritesNothing) {
  compiler("exit 0\n");
  start();
  finish();
  EXPECT_EQ(kind_, "cache");
  EXPECT_FALSE(agent_exists());
}

/// The compilers end at the same moment, the first in vain.
TEST_F(AgentBuild, FailsOnceWhenCompilersEndTogether) {
  compiler("mkdir " + (folder_ / "first").string() + " 2>/dev/null && exit 1; : > \"$output\"\n");
  start();
  ASSERT_TRUE(testing::eventually([] { return testing::living_children().empty(); }));
  finish();
  EXPECT_EQ(kind_, "agent-build-failed");
}

TEST_F(AgentBuild, KeepsALongLogShort) {
  compiler("yes 'error: again' | head -100000 >&2; exit 1\n");
  start();
  finish();
  EXPECT_LT(message_.size(), 8192U);
  EXPECT_THAT(message_, HasSubstr("error: again"));
}

TEST_F(AgentBuild, LeavesNothingWhenItIsCancelled) {
  compiler("echo $$ > " + (folder_ / "compiler.pid").string() + "; sleep 1000 & wait\n");
  start();
  // Several compilers run, and each writes the file: what is in it may change until all are gone.
  std::optional<pid_t> compiler;
  ASSERT_TRUE(testing::run_until(loop_, [&] {
    compiler = testing::process_in(folder_ / "compiler.pid");
    return compiler.has_value();
  }));
  builder_.cancel();
  expect_nothing_left();
  EXPECT_TRUE(testing::is_gone(*compiler));
  EXPECT_EQ(done_, 0);
  builder_.cancel();  // safe at any time
}

TEST_F(AgentBuild, BuildsAgainAfterItWasCancelled) {
  compiler("sleep 1000\n");
  start();
  builder_.cancel();
  compiler(": > \"$output\"\n");
  start();
  finish();
  EXPECT_EQ(kind_, "") << message_;
  EXPECT_TRUE(agent_exists());
}

TEST_F(AgentBuild, TakesTheAgentThatAnotherDaemonPublishedMeanwhile) {
  const fs::path agent = agent_path(cache_.path().string(), environment());
  const fs::path sum = agent.parent_path() / "_ridgeline_agent.sum";
  base::ContentHash hash;
  hash.add("theirs\n");
  compiler("case \"$*\" in *-shared*) mkdir -p '" + agent.parent_path().string() + "'; echo theirs > '" +
           agent.string() + "'; echo '7 " + hash.text() + "' > '" + sum.string() +
           "';; esac; echo ours > \"$output\"\n");
  start();
  finish();
  EXPECT_EQ(kind_, "") << message_;
  EXPECT_EQ(testing::content_of(agent), "theirs\n");
}

TEST_F(AgentBuild, ReplacesAFolderWithoutAnAgent) {
  const fs::path agent = agent_path(cache_.path().string(), environment());
  fs::create_directories(agent.parent_path());
  std::ofstream(agent.parent_path() / "rubbish") << "rubbish";
  compiler(": > \"$output\"\n");
  start();
  finish();
  EXPECT_EQ(kind_, "") << message_;
  EXPECT_TRUE(agent_exists());
}

TEST_F(AgentBuild, OneOfTheFolderThatIsNamedIsUsedWhereNoneWasBuilt) {
  compiler("echo \"$*\" > \"$output\"\n");
  start();
  finish();
  const std::string built = agent_path(cache_.path().string(), environment());
  const fs::path bundle = folder_ / "bundle";
  const fs::path other_cache = folder_ / "other";
  fs::create_directories(bundle);
  fs::copy(fs::path(built).parent_path(), bundle / fs::path(built).parent_path().filename(),
           fs::copy_options::recursive);
  const Variable named("RIDGELINE_AGENTS", bundle.string());
  const std::string bundled = agent_path(other_cache.string(), environment());
  EXPECT_EQ(fs::path(bundled).parent_path().parent_path(), bundle);
  EXPECT_TRUE(has_agent(other_cache.string(), environment()));
  EXPECT_TRUE(is_bundled(other_cache.string(), bundled));
  EXPECT_EQ(agent_path(cache_.path().string(), environment()), built) << "what was built here goes first";
  EXPECT_FALSE(is_bundled(cache_.path().string(), built));
  EXPECT_EQ(known_agents(cache_.path().string()).size(), 2U);
  std::ofstream(bundled) << "damaged";
  EXPECT_FALSE(has_agent(other_cache.string(), environment()));
}

TEST(AgentPath, DiffersByWhatAnAgentIsBuiltFor) {
  const protocol::WorkerEnvironment base = environment();
  protocol::WorkerEnvironment other = base;
  other.torch = "2.5.1+cu121";
  EXPECT_NE(agent_path("/cache", base), agent_path("/cache", other));
  other = base;
  other.cxx11_abi = !base.cxx11_abi;
  EXPECT_NE(agent_path("/cache", base), agent_path("/cache", other));
  other = base;
  other.python_tag = "cpython-312";
  EXPECT_NE(agent_path("/cache", base), agent_path("/cache", other));
  EXPECT_EQ(agent_path("/cache", base), agent_path("/cache", environment()));
}

TEST(AgentPath, IsOneForTheReleasesOfAMinorVersion) {
  for (const char* torch : {"2.13.0", "2.13.1", "2.13.0+cpu", "2.13.0+cu126", "2.13.2+rocm6.4.1", "2.13.0+xpu"}) {
    EXPECT_EQ(built_for(torch), "2.13") << torch;
  }
  for (const char* torch : {"2.13.0a0+145a3a7", "2.13.0.dev20260101+cpu", "2.13.0+gitabc", "2.13", ""}) {
    EXPECT_EQ(built_for(torch), torch) << "built from other sources";
  }
}

}  // namespace
}  // namespace ridgeline::worker
