#include "app/check_environment.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/executable.h"
#include "base/file.h"
#include "base/random_digits.h"
#include "base/work_folder.h"
#include "report/units.h"
#include "store/profile_store.h"
#include "worker/agent_build.h"
#include "worker/guard/guard_report.h"
#include "worker/guard/guarded_command.h"
#include "worker/machine.h"
#include "worker/program_output.h"

namespace ridgeline::app {

namespace {

namespace fs = std::filesystem;
using report::Check;
using report::CheckStatus;

constexpr std::size_t kMostTextBytes = std::size_t{1} << 20U;
constexpr const char* kOtherCache = "Set RIDGELINE_CACHE to a folder of your own.";
constexpr const char* kOtherPython = "Name another interpreter with --python.";

/// The result of a check whose precondition failed.
Check not_checked(const std::string& name, const std::string& why) {
  return {CheckStatus::kNote, name, "not checked: " + why, ""};
}

Check check_interpreter(const FirstStart& found, const ProfileRequest& request) {
  const std::string name = "interpreter";
  const std::string& path = found.interpreter.path;
  if (path.empty()) {
    return {CheckStatus::kFail, name,
            request.python.empty()
                ? "none: no .venv or venv in the project, no VIRTUAL_ENV, no torch beside ridgeline, no python3 on PATH"
                : "there is no interpreter " + request.python,
            request.python.empty() ? "Install Python with torch, or name an interpreter with --python." : kOtherPython};
  }
  const std::string where = path + " (" + found.interpreter.source + ")";
  const protocol::WorkerEnvironment* environment = found.environment();
  if (environment == nullptr && found.failure() != nullptr && !found.failed_with(protocol::FailureKind::kCache)) {
    const std::string text = found.failed_with(protocol::FailureKind::kTimeout)
                                 ? "did not start within " + std::to_string(request.time_limit.count()) + " s"
                                 : found.failure()->message;
    return {CheckStatus::kFail, name, where + ": " + text, kOtherPython};
  }
  if (found.failed_with(protocol::FailureKind::kPythonUnsupported)) {
    return {CheckStatus::kFail, name, where + ": " + found.failure()->message, kOtherPython};
  }
  if (environment == nullptr) {
    return {CheckStatus::kNote, name, where + ", not started: the cache folder is needed for that", ""};
  }
  return {CheckStatus::kOk, name, where + ": Python " + environment->python, ""};
}

/// Where the tool of a project keeps its environment, which is not the one that was found on PATH; empty: unknown.
std::string environment_hint(const FirstStart& found) {
  const fs::path root = found.project_root;
  const auto has = [&](const char* name) {
    std::error_code problem;
    return fs::exists(root / name, problem);
  };
  const auto read = base::read_text((root / "pyproject.toml").string(), kMostTextBytes);
  const std::string settings = read ? *read : "";
  if (has("poetry.lock") || settings.find("[tool.poetry") != std::string::npos) {
    return "Poetry keeps the project's environment elsewhere: `poetry run ridgeline doctor`, or --python "
           "\"$(poetry env info --executable)\".";
  }
  if (has("uv.lock") || settings.find("[tool.uv") != std::string::npos) {
    return "uv makes the project's environment: `uv sync`, then again.";
  }
  if (has("Pipfile")) {
    return "Pipenv keeps the project's environment elsewhere: `pipenv run ridgeline doctor`, or --python \"$(pipenv "
           "--py)\".";
  }
  if (has("environment.yml") || has("environment.yaml")) {
    return "Activate the project's conda environment (`conda activate NAME`), or name its interpreter with --python.";
  }
  return found.interpreter.path.find("/shims/") != std::string::npos
             ? "pyenv chooses this interpreter, here by `pyenv version`: `python3 -m pip install torch` installs there."
             : "";
}

Check check_torch(const FirstStart& found) {
  const protocol::WorkerEnvironment* environment = found.environment();
  if (environment == nullptr) {
    return not_checked("torch", "no interpreter was started");
  }
  if (found.failed_with(protocol::FailureKind::kNoTorch)) {
    return {CheckStatus::kFail, "torch", found.failure()->message,
            found.interpreter.source == "PATH" ? environment_hint(found) : ""};
  }
  if (found.failed_with(protocol::FailureKind::kTorchUnsupported)) {
    return {CheckStatus::kFail, "torch", found.failure()->message, ""};
  }
  return {CheckStatus::kOk, "torch", environment->torch, ""};
}

Check check_agent(const FirstStart& found) {
  using enum protocol::FailureKind;
  static constexpr std::array kEarlier = {kNoTorch, kTorchUnsupported, kPythonUnsupported, kCache};
  const std::string name = "agent";
  const protocol::WorkerEnvironment* environment = found.environment();
  if (environment == nullptr ||
      std::ranges::any_of(kEarlier, [&](protocol::FailureKind kind) { return found.failed_with(kind); })) {
    return not_checked(name, "it needs an interpreter with torch, and the cache folder");
  }
  if (found.agent_loaded()) {
    const bool is_bundled = worker::is_bundled(*found.cache, worker::agent_path(*found.cache, *environment));
    const std::string origin = found.built ? "built now" : is_bundled ? "came with Ridgeline" : "in the cache";
    return {CheckStatus::kOk, name, origin + ", and loads", ""};
  }
  std::string fix;
  if (found.failed_with(protocol::FailureKind::kAgentBuildFailed)) {
    fix = "Use another compiler: set CXX. It must support C++17 and be compatible with torch's libraries.";
  } else if (found.failed_with(protocol::FailureKind::kAgentRefused)) {
    fix = "Run `ridgeline doctor` again: it rebuilds the agent.";
  }
  return {CheckStatus::kFail, name, found.failure()->message, fix};
}

Check check_compiler(const FirstStart& found) {
  const std::string name = "compiler";
  // What is built needs none until torch changes.
  const CheckStatus missing = found.agent_loaded() ? CheckStatus::kNote : CheckStatus::kFail;
  const char* const fix = "Install one (Debian: apt-get install g++), or set CXX.";
  const std::string path = worker::find_compiler();
  if (path.empty()) {
    return {missing, name, "there is no C++ compiler; it builds the agent, once for each version of torch", fix};
  }
  const std::optional<std::string> version = worker::first_line_of({path, "--version"}, std::chrono::seconds(20));
  if (!version.has_value()) {
    return {missing, name, path + " does not run", fix};
  }
  return {CheckStatus::kOk, name, path + ": " + *version, ""};
}

/// "whose time a control group limits to that of 2.5, ", where there is such a quota.
std::string quota_text() {
  const double time = worker::processor_time();
  return time < worker::processor_count()
             ? "whose time a control group limits to that of " + report::figure(time) + ", "
             : "";
}

std::vector<Check> check_devices() {
  const std::string processor = worker::processor_name() + ", " + std::to_string(worker::processor_count()) +
                                " cores, " + quota_text() +
                                report::bytes(static_cast<double>(worker::memory_capacity())) + " of memory, " +
                                report::bytes(static_cast<double>(worker::memory_available())) + " of it available";
  const std::optional<std::vector<std::string>> gpus = worker::nvidia_gpus();
  std::string text = "no NVIDIA driver here; --device cpu profiles CUDA code on the processor";
  if (gpus.has_value()) {
    text = gpus->empty() ? "an NVIDIA driver without a GPU" : "NVIDIA:";
    for (const std::string& model : *gpus) {
      text += " " + model;
    }
  }
  return {{CheckStatus::kOk, "processor", processor, ""}, {CheckStatus::kNote, "gpu", text, ""}};
}

/// Checks the energy counters of the processors. Devices are asked for theirs only in a profile: that starts their
/// driver.
Check check_energy(const FirstStart& found) {
  const protocol::WorkerEnvironment* environment = found.environment();
  if (environment == nullptr || (environment->energy_counters.empty() && environment->energy_problem.empty())) {
    return not_checked("energy", "it needs an interpreter with torch");
  }
  std::string text = environment->energy_problem;
  if (!environment->energy_counters.empty()) {
    text =
        fmt::format("counted of {}{}{}", fmt::join(environment->energy_counters, ", "), text.empty() ? "" : ". ", text);
  }
  return {environment->energy_problem.empty() ? CheckStatus::kOk : CheckStatus::kNote, "energy", text, ""};
}

/// Checks that a script can be run again for other batch sizes and for changes, and kept from writing its files.
Check check_guard() {
  const std::string name = "scripts";
  std::error_code problem;
  const base::WorkFolder folder((fs::temp_directory_path(problem) / "ridgeline-doctor-").string());
  const std::vector<std::string> command = {
      base::executable_path(), "guard", "--folder", folder.path(), "--", "echo", "ran"};
  if (worker::first_line_of(command, std::chrono::seconds(20)).has_value()) {
    return {CheckStatus::kOk, name, "can run again for other batch sizes and for changes without writing files", ""};
  }
  const auto text = base::read_text(folder.path() + "/" + worker::kReportFile, kMostTextBytes);
  const auto report = text ? worker::parse_report(*text) : std::nullopt;
  return {CheckStatus::kNote, name,
          "only run at their own batch size, since nothing here can keep them from writing files again: " +
              (report && !report->unavailable.empty() ? report->unavailable : "the guard does not run"),
          "With --allow-writes, in an editor the setting `run.allowWrites`, they run again all the same."};
}

/// Why nothing can be written into the folder; empty when it can.
std::string write_problem(const std::string& folder) {
  const auto digits = base::random_digits(8);
  if (!digits) {
    return digits.error().message();
  }
  const std::string name = folder + "/doctor-" + *digits;
  const auto failed = base::write_atomically(name, "ridgeline\n", base::FileAccess::kOwner, base::Durability::kNone);
  std::error_code problem;
  fs::remove(name, problem);
  return failed ? failed.message() : "";
}

double folder_bytes(const fs::path& folder) {
  double sum = 0;
  std::error_code problem;
  for (fs::recursive_directory_iterator file(folder, problem), end; !problem && file != end; file.increment(problem)) {
    std::error_code unreadable;
    if (file->is_regular_file(unreadable) && !file->is_symlink(unreadable)) {
      const std::uintmax_t size = file->file_size(unreadable);
      sum += unreadable ? 0 : static_cast<double>(size);
    }
  }
  return sum;
}

Check check_cache(const FirstStart& found) {
  if (!found.cache) {
    return {CheckStatus::kFail, "cache", found.cache.error().message(), ""};
  }
  if (const std::string problem = write_problem(*found.cache); !problem.empty()) {
    return {CheckStatus::kFail, "cache", *found.cache + " cannot be written to: " + problem, kOtherCache};
  }
  if (found.failed_with(protocol::FailureKind::kCache)) {
    return {CheckStatus::kFail, "cache", found.failure()->message, ""};  // which says what to do
  }
  std::error_code problem;
  const fs::space_info space = fs::space(*found.cache, problem);
  const std::string agents = report::bytes(folder_bytes(fs::path(*found.cache) / "agents"));
  return {CheckStatus::kOk, "cache",
          *found.cache + ", writable; agents " + agents + ", " +
              (problem ? "free space unknown" : report::bytes(static_cast<double>(space.available)) + " free"),
          ""};
}

Check check_profiles(const FirstStart& found) {
  const std::string name = "profiles";
  if (!found.cache) {
    return not_checked(name, "the cache folder is needed");
  }
  store::ProfileStore store;
  const auto opened = store.open(*found.cache);
  if (!opened) {
    return {CheckStatus::kFail, name, opened.error().message(),
            "Move that file away: only the profiles in it are lost."};
  }
  const auto totals = store.totals();
  if (!totals) {
    return {CheckStatus::kFail, name, totals.error().message(), ""};
  }
  const std::string text =
      std::to_string(totals->profiles) + ", " + report::bytes(static_cast<double>(totals->bytes)) + " together";
  return {opened->empty() ? CheckStatus::kOk : CheckStatus::kNote, name, opened->empty() ? text : text + "; " + *opened,
          ""};
}

}  // namespace

std::vector<Check> check_environment(const FirstStart& found, const ProfileRequest& request) {
  std::vector<Check> checks = {check_interpreter(found, request), check_torch(found), check_agent(found),
                               check_compiler(found)};
  for (Check& device : check_devices()) {
    checks.push_back(std::move(device));
  }
  checks.push_back(check_guard());
  checks.push_back(check_energy(found));
  checks.push_back(check_cache(found));
  checks.push_back(check_profiles(found));
  return checks;
}

}  // namespace ridgeline::app
