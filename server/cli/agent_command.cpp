#include "cli/agent_command.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "base/path.h"
#include "cli/entry_runs.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/options.h"
#include "cli/progress_line.h"
#include "cli/terminal.h"
#include "protocol/json_fields.h"
#include "protocol/json_rpc.h"
#include "protocol/shown_text.h"
#include "report/units.h"
#include "worker/agent_build.h"
#include "worker/cache.h"
#include "worker/interpreter.h"

namespace ridgeline::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostDescription = std::size_t{1} << 20U;

struct AgentOptions {
  std::shared_ptr<app::ProfileRequest> request = std::make_shared<app::ProfileRequest>();
  std::string description;  ///< a file that says for what to build
  std::string folder;       ///< to export to
};

/// Builds one agent and waits for it.
class Build final : worker::AgentBuildListener {
 public:
  Build() : reaper_(loop_), builder_(reaper_, *this) {}

  std::optional<protocol::Failure> run(const protocol::WorkerEnvironment& environment, const std::string& sources,
                                       const std::string& cache) {
    builder_.start(environment, sources, cache);
    while (!ended_ && loop_.run_one() > 0) {
    }
    return failure_;
  }

 private:
  void on_build_progress(double fraction) override {
    const protocol::Progress step{"build", fraction, "Building the agent"};
    line_.show(step, step);
  }
  void on_build_end(const std::optional<protocol::Failure>& failure) override {
    failure_ = failure;
    ended_ = true;
  }

  boost::asio::io_context loop_;
  worker::Reaper reaper_;
  worker::AgentBuilder builder_;
  ProgressLine line_;
  std::optional<protocol::Failure> failure_;
  bool ended_ = false;
};

/// Of the file, which has what a runner says of its interpreter. Throws InvalidValue.
protocol::WorkerEnvironment described_in(const std::string& text) {
  const protocol::Json json = protocol::Json::parse(text, nullptr, false);
  protocol::WorkerEnvironment environment;
  environment.torch = protocol::member<std::string>(json, "torch");
  environment.cxx11_abi = protocol::member<bool>(json, "cxx11Abi");
  environment.python_tag = protocol::member<std::string>(json, "pythonTag");
  environment.include_dirs = protocol::member<std::vector<std::string>>(json, "includeDirs");
  environment.library_dirs = protocol::member<std::vector<std::string>>(json, "libraryDirs");
  return environment;
}

/// What the interpreter of the project says of itself; it is started for that. The failure where it says nothing.
base::Result<protocol::WorkerEnvironment, protocol::Failure> found_here(const app::ProfileRequest& request,
                                                                        const std::string& cache) {
  const worker::Interpreter interpreter = worker::find_interpreter_here(request.python);
  BlockingWorker worker({interpreter.path, cache});
  ProgressLine line;
  const worker::Finished warmed = worker.warm_up(worker::RunLimits{request.time_limit},
                                                 [&](const protocol::Progress& step) { line.show(step, step); });
  const auto* failure = std::get_if<protocol::Failure>(&warmed.outcome);
  const bool is_built = failure == nullptr || failure->kind == protocol::FailureKind::kAgentRefused;
  if (!is_built || !warmed.environment.has_value()) {
    return failure != nullptr ? *failure
                              : protocol::failure_of(protocol::FailureKind::kInterpreter, "start",
                                                     "The interpreter said nothing of itself.");
  }
  return *warmed.environment;
}

int build(const AgentOptions& options) {
  const auto cache = worker::cache_folder();
  if (!cache) {
    return fail(cache.error());
  }
  const auto sources = worker::unpack_sources(*cache);
  if (!sources) {
    return fail(sources.error());
  }
  protocol::WorkerEnvironment environment;
  if (options.description.empty()) {
    auto found = found_here(*options.request, *cache);
    if (!found) {
      return report_failure(app::FailedProjectRun{{found.error(), ""}, ""});
    }
    environment = std::move(*found);
  } else {
    const auto text = base::read_text(options.description, kMostDescription);
    if (!text) {
      return fail(text.error());
    }
    environment = described_in(*text);
  }
  if (const auto failure = Build().run(environment, *sources, *cache)) {
    return report_failure(app::FailedProjectRun{{*failure, ""}, ""});
  }
  return write_out(worker::agent_path(*cache, environment) + "\n", {});
}

int list() {
  const auto cache = worker::cache_folder();
  if (!cache) {
    return fail(cache.error());
  }
  std::string text;
  for (const worker::KnownAgent& agent : worker::known_agents(*cache)) {
    std::error_code problem;
    const auto bytes = static_cast<double>(fs::file_size(agent.path, problem));
    text += fmt::format("{}  {}  {}{}\n    {}\n", agent.built_for, report::bytes(bytes),
                        agent.is_bundled ? "came with Ridgeline" : "built here",
                        agent.is_of_version ? "" : ", for another version: not used", protocol::printable(agent.path));
  }
  return write_out(text.empty() ? "There is none yet: the first profile builds one.\n" : text, {});
}

int export_to(const std::string& folder) {
  const auto cache = worker::cache_folder();
  if (!cache) {
    return fail(cache.error());
  }
  int copied = 0;
  for (const worker::KnownAgent& agent : worker::known_agents(*cache)) {
    if (!agent.is_of_version || agent.is_bundled) {
      continue;
    }
    const fs::path from = fs::path(agent.path).parent_path();
    const fs::path to = fs::path(folder) / from.filename();
    std::error_code problem;
    fs::create_directories(to.parent_path(), problem);
    fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::overwrite_existing, problem);
    if (problem) {
      return fail(fmt::format("cannot copy {} to {}: {}", from.string(), to.string(), problem.message()));
    }
    ++copied;
  }
  return copied > 0
             ? write_out(fmt::format("{} copied to {}. Name that folder in RIDGELINE_AGENTS where they are to "
                                     "be used.\n",
                                     copied == 1 ? "1 agent was" : fmt::format("{} agents were", copied), folder),
                         {})
             : fail("no agent was built here: `ridgeline agent build` builds one");
}

}  // namespace

void add_agent_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<AgentOptions>();
  CLI::App* command = app.add_subcommand(
      "agent", "The agents that record inside your interpreter: list them, build one, copy them to other machines.");
  command->require_subcommand(1);
  CLI::App* listed = command->add_subcommand("list", "List the agents that there are.");
  listed->footer(
      "Examples:\n"
      "  ridgeline agent list\n"
      "  ridgeline agent list | grep torch-2.13");
  listed->callback([&exit_code] { exit_code = list(); });
  CLI::App* built = command->add_subcommand("build", "Build the agent for an interpreter, with a C++ compiler.");
  built->add_option("--python", options->request->python,
                    "Interpreter with torch; default: VIRTUAL_ENV, the one beside ridgeline, or python3");
  built->add_option("--description", options->description,
                    "JSON file with torch, cxx11Abi, pythonTag, includeDirs and libraryDirs of an interpreter that "
                    "does not run here");
  built->footer(
      "Examples:\n"
      "  ridgeline agent build --python ~/venv/bin/python\n"
      "  ridgeline agent build --description arm64-python-3.12.json");
  built->callback([options, &exit_code] { exit_code = build(*options); });
  CLI::App* exported = command->add_subcommand("export", "Copy the agents that were built here into a folder.");
  exported->add_option("FOLDER", options->folder, "Folder, which RIDGELINE_AGENTS can name on other machines")
      ->required();
  exported->footer(
      "Examples:\n"
      "  ridgeline agent export agents\n"
      "  ridgeline agent export /shared/ridgeline-agents");
  exported->callback([options, &exit_code] { exit_code = export_to(options->folder); });
  command->footer(
      "Examples:\n"
      "  ridgeline agent build --python ~/venv/bin/python\n"
      "  ridgeline agent export /shared/ridgeline-agents");
}

}  // namespace ridgeline::cli
