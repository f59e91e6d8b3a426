// A folder for the files of one run.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include "base/file.h"

namespace ridgeline::base {

/// Made, and removed with what it contains. Where it cannot be made, writing into it fails.
class WorkFolder {
 public:
  /// Its path begins with `prefix`; what follows makes it another than all that there are.
  explicit WorkFolder(const std::string& prefix) : path_(prefix + unique_suffix()) {
    std::filesystem::create_directories(path_, problem_);
  }
  ~WorkFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::error_code problem_;
};

}  // namespace ridgeline::base
