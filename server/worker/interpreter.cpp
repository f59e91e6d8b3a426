#include "worker/interpreter.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <sstream>

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

}  // namespace

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
  return {on_path("python3"), "PATH"};
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
