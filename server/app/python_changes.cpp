#include "app/python_changes.h"

#include <chrono>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/work_folder.h"
#include "step/changes/change_file.h"
#include "worker/agent_build.h"
#include "worker/cache.h"
#include "worker/program_output.h"

namespace ridgeline::app {

namespace {

constexpr std::chrono::minutes kRunLimit{1};
constexpr std::size_t kMostResultBytes = std::size_t{16} << 20U;  // ids of tasks, beside what a file may have

base::Result<step::UserChange> change_of(const std::string& result) {
  const auto text = base::read_text(result, kMostResultBytes);
  if (!text) {
    return text.error();
  }
  const auto found = nlohmann::json::parse(*text, nullptr, false);
  if (found.is_object() && found.contains("error") && found.at("error").is_string()) {
    return base::error(found.at("error").get<std::string>());
  }
  if (!found.is_object() || !found.contains("change")) {
    return base::error("it returned what cannot be read");
  }
  return step::change_from(found.at("change"));
}

base::Result<step::UserChange> run_change(const std::string& path, const std::string& python,
                                          const std::string& tasks) {
  const auto cache = worker::cache_folder();
  if (!cache) {
    return cache.error();
  }
  const auto program = worker::runner_file(*cache, "changes/change_file.py");
  if (!program) {
    return program.error();
  }
  const base::WorkFolder folder(*cache + "/change-");
  const std::string listed = folder.path() + "/tasks.json";
  if (const auto problem = base::write_atomically(listed, tasks, base::FileAccess::kOwner, base::Durability::kNone)) {
    return base::error(listed + " cannot be written: " + problem.message());
  }
  const std::string result = folder.path() + "/change.json";
  const auto line = worker::first_line_of({python, *program, path, listed, result}, kRunLimit);
  if (line != "done") {
    return base::error("it could not be run with " + python + ", or took more than a minute");
  }
  return change_of(result);
}

}  // namespace

bool is_python_change(std::string_view path) { return path.ends_with(".py"); }

base::Result<void> make_python_changes(WantedChanges& wanted, const step::Graph& graph, const std::string& python) {
  std::optional<std::string> tasks;
  for (auto& [path, change] : wanted.user_changes) {
    if (!is_python_change(path)) {
      continue;
    }
    if (!tasks) {
      auto listed = step::tasks_json(graph);
      if (!listed) {
        return base::error(path + ": " + listed.error().message() + ".");
      }
      tasks = std::move(*listed);
    }
    auto made = run_change(path, python, *tasks);
    if (!made) {
      return base::error(path + ": " + made.error().message() + ".");
    }
    change = std::move(*made);
  }
  return {};
}

}  // namespace ridgeline::app
