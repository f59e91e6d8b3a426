#include "commands/own_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/content_hash.h"

namespace ridgeline::commands {

std::string own_file() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

std::string own_version() {
  static const std::string version = [] {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    base::ContentHash hash;
    hash.add(std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
    hash.end_part();
    return std::string(RIDGELINE_VERSION) + "-" + hash.text();
  }();
  return version;
}

}  // namespace ridgeline::commands
