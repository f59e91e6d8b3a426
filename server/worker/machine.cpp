#include "worker/machine.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/machine_limits.h"
#include "worker/processor_name.h"

namespace ridgeline::worker {

namespace {

/// The bytes that this process may have by `ulimit -v` and `ulimit -d`, as batch systems without control groups set
/// them.
std::uint64_t resource_limit() {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
      least = std::min<std::uint64_t>(least, limit.rlim_cur);
    }
  }
  return least;
}

}  // namespace

std::uint64_t memory_capacity() { return std::min(base::machine_limits().memory_bytes, resource_limit()); }

std::uint64_t memory_available() { return std::min(base::machine_limits().available_bytes, resource_limit()); }

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  return processor_name_in(file);
}

std::string host_name() {
  std::array<char, 257> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

int processor_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

double processor_time() {
  const double count = processor_count();
  return std::min(count, base::machine_limits().processors.value_or(count));
}

std::optional<std::vector<std::string>> nvidia_gpus() {
  namespace fs = std::filesystem;
  std::error_code problem;
  if (!fs::exists("/proc/driver/nvidia/version", problem)) {
    return std::nullopt;
  }
  std::vector<std::string> models;
  for (const fs::directory_entry& gpu : fs::directory_iterator("/proc/driver/nvidia/gpus", problem)) {
    std::ifstream file(gpu.path() / "information");
    for (std::string line; std::getline(file, line);) {
      const std::size_t start = line.find_first_not_of(" \t", 6);
      if (line.starts_with("Model:") && start != std::string::npos) {
        models.push_back(line.substr(start));
      }
    }
  }
  return models;
}

}  // namespace ridgeline::worker
