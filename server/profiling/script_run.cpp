#include "profiling/script_run.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <variant>

#include "worker/cache.h"
#include "worker/interpreter.h"
#include "worker/machine.h"

namespace ridgeline::profiling {

namespace {

bool is_script(const std::string& word) {
  std::error_code problem;
  return word.ends_with(".py") && std::filesystem::is_regular_file(word, problem);
}

}  // namespace

std::string script_of(const std::vector<std::string>& command) {
  const auto script = std::ranges::find_if(command, is_script);
  std::error_code problem;
  const std::filesystem::path path = script != command.end() ? std::filesystem::path(*script) : "-";
  return std::filesystem::weakly_canonical(std::filesystem::absolute(path, problem), problem).string();
}

base::Result<worker::JobOptions, RunFailure> plan_job(const ScriptRequest& request) {
  const auto cache = worker::cache_folder();
  if (!cache) {
    return RunFailure{protocol::failure_of(protocol::FailureKind::kCache, "start", cache.error().message()), ""};
  }
  const std::string script = script_of(request.command);
  const std::string& named_root = request.place.project_root;
  worker::JobOptions options;
  options.cache = *cache;
  options.spec = {named_root.empty() ? worker::find_project_root(script)
                                     : std::filesystem::absolute(named_root).lexically_normal().string(),
                  request.steps, request.stop, request.place.time_budget_seconds};
  options.command = request.command;
  const std::string& first = request.command.front();
  if (is_script(first)) {
    options.command.insert(options.command.begin(),
                           worker::find_interpreter(request.place.python, script, options.spec.project_root).path);
  } else if (first.ends_with(".py")) {
    return RunFailure{
        protocol::failure_of(protocol::FailureKind::kEntryUnreadable, "start", "There is no file " + first + "."), ""};
  }
  return options;
}

base::Result<ProfileRun, RunFailure> analyse_process(worker::JobProcess process, const worker::JobOptions& options) {
  if (auto* failure = std::get_if<protocol::Failure>(&process.outcome)) {
    return RunFailure{std::move(*failure), ""};
  }
  PlannedRun plan;
  std::error_code problem;
  const std::string script = process.joined.script.empty() ? script_of(options.command) : process.joined.script;
  plan.spec.entry = std::filesystem::weakly_canonical(script, problem).string();
  plan.spec.project_root = options.spec.project_root;
  plan.capacity_bytes = worker::memory_capacity();
  return analyse_run({std::move(std::get<worker::RunOutput>(process.outcome)), {}, process.joined.environment}, plan);
}

}  // namespace ridgeline::profiling
