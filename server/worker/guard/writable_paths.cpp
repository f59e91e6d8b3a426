#include "worker/guard/writable_paths.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/path.h"

namespace ridgeline::worker {

namespace {

namespace fs = std::filesystem;

constexpr const char* kSharedMemory = "/dev/shm";

/// Variables that name folders of caches, whose files depend on their content alone.
constexpr auto kCacheVariables = std::to_array<const char*>({
    "HF_HOME",
    "HF_HUB_CACHE",
    "HUGGINGFACE_HUB_CACHE",
    "HF_DATASETS_CACHE",
    "TRANSFORMERS_CACHE",
    "TORCH_HOME",
    "TORCH_EXTENSIONS_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TRITON_HOME",
    "TRITON_CACHE_DIR",
    "CUDA_CACHE_PATH",
    "NUMBA_CACHE_DIR",
    "MPLCONFIGDIR",
    "PYTHONPYCACHEPREFIX",
});

std::string variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before there are threads
  return value == nullptr ? "" : value;
}

/// Empty where there is no such folder.
std::string real_folder(const fs::path& path) {
  std::error_code problem;
  const fs::path real = path.is_absolute() ? fs::canonical(path, problem) : fs::path();
  return !problem && fs::is_directory(real, problem) ? real.string() : "";
}

bool contains(const std::string& folder, const std::string& path) {
  return path == folder || base::is_below(path, folder);
}

}  // namespace

WritablePaths writable_paths(const std::string& temporary) {
  const std::string home = real_folder(variable("HOME"));
  std::error_code problem;
  const std::string here = fs::current_path(problem).string();
  const std::string cache = variable("XDG_CACHE_HOME");
  std::vector<fs::path> caches = {cache.empty() ? home + "/.cache" : cache, home + "/.triton", home + "/.nv"};
  for (const char* const name : kCacheVariables) {
    caches.emplace_back(variable(name));
  }

  WritablePaths writable;
  writable.folders = {real_folder(temporary), real_folder(kSharedMemory), "/proc"};
  for (const fs::path& one : caches) {
    const std::string real = real_folder(one);
    if (!real.empty() && !contains(real, home) && !contains(real, here)) {
      writable.folders.push_back(real);
    }
  }
  std::erase(writable.folders, "");
  for (fs::directory_iterator entry(kSharedMemory, problem), end; !problem && entry != end; entry.increment(problem)) {
    writable.kept.insert(entry->path().string());
  }
  return writable;
}

}  // namespace ridgeline::worker
