#include "base/executable.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "base/content_hash.h"

namespace ridgeline::base {

std::string executable_path() {
  std::error_code problem;
  return std::filesystem::read_symlink("/proc/self/exe", problem).string();
}

std::string executable_version() {
  static const std::string version = [] {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    ContentHash hash;
    hash.add(std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
    hash.end_part();
    return std::string(RIDGELINE_VERSION) + "-" + hash.text();
  }();
  return version;
}

}  // namespace ridgeline::base
