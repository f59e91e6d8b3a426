#include "app/profiling/project_interpreter.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "worker/interpreter.h"

namespace ridgeline::app {

namespace {

namespace fs = std::filesystem;
using protocol::FailureKind;

/// "transformers" of "ModuleNotFoundError: No module named 'transformers.models'. ...". Empty where there is none, or
/// where it is no name that could be a file's.
std::string missing_module(const protocol::Failure& failure) {
  if (failure.kind == FailureKind::kNoTorch) {
    return "torch";
  }
  constexpr std::string_view kBefore = "No module named '";
  const std::size_t found = failure.message.find(kBefore);
  if (failure.kind != FailureKind::kImportError || found == std::string::npos) {
    return {};
  }
  std::string_view name = std::string_view(failure.message).substr(found + kBefore.size());
  const auto is_part = [](char letter) {
    return letter == '_' || (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
           (letter >= 'A' && letter <= 'Z');
  };
  name = name.substr(0, static_cast<std::size_t>(std::ranges::find_if_not(name, is_part) - name.begin()));
  return std::string(name);
}

/// As a package, a file, or an extension module.
bool has_module(const fs::path& packages, const std::string& module) {
  std::error_code problem;
  if (fs::is_directory(packages / module, problem) || fs::exists(packages / (module + ".py"), problem)) {
    return true;
  }
  for (const fs::directory_entry& one : fs::directory_iterator(packages, problem)) {
    const std::string name = one.path().filename().string();
    if (name.starts_with(module + ".") && name.ends_with(".so")) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string interpreter_with_missing_module(const protocol::Failure& failure, const Target& target) {
  const std::string module = missing_module(failure);
  std::string own = worker::find_interpreter("", target.entry, target.project_root).path;
  if (module.empty() || own.empty() || own == target.interpreter.path) {
    return {};
  }
  std::error_code problem;
  const fs::path library = fs::path(own).parent_path().parent_path() / "lib";
  for (const fs::directory_entry& version : fs::directory_iterator(library, problem)) {
    if (version.path().filename().string().starts_with("python3") &&
        has_module(version.path() / "site-packages", module)) {
      return own;
    }
  }
  return {};
}

}  // namespace ridgeline::app
