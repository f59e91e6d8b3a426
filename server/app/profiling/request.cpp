#include "app/profiling/request.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "store/profile_store.h"
#include "worker/cache.h"

namespace ridgeline::app {

namespace {

namespace fs = std::filesystem;

constexpr const char* kAsTheCodeAsks = "as the code asks";
/// Code may take another path where CUDA seems to be available: such a profile is kept apart.
constexpr const char* kInPlaceOfCuda = "cpu in place of cuda";

RunFailure failure(protocol::FailureKind kind, const std::string& message) {
  return {protocol::failure_of(kind, "start", message), ""};
}

/// An entry point is a page of code; a file of another kind must not become a long wait.
constexpr std::uintmax_t kMaxEntryBytes = std::uintmax_t{16} << 20U;

std::string real_path(const std::string& path) {
  std::error_code problem;
  const fs::path real = fs::canonical(path, problem);
  return problem ? "" : real.string();
}

}  // namespace

void request_again(ProfileRequest& request, const store::ProfileKey& stored) {
  const auto take = [](std::string& option, const std::string& value) { option = option.empty() ? value : option; };
  request.entry = stored.entry;
  take(request.project_root, stored.project_root);
  take(request.python, stored.interpreter);
  take(request.device, stored.device == kInPlaceOfCuda ? "cpu" : "");
  if (request.memory_limit_bytes == 0) {
    request.memory_limit_bytes = stored.memory_limit_bytes;
  }
  if (request.code.empty()) {
    std::istringstream names(stored.code);
    for (std::string name; std::getline(names, name, ',');) {
      request.code.push_back(name);
    }
  }
}

std::string entry_problem(const std::string& path) {
  std::error_code problem;
  const fs::file_status status = fs::status(path, problem);
  if (status.type() == fs::file_type::not_found) {
    return "There is no file " + path + ".";
  }
  if (fs::is_directory(status)) {
    return path + " is a folder. Name the file in it that defines the providers.";
  }
  if (problem || ::access(path.c_str(), R_OK) != 0) {
    return path + " cannot be read: " + (problem ? problem.message() : std::strerror(errno)) + ".";
  }
  if (!fs::is_regular_file(status)) {
    return path + " is not a regular file.";
  }
  const std::uintmax_t size = fs::file_size(path, problem);
  if (problem || size > kMaxEntryBytes) {
    return path + " is " + std::to_string(size >> 20U) + " MiB long. An entry point is a Python file of at most " +
           std::to_string(kMaxEntryBytes >> 20U) + " MiB; keep data in separate files.";
  }
  return {};
}

base::Result<Target, RunFailure> find_target(const ProfileRequest& request) {
  Target target;
  target.device = request.device.empty() ? kAsTheCodeAsks : kInPlaceOfCuda;
  if (const std::string problem = entry_problem(request.entry); !problem.empty()) {
    return failure(protocol::FailureKind::kEntryUnreadable, problem);
  }
  target.entry = real_path(request.entry);
  target.project_root =
      request.project_root.empty() ? worker::find_project_root(target.entry) : real_path(request.project_root);
  if (target.project_root.empty()) {
    return failure(protocol::FailureKind::kEntryUnreadable, "There is no folder " + request.project_root + ".");
  }
  target.interpreter = worker::find_interpreter(request.python, target.entry, target.project_root);
  if (target.interpreter.path.empty()) {
    return failure(protocol::FailureKind::kInterpreter, request.python.empty()
                                                            ? "There is no python3 on PATH. Name one with --python."
                                                            : "There is no interpreter " + request.python + ".");
  }
  const base::Result<std::string> cache = worker::cache_folder();
  if (!cache) {
    return failure(protocol::FailureKind::kCache, cache.error().message());
  }
  target.cache = *cache;
  return target;
}

}  // namespace ridgeline::app
