#include "worker/interpreter.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/executable.h"

namespace ridgeline::worker {

namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  std::error_code problem;
  return fs::is_regular_file(path, problem) && ::access(path.c_str(), X_OK) == 0;
}

std::string on_path(const std::string& name) {
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): never written
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path program = fs::path(folder.empty() ? "." : folder) / name;
    if (is_program(program)) {
      return program.string();
    }
  }
  return {};
}

/// Whether a name in a folder fulfils a condition. Those of a folder that cannot be read do not.
template <typename Condition>
bool any_name_in(const fs::path& folder, Condition condition) {
  std::error_code problem;
  for (fs::directory_iterator file(folder, problem), end; !problem && file != end; file.increment(problem)) {
    if (condition(file->path().filename().string())) {
      return true;
    }
  }
  return false;
}

/// Without starting its interpreter: whether site-packages has the package or, of one that is installed in editable
/// mode, its metadata.
bool has_torch(const fs::path& environment) {
  const fs::path library = environment / "lib";
  return any_name_in(library, [&](const std::string& version) {
    return version.starts_with("python3.") &&
           any_name_in(library / version / "site-packages",
                       [](const std::string& name) { return name == "torch" || name.starts_with("torch-"); });
  });
}

}  // namespace

std::string interpreter_beside(const std::string& program) {
  const fs::path folder = fs::path(program).parent_path();
  const fs::path python = folder / "python";
  return is_program(python) && has_torch(folder.parent_path()) ? python.string() : "";
}

Interpreter find_interpreter(const std::string& wanted, const std::string& entry, const std::string& project_root) {
  if (!wanted.empty()) {
    if (wanted.find('/') == std::string::npos) {
      return {on_path(wanted), "--python"};
    }
    // Not resolved further: a virtual environment is known by the path of its link.
    return {is_program(wanted) ? fs::absolute(wanted).string() : "", "--python"};
  }
  for (fs::path folder = fs::path(entry).parent_path();; folder = folder.parent_path()) {
    for (const char* name : {".venv", "venv"}) {
      const fs::path python = folder / name / "bin" / "python";
      if (is_program(python)) {
        return {python.string(), std::string(name) + " of the project"};
      }
    }
    if (folder == fs::path(project_root) || folder == folder.parent_path()) {
      break;
    }
  }
  const char* active = std::getenv("VIRTUAL_ENV");  // NOLINT(concurrency-mt-unsafe): never written
  if (active != nullptr && is_program(fs::path(active) / "bin" / "python")) {
    return {(fs::path(active) / "bin" / "python").string(), "VIRTUAL_ENV"};
  }
  if (std::string own = interpreter_beside(base::executable_path()); !own.empty()) {
    return {std::move(own), "where ridgeline is installed"};
  }
  return {on_path("python3"), "PATH"};
}

Interpreter find_interpreter_here(const std::string& wanted) {
  std::error_code problem;
  const std::string here = (fs::current_path(problem) / "-").string();
  return find_interpreter(wanted, here, find_project_root(here));
}

std::string find_project_root(const std::string& entry) {
  static constexpr std::array kMarks = {".git", "pyproject.toml", "setup.py", "setup.cfg", ".venv"};
  const fs::path own = fs::path(entry).parent_path();
  for (fs::path folder = own; folder != folder.parent_path(); folder = folder.parent_path()) {
    for (const char* mark : kMarks) {
      std::error_code problem;
      if (fs::exists(folder / mark, problem)) {
        return folder.string();
      }
    }
  }
  return own.string();
}

}  // namespace ridgeline::worker
