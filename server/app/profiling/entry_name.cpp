#include "app/profiling/entry_name.h"

#include <filesystem>
#include <system_error>

namespace ridgeline::app {

std::string free_entry_name(const std::string& folder) {
  std::string name = "entry.py";
  std::error_code problem;
  for (int number = 2;
       std::filesystem::exists(std::filesystem::symlink_status(std::filesystem::path(folder) / name, problem));
       ++number) {
    name = "entry_" + std::to_string(number) + ".py";
  }
  return name;
}

}  // namespace ridgeline::app
