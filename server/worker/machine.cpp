#include "worker/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

namespace ridgeline::worker {

namespace {

std::uint64_t meminfo(const std::string& key) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t kibibytes = 0;
    if (words >> name >> kibibytes && name == key + ":") {
      return kibibytes * 1024;
    }
  }
  return 0;
}

std::uint64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : 0;  // "max" is no number: no limit
}

std::uint64_t cgroup_limit() {
  const std::uint64_t unified = number_in("/sys/fs/cgroup/memory.max");
  const std::uint64_t legacy = number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes");
  const std::uint64_t limit = unified != 0 ? unified : legacy;
  return limit == 0 ? std::numeric_limits<std::uint64_t>::max() : limit;
}

}  // namespace

std::uint64_t memory_capacity() { return std::min(meminfo("MemTotal"), cgroup_limit()); }

std::uint64_t memory_available() {
  const std::uint64_t limit = cgroup_limit();
  const std::uint64_t used = number_in("/sys/fs/cgroup/memory.current");
  return std::min(meminfo("MemAvailable"), limit > used ? limit - used : 0);
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown processor";
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
