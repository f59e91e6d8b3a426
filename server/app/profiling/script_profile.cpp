#include "app/profiling/script_profile.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <variant>

#include "worker/cache.h"
#include "worker/interpreter.h"
#include "worker/machine.h"

namespace ridgeline::app {

namespace {

bool is_script(const std::string& word) {
  std::error_code problem;
  return word.ends_with(".py") && std::filesystem::is_regular_file(word, problem);
}

/// What a shell takes as it is.
constexpr const char* kPlainLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";

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
                  request.steps,
                  request.stop,
                  request.place.time_budget_seconds / (request.sizes.has_value() ? 2 : 1),  // the rest is for the sizes
                  request.place.code,
                  {},
                  {},
                  0};
  options.spec.batch_size = request.batch_size;
  options.command = request.command;
  options.device = request.place.device;
  options.time_limit = request.place.time_limit;
  options.guarded = options.discards_output = request.is_silent;
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

base::Result<ProfileRun, RunFailure> analyse_process(worker::JobProcess process, const worker::JobOptions& options,
                                                     const store::Moment& began) {
  PlannedRun plan;
  plan.began = began;
  plan.spec.project_root = options.spec.project_root;
  if (auto* failure = std::get_if<protocol::Failure>(&process.outcome)) {
    return analyse_run({std::move(*failure), {}, process.joined.environment, std::move(process.out_of_memory)}, plan);
  }
  std::error_code problem;
  const std::string script = process.joined.script.empty() ? script_of(options.command) : process.joined.script;
  plan.spec.entry = std::filesystem::weakly_canonical(script, problem).string();
  plan.capacity_bytes = worker::memory_capacity();
  add_processor(plan, options.cache);
  take_settings(plan);
  return analyse_run({std::move(std::get<worker::RunOutput>(process.outcome)), {}, process.joined.environment}, plan);
}

base::Result<worker::JobOptions, RunFailure> plan_background_job(const ScriptRequest& request, const Target& target) {
  ScriptRequest resolved = request;
  resolved.stop = true;
  resolved.place.python = target.interpreter.path;
  resolved.place.project_root = target.project_root;
  auto options = plan_job(resolved);
  if (options) {
    options->in_background = true;
    options->folder =
        request.folder.empty() ? std::filesystem::path(target.entry).parent_path().string() : request.folder;
    options->variables = request.variables;
  }
  return options;
}

std::string command_line(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& word : command) {
    const bool plain = !word.empty() && word.find_first_not_of(kPlainLetters) == std::string::npos;
    std::string quoted = word;
    for (std::size_t at = quoted.find('\''); !plain && at != std::string::npos; at = quoted.find('\'', at + 4)) {
      quoted.replace(at, 1, "'\\''");
    }
    line += (line.empty() ? "" : " ") + (plain ? word : "'" + quoted + "'");
  }
  return line;
}

}  // namespace ridgeline::app
